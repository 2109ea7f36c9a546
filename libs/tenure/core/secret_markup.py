"""Secrets in XML and HTML: `<password>`, `<key>` with `<value>` in either order, and the cells of tables.

The names are those of `secret_names`; what counts in a table's cell is what counts in a document's table.
"""

import re
from collections.abc import Iterator, Sequence

from tenure.core.secret_cells import Span, cell_secrets, is_strong_cell, telling_columns
from tenure.core.secret_entries import ENTRY_KIND, is_entry_value
from tenure.core.secret_names import NAME_END, STRONG_NAME, WEAK_NAME, Strictness, is_phrase

_NAMESPACE = r"(?:[\w-]{1,32}:)?"
_ATTRIBUTES = r"(?:\s[^<>]{0,256})?"
_CONTENT = r">\s{0,64}(?:<!\[CDATA\[)?(?P<value>[^<>]{1,512}?)(?:\]\]>)?\s{0,64}</"
_ELEMENT = re.compile(
    rf"<[\w:.-]{{0,64}}?(?:(?P<strong>{STRONG_NAME})|{WEAK_NAME}){NAME_END}{_ATTRIBUTES}{_CONTENT}", re.IGNORECASE
)
"""An element whose own name tells: `<db-password encrypted="no">`."""
_NAME = re.compile(
    rf"<{_NAMESPACE}{ENTRY_KIND}(?:name|key){_ATTRIBUTES}>\s{{0,64}}[\w./-]{{0,64}}?(?:(?P<strong>{STRONG_NAME})|{WEAK_NAME}){NAME_END}"
    rf"\s{{0,64}}</{_NAMESPACE}{ENTRY_KIND}(?:name|key)>",
    re.IGNORECASE,
)
_VALUE = re.compile(rf"<{_NAMESPACE}{ENTRY_KIND}value{_ATTRIBUTES}{_CONTENT}", re.IGNORECASE)
_VALUE_TAG = re.compile(rf"<{_NAMESPACE}{ENTRY_KIND}value[\s/>]", re.IGNORECASE)
_NAME_TAG = re.compile(rf"<{_NAMESPACE}{ENTRY_KIND}(?:name|key)[\s/>]", re.IGNORECASE)
_TAG = re.compile(r"<(?P<closes>/?)[\w:.-]{1,64}[^<>]{0,256}?(?P<is_whole>/?)>")
_REACH = 1024
"""Characters before and behind a name in which its value is looked for."""

_CELL_TAG = re.compile(r"<(?P<closes>/?)(?P<tag>table|tr|td|th|dt|dd)\b[^<>]{0,1024}>", re.IGNORECASE)
_HAS_CELLS = re.compile(r"<(?:t[dh]|dt)\b", re.IGNORECASE)
_TEXT = re.compile(r"(?:^|>)([^<>]+)")
_MAX_CELL_CHARS = 2048
"""A cell with more text or markup holds no password alone."""
_MAX_COLUMNS = 64


def markup_secrets(text: str, lines: Sequence[Span], strictness: Strictness) -> Iterator[Span]:
    """Spans of secrets in the elements that begin on `lines`, the marked ones, and in all tables of the text."""
    for start, end in lines:
        if text.find("<", start, end) < 0:
            continue
        for match in _ELEMENT.finditer(text, start, min(len(text), end + _REACH)):
            if match.start() >= end:
                break
            yield from _element_secrets(match, match["strong"] is not None, strictness)
        for name in _NAME.finditer(text, start, end):
            value = _value_of(text, name)
            if value is not None:
                yield from _element_secrets(value, name["strong"] is not None, strictness)
    if lines and _HAS_CELLS.search(text):
        yield from _cells(text)


