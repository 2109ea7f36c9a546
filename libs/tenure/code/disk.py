"""The files of a folder on disk: every real file once, under its real path, nothing outside the folder."""

import errno
import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from tenure.code.admission import reason_to_leave_out, signature_of
from tenure.code.ignore import MAX_IGNORE_BYTES, OWN_IGNORE_FILE, IgnoreRules
from tenure.code.model import Candidate, Discovery
from tenure.code.nested import is_repository
from tenure.core.errors import InvalidInput
from tenure.ports.records import LeftOut

NESTED = "nested repository"
"""Reason for repositories inside the tree: each is indexed on its own or not at all."""

SUBMODULE = "submodule: its own repository; index it by itself"
"""Reason for a submodule of which the tree holds no repository, whatever its folder holds."""

SUBMODULE_ABSENT = "submodule (not checked out): its own repository; check it out and index it by itself"
"""Reason for a submodule whose folder is empty, or not there at all."""

UNSAFE_PATH = "unsafe path"
"""Reason for a path that a forged index or tree points out of the root, or into `.git`."""

_UNREADABLE = "not readable"
_AS_OPEN_ASKS = os.access in os.supports_effective_ids
_READABLE_BY_ALL = 0o444
_GIT = ".git"
_UNSAFE = re.compile(r"(?:^|/)(?:\.{0,2}|\.git)(?:/|\Z)", re.IGNORECASE)
_IGNORE_FILES = (".gitignore", OWN_IGNORE_FILE)
# Never follow a link, never wait for the other end of a fifo.
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_unsafe(path: str) -> bool:
    """True if a relative path could name something outside the root or inside `.git`, on any file system."""
    return _UNSAFE.search(path) is not None


def survey_listed(root: str, names: Sequence[str]) -> tuple[Discovery, dict[str, str]]:
    """What becomes of the paths that git lists for the work tree `root` (links resolved). Blocks; run it in a thread.

    With it come the paths that are listed and are folders without a repository, or nothing, and the reason for each if it
    is a submodule. The index alone tells that from a file that was deleted, or whose place a folder took.
    """
    survey = _ListedSurvey(root)
    return survey.survey(names), survey.perhaps_submodules


def survey_folder(root: str) -> Discovery:
    """The files of the plain folder `root` (links resolved) by its ignore files. Blocks; run it in a thread."""
    return _FolderSurvey(root).survey()


class _Survey:
    """Collects candidates and what is left out."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = root if root.endswith("/") else f"{root}/"
        self._candidates: list[Candidate] = []
        self._left_out: list[LeftOut] = []

    def _leave(self, path: str, reason: str) -> None:
        self._left_out.append(LeftOut(path, reason))

    def _found(self, path: str, status: os.stat_result) -> None:
        """Judge something that is no folder."""
        real_path = self._prefix + path
        reason = self._odd_kind(path, status.st_mode) or reason_to_leave_out(path, status.st_size)
        if not reason and not _is_readable(real_path, status.st_mode):
            reason = _UNREADABLE
        if reason:
            self._leave(path, reason)
        else:
            self._candidates.append(Candidate(path, signature_of(status), status.st_size, real_path))

    def _odd_kind(self, path: str, mode: int) -> str:
        if stat.S_ISREG(mode):
            return ""
        return self._where_link_leads(path) if stat.S_ISLNK(mode) else _kind_name(mode)

    def _where_link_leads(self, path: str) -> str:
        try:
            target = Path(os.path.realpath(self._prefix + path, strict=True))
        except FileNotFoundError:
            return "link to nothing"
        except OSError as error:
            return "link that leads to itself" if error.errno == errno.ELOOP else "link that can't be followed"
        if not target.is_relative_to(self._root):
            return "link out of the root"
        return f"link to {target.relative_to(self._root)}"

    def _discovery(self) -> Discovery:
        candidates = sorted(self._candidates, key=lambda candidate: candidate.path)
        return Discovery(candidates, sorted(self._left_out, key=lambda left: left.path))


class _ListedSurvey(_Survey):
    """Follows a list of paths. Folders are looked at once each, so that files cost one system call."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.perhaps_submodules: dict[str, str] = {}
        self._folders = {"": ""}
        self._rules = IgnoreRules(self._own_rules)

    def survey(self, names: Sequence[str]) -> Discovery:
        for name in names:
            path = name.removesuffix("/")
            if is_unsafe(path):
                self._leave(path, UNSAFE_PATH)
            elif not self._rules.ignores(path, is_folder=path != name):
                self._listed(path, is_repository_to_git=path != name)
        return self._discovery()

    def _listed(self, path: str, *, is_repository_to_git: bool) -> None:
        reason = self._folder_reason(path.rpartition("/")[0])
        if reason:
            self._leave(path, reason)
            return
        try:
            status = os.lstat(self._prefix + path)
        except (FileNotFoundError, NotADirectoryError):
            # Gone since git listed it, or deleted in the work tree; the index lists a submodule all the same.
            if not self._rules.ignores(path, is_folder=True):
                self.perhaps_submodules[path] = SUBMODULE_ABSENT
            return
        except OSError as error:
            self._leave(path, _os_reason(error))
            return
        if stat.S_ISDIR(status.st_mode):
            self._listed_folder(path, is_repository_to_git)
        else:
            self._found(path, status)

    def _listed_folder(self, path: str, is_repository_to_git: bool) -> None:
        """A folder is listed for a repository in it, or as one that could not be opened, or as what was not a folder."""
        if self._rules.ignores(path, is_folder=True):
            return  # a submodule is listed like a file
        try:
            names = {entry.name for entry in Path(self._prefix + path).iterdir()}
        except OSError as error:
            self._leave(path, _os_reason(error))
            return
        if is_repository_to_git or (_GIT in names and is_repository(self._prefix + path)):
            self._leave(path, NESTED)
        else:
            self.perhaps_submodules[path] = SUBMODULE if names else SUBMODULE_ABSENT

    def _folder_reason(self, folder: str) -> str:
        """Why files in the folder are out of reach, '' if they are not."""
        known = self._folders.get(folder)
        if known is not None:
            return known
        parts = folder.split("/")
        reason = ""
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            if name not in self._folders:
                self._folders[name] = reason or self._look_at_folder(name)
            reason = self._folders[name]
        return reason

    def _look_at_folder(self, folder: str) -> str:
        try:
            mode = os.lstat(self._prefix + folder).st_mode
        except OSError:
            return ""  # the files in it will say the same, each for itself
        return f"in a {self._where_link_leads(folder)}" if stat.S_ISLNK(mode) else ""

    def _own_rules(self, folder: str) -> str | None:
        if self._folder_reason(folder):
            return None
        return read_ignore_file(self._prefix + _under(folder, OWN_IGNORE_FILE))


