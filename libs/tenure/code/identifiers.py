"""Code-aware tokens for sparse search, and what a question names: identifiers, paths, stack frames, quoted text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import TypeVar

from tenure.code.languages.registry import SUFFIXES
from tenure.code.words import only_words
from tenure.core.sparse import term_index

MAX_WORD = 128
"""A longer run of word characters is data, not a name: it gives no terms."""

_CACHED_WORDS = 1 << 17
"""Distinct words whose parts and term indices are remembered, per process; about 60 MB when full."""

_FIRST_UNSPACED = 0x2E80
"""From here on stand the scripts that are written without spaces (Han, kana): they are cut into pairs."""

_Found = TypeVar("_Found")
_WORD = re.compile(r"\w+")
_ASCII_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def terms(text: str) -> list[str]:
    """The terms of a text in order, lower-cased: of each identifier the whole, then its parts.

    `getHTTPCode2` gives `gethttpcode2 get http code 2`, `name` gives `name` once. Identifiers may be of any script;
    they are compared in the form NFKC, as Python does.
    """
    return list(chain.from_iterable(map(_split, _words(text))))


def term_counts(text: str, before: Mapping[int, int] | None = None) -> Counter[int]:
    """How often each term of `terms` occurs, by its index in sparse vectors (`tenure.core.sparse.term_index`).

    `before` are the counts of what stands before the text, on lines of its own.
    """
    counts = Counter(before)
    counts.update(chain.from_iterable(map(_indices_of, _words(text))))
    return counts


class _Indices(dict[str, tuple[int, ...]]):
    """The term indices of a word, computed once; emptied when full, so that blobs can't fill the memory."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        indices = self[word] = tuple(map(term_index, _parts(word)))
        return indices


_indices_of = _Indices().__getitem__


