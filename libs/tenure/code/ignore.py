"""Ignore files in gitignore syntax, nested, judged as git judges them: top down, the last matching line wins."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenure.code.wildmatch import bytes_of, pattern_of
from tenure.core.errors import InvalidInput

OWN_IGNORE_FILE = ".tenureignore"
"""Tenure's own ignore file: it applies to tracked files as well."""

MAX_IGNORE_BYTES = 1_048_576
"""Size of an ignore file above which it is refused."""

MAX_IGNORE_LINES = 2_000
"""Lines of an ignore file above which it is refused: each path is held against each of them."""

MAX_STARS = 4
"""Wildcards between two slashes above which a line is refused: each one multiplies the time to match a long name."""

_UTF8_MARK = "\u00ef\u00bb\u00bf"
_STARS = re.compile(r"\*+")
_NEVER = r"(?!)"


@dataclass(frozen=True, slots=True)
class _Line:
    matcher: re.Pattern[str]
    is_name: bool
    is_for_folders: bool
    is_ignoring: bool


def _line(text: str) -> _Line | None:
    if not text.startswith("#") and max(len(_STARS.findall(part)) for part in text.split("/")) > MAX_STARS:
        raise InvalidInput(f"an ignore line has more than {MAX_STARS} wildcards in a row: {text[:100]!r}; split it up")
    pattern = pattern_of(text)
    if pattern is None:
        return None
    matcher = re.compile(pattern.regex, re.DOTALL)
    return _Line(matcher, pattern.is_name, pattern.is_for_folders, pattern.is_ignoring)


def _any_of(lines: Sequence[_Line]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{line.matcher.pattern})" for line in lines) or _NEVER, re.DOTALL)


class IgnoreFile:
    """The lines of one ignore file. Lines that git would pass over are passed over.

    `InvalidInput` for a file that would take too long to apply: `MAX_IGNORE_LINES`, `MAX_STARS`.
    """

    def __init__(self, text: str) -> None:
        lines = [line.removesuffix("\r") for line in bytes_of(text).removeprefix(_UTF8_MARK).split("\n")]
        if len(lines) > MAX_IGNORE_LINES:
            raise InvalidInput(f"an ignore file has {len(lines)} lines; at most {MAX_IGNORE_LINES} are allowed")
        # The last word counts, so the last line is asked first.
        self._lines = [line for line in map(_line, reversed(lines)) if line is not None]
        # Nearly all paths match no line at all, which one look at the name and one at the path tell.
        self._any_name = _any_of([line for line in self._lines if line.is_name])
        self._any_path = _any_of([line for line in self._lines if not line.is_name])

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored, False: taken back in, None: not mentioned. `path` is relative to the file's folder.

        A line means this very path; that a folder above it is meant was judged when that folder was.
        """
        path = bytes_of(path)
        name = path.rpartition("/")[2]
        if self._any_name.fullmatch(name) is None and self._any_path.fullmatch(path) is None:
            return None
        for line in self._lines:
            if line.is_for_folders and not is_folder:
                continue
            if line.matcher.fullmatch(name if line.is_name else path) is not None:
                return line.is_ignoring
        return None


@dataclass(frozen=True, slots=True)
class _Level:
    """A folder: whether it is ignored, and the ignore files from the nearest to the root with their folders' lengths."""

    is_ignored: bool
    files: Sequence[tuple[int, IgnoreFile]]


class IgnoreRules:
    """What the ignore files of a tree say of its paths.

    `load` gives the text of the ignore file of a folder ('' is the root), None if it has none. It is called once per
    folder, for folders above it first, and never for a folder that is ignored.
    """

    def __init__(self, load: Callable[[str], str | None]) -> None:
        self._load = load
        self._levels: dict[str, _Level] = {}

    def concern(self, folder: str) -> bool:
        """True if the folder is ignored, or if any ignore file speaks of what lies in it."""
        level = self._levels.get(folder) or self._level(folder)
        return level.is_ignored or bool(level.files)

    def ignores(self, path: str, is_folder: bool = False) -> bool:
        """True if the path, or a folder above it, is ignored. Paths are relative to the root, with `/`."""
        folder = path.rpartition("/")[0]
        level = self._levels.get(folder) or self._level(folder)
        return level.is_ignored or (bool(level.files) and _judge(level, path, is_folder))

    def _level(self, folder: str) -> _Level:
        known = self._levels.get(folder.rpartition("/")[0])
        if known is not None and folder:
            return self._enter(folder, known)
        # Folders from the root down, without recursion: a path may be deep.
        parts = folder.split("/") if folder else []
        level = self._levels.get("") or self._enter("", _Level(is_ignored=False, files=()))
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            level = self._levels.get(name) or self._enter(name, level)
        return level

    def _enter(self, folder: str, above: _Level) -> _Level:
        is_ignored = above.is_ignored or (bool(folder) and bool(above.files) and _judge(above, folder, is_folder=True))
        text = None if is_ignored else self._load(folder)
        own = [] if text is None else [(len(folder) + 1 if folder else 0, IgnoreFile(text))]
        level = _Level(is_ignored, (*own, *above.files))
        self._levels[folder] = level
        return level


def _judge(level: _Level, path: str, is_folder: bool) -> bool:
    for length, file in level.files:
        verdict = file.verdict(path[length:], is_folder)
        if verdict is not None:
            return verdict
    return False
