"""The words and the marks of a text in ASCII, told apart at the speed of memory: most source code is ASCII."""

import string

_WORD = frozenset(f"{string.ascii_letters}{string.digits}_".encode())
_SPACE = frozenset(byte for byte in range(128) if chr(byte).isspace())
_END_OF_LINE = ord("\n")

_ONLY_WORDS = bytes(byte if byte in _WORD or byte == _END_OF_LINE else ord(" ") for byte in range(256))
_NO_MARKS = bytes((_WORD | _SPACE) - {_END_OF_LINE})


def only_words(text: str) -> str:
    """The text with a space for each character that is neither of `[A-Za-z0-9_]` nor a line end; split it to get
    what that pattern finds.
    """
    return text.encode("ascii", "replace").translate(_ONLY_WORDS).decode("ascii")


def only_marks(text: str) -> bytes:
    """The text without words and white space, but with its line ends; all that is not ASCII counts as marks."""
    return text.encode("ascii", "replace").translate(None, _NO_MARKS)