class _FolderSurvey(_Survey):
    """Walks a folder without recursion. Links are never followed, and no folder is entered twice by another mount."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self._ignore_files: set[str] = set()
        self._rules = [IgnoreRules(self._loader(name)) for name in _IGNORE_FILES]
        self._entered: set[tuple[int, int]] = set()

    def survey(self) -> Discovery:
        waiting = [""]
        while waiting:
            waiting.extend(self._enter(waiting.pop()))
        return self._discovery()

    def _enter(self, folder: str) -> list[str]:
        """Judge the entries of a folder; returns the folders among them that have to be entered."""
        try:
            with os.scandir(self._prefix + folder) as entries:
                found = list(entries)
        except FileNotFoundError:
            return []
        except OSError as error:
            self._leave(folder, _os_reason(error))
            return []
        names = {entry.name for entry in found}
        if folder and _GIT in names and is_repository(self._prefix + folder):
            self._leave(folder, NESTED)
            return []
        self._ignore_files.update(_under(folder, name) for name in names.intersection(_IGNORE_FILES))
        rules = [of for of in self._rules if of.concern(folder)]
        return [path for entry in found if (path := self._entry(folder, entry, rules))]

    def _entry(self, folder: str, entry: os.DirEntry[str], rules: Sequence[IgnoreRules]) -> str:
        path = _under(folder, entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == _GIT or any(of.ignores(path, is_folder) for of in rules):
            return ""
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return ""
        except OSError as error:
            self._leave(path, _os_reason(error))
            return ""
        if not is_folder:
            self._found(path, status)
        elif (status.st_dev, status.st_ino) not in self._entered:
            self._entered.add((status.st_dev, status.st_ino))
            return path
        return ""

    def _loader(self, name: str) -> Callable[[str], str | None]:
        def load(folder: str) -> str | None:
            path = _under(folder, name)
            return read_ignore_file(self._prefix + path) if path in self._ignore_files else None

        return load


def _under(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def read_ignore_file(path: str) -> str | None:
    """The text of an ignore file, None if there is none; like git, a link is not followed.

    `InvalidInput` if it can't be read: what it keeps out must not slip in.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # In a folder that is closed altogether, nothing can be listed or read either.
        if error.errno == errno.ELOOP or not os.path.lexists(path):
            return None
        raise InvalidInput(f"can't read the ignore file {path!r}: {error.strerror}; make it readable") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # a folder of that name is no ignore file, to git neither
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_IGNORE_BYTES:
            raise InvalidInput(f"the ignore file {path!r} is over {MAX_IGNORE_BYTES} bytes; shorten it")
        return os.fsdecode(file.read(MAX_IGNORE_BYTES))


def _is_readable(path: str, mode: int) -> bool:
    # The mode bits settle nearly all files without another system call.
    return mode & _READABLE_BY_ALL == _READABLE_BY_ALL or os.access(path, os.R_OK, effective_ids=_AS_OPEN_ASKS)


def _kind_name(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def _os_reason(error: OSError) -> str:
    return _UNREADABLE if error.errno in {errno.EACCES, errno.EPERM} else f"{_UNREADABLE}: {error.strerror}"