def _element_secrets(match: re.Match[str], is_strong: bool, strictness: Strictness) -> Iterator[Span]:
    value = match["value"].rstrip()
    is_words = is_strong and strictness is Strictness.CONFIGURATION and is_phrase(value)
    is_one = not any(c.isspace() for c in value)
    if is_words or (
        is_one and is_entry_value(value, is_quoted=not is_strong, is_strong=is_strong, strictness=strictness)
    ):
        yield match.start("value"), match.start("value") + len(value)


# A name and its value as siblings


def _value_of(text: str, name: re.Match[str]) -> re.Match[str] | None:
    """The value that belongs to a name among the elements of one parent.

    Where values come first in the parent, it is the one before the name, else the one behind.
    """
    before = _siblings_before(text, name.start())
    if before and _VALUE_TAG.match(text, before[-1]):
        at: int | None = next((at for at in before if _VALUE_TAG.match(text, at)), None)
    else:
        at = _value_behind(text, name.end())
    return None if at is None else _VALUE.match(text, at)


def _siblings_before(text: str, end: int) -> list[int]:
    """Where the elements begin that stand before `end` in the same parent, the nearest first."""
    found = []
    depth = 0
    for tag in reversed(list(_TAG.finditer(text, max(0, end - _REACH), end))):
        if tag["closes"]:
            depth += 1
            continue
        depth -= not tag["is_whole"]
        if depth < 0:
            break
        if depth == 0:
            found.append(tag.start())
    return found


def _value_behind(text: str, start: int) -> int | None:
    """Where the value begins that is the first among the elements behind `start` in the same parent, before another name."""
    depth = 0
    for tag in _TAG.finditer(text, start, min(len(text), start + _REACH)):
        if tag["closes"]:
            depth -= 1
            if depth < 0:
                return None
            continue
        if depth == 0 and _VALUE_TAG.match(text, tag.start()):
            return tag.start()
        if depth == 0 and _NAME_TAG.match(text, tag.start()):
            return None
        depth += not tag["is_whole"]
    return None


# Tables and lists of terms


def _cells(text: str) -> Iterator[Span]:
    """Secrets in cells below a telling header, and in the cell behind a telling one."""
    columns: dict[int, bool] | None = None
    for tags in _rows(text):
        if not tags:
            columns = None
            continue
        cells = [_cell_text(text, start, end) for _, start, end in tags]
        names = telling_columns([text[a:b] for a, b in cells])
        is_header = all(tag == "th" for tag, _, _ in tags) or (columns is None and len(tags) != 2 and bool(names))
        if not is_header:
            judged = (columns or {}) | {index + 1: is_strong for index, is_strong in names.items()}
            for index, is_strong in judged.items():
                if index < len(cells) and is_strong_cell(text[slice(*cells[index])]) is None:
                    yield from cell_secrets(text, *cells[index], is_strong=is_strong)
        columns = names if is_header else columns or {}


def _rows(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """The cells of each row as (tag, start, end), and an empty row where a table begins or ends."""
    row: list[tuple[str, int, int]] = []
    opened: re.Match[str] | None = None
    for tag in _CELL_TAG.finditer(text):
        name = tag["tag"].lower()
        if opened is not None:
            if tag.start() - opened.end() <= _MAX_CELL_CHARS and len(row) < _MAX_COLUMNS:
                row.append((opened["tag"].lower(), opened.end(), tag.start()))
            opened = None
        if name in ("table", "tr", "dt") and row and not (name == "dt" and tag["closes"]):
            yield row
            row = []
        if name == "table":
            yield []
        elif name != "tr" and not tag["closes"]:
            opened = tag
    if row:
        yield row


def _cell_text(text: str, start: int, end: int) -> Span:
    """The one text in a cell, without the tags around it; an empty span if it holds none or several."""
    found = [match.span(1) for match in _TEXT.finditer(text[start:end]) if match[1].strip()]
    if len(found) != 1:
        return start, start
    (a, b) = found[0]
    inner = text[start + a : start + b]
    return start + a + len(inner) - len(inner.lstrip()), start + a + len(inner.rstrip())