def term_spans(text: str) -> Iterator[tuple[str, int]]:
    """The terms of a text as `terms` gives them, each with the character at which its identifier begins."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for match in _WORD.finditer(text):
        for term in _split(match[0]):
            yield term, match.start()


def _words(text: str) -> list[str]:
    if text.isascii():
        return only_words(text).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def _parts(word: str) -> tuple[str, ...]:
    if len(word) > MAX_WORD:
        return ()
    whole = word.lower()
    parts = _ASCII_PART.findall(word) if word.isascii() else _unicode_parts(word)
    if len(parts) == 1 and parts[0] == word:
        return (whole,)
    if not whole.strip("_"):
        return ()
    return (whole, *(part.lower() for part in parts))


_split = lru_cache(maxsize=_CACHED_WORDS)(_parts)


def _kind(char: str) -> str:
    if ord(char) >= _FIRST_UNSPACED and char.isalpha():
        return "unspaced"
    if char == "_":
        return "mark"
    if char.isdigit():
        return "digit"
    return "upper" if char.isupper() else "lower"


def _unicode_parts(word: str) -> list[str]:
    """The parts of a word of any script, by the same rules as for ASCII; unspaced scripts in overlapping pairs."""
    if word.isalpha() and word[1:].islower() and max(word) < chr(_FIRST_UNSPACED):
        return [word]
    parts: list[str] = []
    run, run_kind = "", ""
    for char in f"{word}_":
        kind = _kind(char)
        if run and kind == "lower" and run_kind == "upper":
            if len(run) > 1:
                parts.append(run[:-1])
            run, run_kind = run[-1] + char, "lower"
        elif kind == run_kind:
            run += char
        else:
            parts += _pairs(run) if run_kind == "unspaced" else [run] * (run_kind not in ("", "mark"))
            run, run_kind = char, kind
    return parts


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


MAX_MENTIONS = 200
"""Mentions of one kind that a question can have; a pasted log names more, but not more that matter."""


@dataclass(frozen=True, slots=True)
class PathMention:
    """A file that a text names: `path` with forward slashes as written, `line` 1-based if it says one."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A line of a stack trace: the file, the 1-based line, and the function if the trace names it."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a question names, each kind without repeats in the order of the text.

    `identifiers`: names that look like code (dotted, CamelCase, snake_case, called, back-quoted). `modules`: dotted
    names in lower case (`django.db.models`). `quoted`: quoted strings and the messages of errors.
    """

    identifiers: tuple[str, ...]
    paths: tuple[PathMention, ...]
    modules: tuple[str, ...]
    frames: tuple[StackFrame, ...]
    quoted: tuple[str, ...]


# Every pattern below is possessive or bounded and starts where nothing of its own kind stands before,
# so that a hostile text takes time in proportion to its length.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*+(?:(?:\.|::|->)[^\W\d]\w*+)*+")
_BACK_QUOTED = re.compile(r"`([^`\n]{1,200}+)`")
_QUOTED = re.compile(r"(?<!\w)(?:\"([^\"\n]{3,300}+)\"|'([^'\n]{3,300}+)'(?!\w)|“([^“”\n]{3,300}+)”)")
_ERROR_LINE = re.compile(r"^(?:E?[ \t]{0,8}+)([\w.]{3,120}+): ([^\n]{1,300}+)", re.MULTILINE)
_ERROR_NAME = re.compile(r".*(?:Error|Exception|Warning|Interrupt|Exit)")
_TOKEN = re.compile(r"[^\s\"'`<>()\[\]{},;|*?=]++")
_PLACE = re.compile(r"(.+?)(?:(?::(\d{1,7})(?::\d{1,7})?(?::in)?|#L(\d{1,7})(?:-L?\d{1,7})?|::.*))?[.:]?")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z0-9]*[a-z].*[A-Z]")
_MODULE = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)+")
_PYTHON_FRAME = re.compile(r'File "([^"\n]{1,1000}+)", line (\d{1,7})(?:, in ([^\s]{1,200}+))?')
_CALL_FRAME = re.compile(r"\bat (?:new |async )?([\w.$<>/]{1,200}+)(?: \[as \w{1,100}+\])? ?\(([^()\s]{1,500}+)\)")
_RUBY_FRAME = re.compile(r"(?<![^\s\"'])([^\s:'\"`]{1,500}+):(\d{1,7}):in [`']([^'`\n]{1,200}+)'")
_NUMBERED = re.compile(r"([^:]+(?::[\\/][^:]+)?):(\d{1,7})(?::\d{1,7})?")
_MAX_PATH = 500
_MIN_FOLDERS = 2
"""Slashes from which a token without a suffix is a path and not an alternative (`and/or`)."""


def mentions(text: str) -> Mentions:
    """What the text names; takes time linear in its length, whatever it contains."""
    names = list(_names(text))
    return Mentions(
        identifiers=_first(names),
        paths=_first(_paths(text)),
        modules=_first(name for name in names if _MODULE.fullmatch(name)),
        frames=_first(_frames(text)),
        quoted=_first(_quoted(text)),
    )


def _first(found: Iterable[_Found]) -> tuple[_Found, ...]:
    return tuple(islice(dict.fromkeys(found), MAX_MENTIONS))


def _names(text: str) -> Iterator[str]:
    for match in _BACK_QUOTED.finditer(text):
        inner = match[1].strip().removesuffix("()")
        if _NAME.fullmatch(inner):
            yield inner
    for match in _NAME.finditer(text):
        name = match[0]
        if len(name) > MAX_WORD * 2:
            continue
        if not _is_file_name(name) and (_looks_like_code(name) or text.startswith("(", match.end())):
            yield name


def _is_file_name(name: str) -> bool:
    return name.count(".") == 1 and name[name.index(".") :].lower() in SUFFIXES


def _looks_like_code(name: str) -> bool:
    return (
        "_" in name.strip("_")
        or name.startswith("__")
        or "." in name
        or ":" in name
        or ">" in name
        or _HUMP.search(name) is not None
    )


def _paths(text: str) -> Iterator[PathMention]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        if len(token) > _MAX_PATH or not ("/" in token or "." in token or "\\" in token):
            continue
        place = _PLACE.fullmatch(token.rstrip(".,:;!").replace("\\", "/"))
        path = "" if place is None else _path(place[1])
        if path and place is not None:
            line = place[2] or place[3]
            yield PathMention(path, int(line) if line else None)


def _path(token: str) -> str:
    """The token as a path, '' if it is none."""
    if "://" in token:
        _, found, rest = token.partition("/blob/")
        token = rest.partition("/")[2] if found else ""
    name = token.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    has_suffix = dot > 0 and name[dot:].lower() in SUFFIXES
    if has_suffix or ("/" in token and (token.count("/") >= _MIN_FOLDERS or dot > 0)):
        return token.removeprefix("./")
    return ""


def _frames(text: str) -> Iterator[StackFrame]:
    for match in _PYTHON_FRAME.finditer(text):
        yield StackFrame(match[1].replace("\\", "/"), int(match[2]), match[3] or "")
    for match in _CALL_FRAME.finditer(text):
        place = _NUMBERED.fullmatch(match[2])
        if place is not None:
            yield StackFrame(place[1].replace("\\", "/"), int(place[2]), match[1].strip())
    for match in _RUBY_FRAME.finditer(text):
        yield StackFrame(match[1], int(match[2]), match[3])


def _quoted(text: str) -> Iterator[str]:
    for match in _ERROR_LINE.finditer(text):
        if _ERROR_NAME.fullmatch(match[1]):
            yield match[2].strip()
    for match in _QUOTED.finditer(text):
        yield (match[1] or match[2] or match[3]).strip()
