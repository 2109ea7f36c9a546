"""The names that belong to Python itself, of every version at once: what a repository means must not depend on the
Python that the service happens to run on.
"""

_BUILTIN_NAMES_TEXT = """
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented
NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
StandardError StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError
TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError __build_class__
__import__ abs aiter all anext any apply ascii basestring bin bool breakpoint buffer bytearray bytes callable
chr classmethod cmp coerce compile complex delattr dict dir divmod enumerate eval exec execfile exit file
filter float format frozenset getattr globals hasattr hash help hex id input int intern isinstance issubclass
iter len list locals long map max memoryview min next object oct open ord pow print property quit range
raw_input reduce reload repr reversed round set setattr slice sorted staticmethod str sum super tuple type
unichr unicode vars xrange zip
"""
BUILTIN_NAMES = frozenset(_BUILTIN_NAMES_TEXT.split())
"""Names that are known without any import, those of Python 2 included."""

_STDLIB_MODULES_TEXT = """
BaseHTTPServer ConfigParser Cookie HTMLParser Queue SimpleHTTPServer SocketServer StringIO UserDict
__builtin__ __future__ abc aifc annotationlib antigravity anydbm argparse array ast asynchat asyncio asyncore
atexit audioop base64 bdb binascii binhex bisect builtins bz2 cPickle cProfile cStringIO calendar cgi cgitb
chunk cmath cmd code codecs codeop collections colorsys commands compileall compression concurrent
configparser contextlib contextvars cookielib copy copy_reg copyreg crypt csv ctypes curses dataclasses
datetime dbhash dbm decimal difflib dis distutils doctest dummy_threading email encodings ensurepip enum errno
exceptions faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath
getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html htmlentitydefs htmllib http httplib
idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale
logging lzma macpath mailbox mailcap marshal math md5 mimetypes mmap modulefinder msilib msvcrt
multiprocessing netrc new nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib popen2 poplib posix posixpath pprint
profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib
resource rlcompleter robotparser runpy sched secrets select selectors sets sgmllib sha shelve shlex shutil
signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat
statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile
telnetlib tempfile termios textwrap this thread threading time timeit tkinter token tokenize tomllib trace
traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib urllib2 urlparse uu uuid
venv warnings wave weakref webbrowser whichdb winreg winsound wsgiref xdrlib xml xmlrpc xmlrpclib zipapp
zipfile zipimport zlib zoneinfo
"""
STDLIB_MODULES = frozenset(_STDLIB_MODULES_TEXT.split())
"""Top-level modules of the standard library, removed and renamed ones included."""

_OBJECT_MEMBERS_TEXT = """
__init__ __new__ __class__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __getattribute__
__setattr__ __delattr__ __dir__ __format__ __reduce__ __reduce_ex__ __sizeof__ __init_subclass__ __subclasshook__
__dict__ __doc__ __module__ __name__ __qualname__ __mro__ __subclasses__ mro
"""
OBJECT_MEMBERS = frozenset(_OBJECT_MEMBERS_TEXT.split())
"""What every class has without defining it."""

_HANDED_ON = """
getattr next max min vars eval sum super copy deepcopy partial partialmethod import_module __import__ cast reduce
reload wraps update_wrapper lru_cache cache cached_property singledispatch contextmanager asynccontextmanager
__enter__ __aenter__
"""
PASS_THROUGH = frozenset(_HANDED_ON.split())
"""Functions from outside whose result may well be an object of the repository."""

SELF_TYPES = frozenset({"typing.Self()", "typing_extensions.Self()"})
"""The type of what a method was called on, as an instance."""
