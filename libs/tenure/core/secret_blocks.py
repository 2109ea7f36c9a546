"""Secrets that stand below or beside a telling name in a block, a list or a text of several lines.

`password: |`, `password = \"\"\"`, `passwords: [...]`, `passwords:` with `- ` items; the names are those of `secret_names`.
"""

import re
from collections.abc import Callable, Iterator

from tenure.core.secret_names import (
    NAME_END,
    STRONG_NAME,
    WEAK_NAME,
    Strictness,
    is_code,
    is_configured_value,
    is_phrase,
    is_weak_value,
)
from tenure.core.secret_shapes import is_placeholder

_Judge = Callable[[str, str], bool]
"""Tells whether a value, with the quote around it or '', is a secret."""

_OPENER = re.compile(
    rf"(?:(?P<strong>{STRONG_NAME})|(?P<weak>{WEAK_NAME})){NAME_END}(?P<plural>e?s)?[\"'`]?[^\S\n]{{0,8}}[:=][^\S\n]{{0,8}}"
    r"(?P<opened>[|>][-+\d]{0,2}(?=\s*(?:#|$))|\"{3}|'{3}|\[|\\?\s*$|(?=\#))",
    re.IGNORECASE,
)
_OPENS = re.compile(r"[:=]\s{0,8}(?:[|>\[\\#]|\"{3}|'{3}|$)")
"""Far cheaper than the names: most lines open nothing."""
_MAX_LINES = 64
"""Lines of a block that are looked at: a key in PEM is longer, but has a rule of its own."""
_MAX_LIST_CHARS = 4096
_QUOTES = "\"'"
_LINE = re.compile(r"\n(?P<indent>[^\S\n]*)(?P<value>[^\n]*)")
_ITEM = re.compile(
    r"(?P<quote>\\?[\"'])(?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n])){1,512})(?P=quote)|(?<=\s)(?:#|//)[^\n]*|(?P<bare>[^\s,\[\]\"'#\\{}]{1,512})"
)
_DASHED = re.compile(r"-\s{1,8}(?P<quote>[\"']?)(?P<value>[^\n]*?)(?P=quote)\s*(?:\s#[^\n]*)?")
_NO_SCALAR = re.compile(r"[-?](?:\s|$)|[\[\]{}|>&*!%@`]")
"""Begins the first line of what is no plain or quoted value."""
_COMMENT = re.compile(r"\s#.*")
_MARGIN = re.compile(r"[^\S\n]*(?:-[^\S\n]{1,8}){0,8}")
_KEY_START = re.compile(r"[^\S\n]*(?:-[^\S\n]{1,8}){0,8}[\"']?[\w./-]*")
"""What stands before a password's name in a YAML key."""
_ENTRY = re.compile(r"[\w.\"'-]+\s?[:=](?:\s.*)?", re.DOTALL)
"""A key with a value of its own: the block holds settings and not one secret."""


def _judge(opener: re.Match[str], strictness: Strictness, *, needs_looks: bool) -> _Judge:
    """What counts as a secret behind `opener`; `needs_looks` where even a password's name is no proof."""
    is_configuration = strictness is Strictness.CONFIGURATION

    def is_secret(value: str, quote: str) -> bool:
        is_quoted = quote != ""
        if is_placeholder(value) or (not is_quoted and (is_code(value) or _ENTRY.fullmatch(value))):
            return False
        if opener["strong"] is not None and not needs_looks and (is_quoted or is_configuration):
            is_framed = is_quoted and is_configuration
            return is_configured_value(value, is_quoted=is_framed) or (is_configuration and is_phrase(value))
        return " " not in value and is_weak_value(value, is_plain=is_quoted or is_configuration)

    return is_secret


def indented(text: str, end: int, indent: int) -> Iterator[tuple[int, str]]:
    """Start and text of the lines after `end` that are indented by more than `indent`."""
    for _ in range(_MAX_LINES):
        line = _LINE.match(text, end)
        if line is None or (line["value"].strip() and len(line["indent"]) <= indent):
            return
        yield line.start("value"), line["value"].rstrip()
        end = line.end()


def _block(text: str, end: int, indent: int, is_secret: _Judge) -> Iterator[tuple[int, int]]:
    for start, value in indented(text, end, indent):
        if value and is_secret(value, ""):
            yield start, start + len(value)


def _long_text(text: str, begin: int, quote: str, is_secret: _Judge) -> Iterator[tuple[int, int]]:
    """The lines of a text in triple quotes; one that is closed on its own line is a quoted value like any other."""
    closed = text.find(quote, begin, begin + _MAX_LIST_CHARS)
    if closed < 0 or "\n" not in text[begin:closed]:
        return
    for line in re.finditer(r"[^\s\\][^\n]*[^\s\\]", text[begin:closed]):
        if is_secret(line[0], ""):
            yield begin + line.start(), begin + line.end()


def _listed(text: str, begin: int, is_secret: _Judge, *, may_be_bare: bool) -> Iterator[tuple[int, int]]:
    closed = text.find("]", begin, begin + _MAX_LIST_CHARS)
    for item in _ITEM.finditer(text, begin, closed if closed >= 0 else begin):
        group = "quoted" if item["quoted"] is not None else "bare"
        if item[group] and (group == "quoted" or may_be_bare) and is_secret(item[group], item["quote"] or ""):
            yield item.span(group)


def _dashed(text: str, end: int, indent: int, is_secret: _Judge) -> Iterator[tuple[int, int]]:
    for start, line in indented(text, end, indent - 1):  # a list may stand as far left as its name
        item = _DASHED.fullmatch(line)
        if line and item is None:
            return
        if item is not None and is_secret(item["value"], item["quote"]):
            yield start + item.start("value"), start + item.end("value")


def _below(text: str, end: int, indent: int, is_secret: _Judge, *, is_yaml: bool) -> Iterator[tuple[int, int]]:
    """The lines of a value that stands below its name, comments and empty lines between; settings and lists are none.

    In YAML it may have several, and they are one secret or none.
    """
    lines = [line for line in indented(text, end, indent) if line[1] and not line[1].startswith("#")]
    if not lines or _NO_SCALAR.match(lines[0][1]) or _ENTRY.fullmatch(lines[0][1]):
        return
    quote = lines[0][1][0] if lines[0][1][0] in ('"', "'") else ""
    values = [(start, _COMMENT.sub("", line).rstrip()) for start, line in (lines if is_yaml else lines[:1])]
    spans = [
        (start + len(value) - len(value.lstrip(_QUOTES)), start + len(value.rstrip(_QUOTES)))
        for start, value in values
        if value.strip(_QUOTES)
    ]
    if all(is_secret(text[a:b], quote) for a, b in spans):
        yield from spans


def _column(text: str, start: int) -> int:
    """The column of the first key of a line, behind the dashes of the lists that begin there."""
    margin = _MARGIN.match(text, start)
    return 0 if margin is None else margin.end() - start


def block_secrets(text: str, start: int, end: int, strictness: Strictness) -> Iterator[tuple[int, int]]:
    """Spans of secrets that a name on the line `text[start:end]` opens a block, a list or a text of several lines for."""
    opener = _OPENER.search(text, start, end) if _OPENS.search(text, start, end) else None
    if opener is None:
        return
    opened, indent = opener["opened"], _column(text, start)
    is_plural, is_configuration = opener["plural"] is not None, strictness is Strictness.CONFIGURATION
    if opened[:1] in ("|", ">"):
        yield from _block(text, end, indent, _judge(opener, strictness, needs_looks=False))
    elif opened[:1] in ('"', "'"):
        yield from _long_text(text, opener.end(), opened, _judge(opener, strictness, needs_looks=False))
    elif opened == "[":
        is_secret = _judge(opener, strictness, needs_looks=not is_plural)
        yield from _listed(text, opener.end(), is_secret, may_be_bare=is_configuration)
    elif is_plural:
        yield from _dashed(text, end, indent, _judge(opener, strictness, needs_looks=False))
    elif is_configuration:
        is_key = _KEY_START.fullmatch(text, start, opener.start()) is not None and ":" in opener[0]
        yield from _below(text, end, indent, _judge(opener, strictness, needs_looks=not is_key), is_yaml=is_key)
