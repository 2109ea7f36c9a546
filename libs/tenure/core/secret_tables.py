"""Secrets in the columns of tables: what stands below a header cell such as `password`, in Markdown, CSV or a shell's output.

A header is the first line of its table. The names are those of `secret_names`.
"""

import re
from collections.abc import Iterator, Sequence

from tenure.core.secret_descriptions import is_description
from tenure.core.secret_names import (
    MIN_TOLD_CHARS,
    NAME_END,
    STRONG_NAME,
    WEAK_NAME,
    is_configured_value,
    is_told,
    is_weak_value,
)
from tenure.core.secret_shapes import is_placeholder

Span = tuple[int, int]

_TELLING = re.compile(rf"[\w .-]{{0,32}}?(?:(?P<strong>(?:{STRONG_NAME})s?)|{WEAK_NAME}){NAME_END}", re.IGNORECASE)
_RULE_MARKS = " \t\r|:+=-"
"""Of these is the line between a table's header and its rows: `|---|:-:|`, `----+----`, `+====+====+`."""
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITERS = ",;\t|"
_CSV_CELL = re.compile(r"\s?(?P<quote>[\"']?)[A-Za-z_][\w.-]*(?: [\w.-]+){0,2}(?P=quote)\s?")
"""A cell of a CSV's header: one to three words."""
_MAX_COLUMNS = 256
"""A line with more cells is data."""
_MARKUP = " \t\r*`\"'"
"""What may stand around a cell's value."""
_CODE_SPAN = re.compile(r"`([^`\n]+)`")


def table_secrets(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans of secrets below the line `text[start:end]`, if that is the header of a table and names a column of them."""
    line = text[start:end]
    if "|" in line and _is_rule(_line_at(text, end + 1)):
        yield from _ruled(text, start, end)
        return
    delimiter = next((sign for sign in _DELIMITERS if sign in line), "")
    if delimiter:
        yield from _delimited(text, start, end, delimiter)


def _line_at(text: str, start: int) -> str:
    """The line that starts there, '' behind the end."""
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def _line_before(text: str, start: int) -> str:
    return text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]


def _is_rule(line: str) -> bool:
    is_drawn = ("|" in line or "+" in line) and ("-" in line or "=" in line)
    return is_drawn and not line.lstrip("> \t").strip(_RULE_MARKS)


def _columns(names: Sequence[str]) -> dict[int, bool]:
    """The columns with telling names, and whether theirs is a password's."""
    found = {}
    for index, name in enumerate(names):
        telling = _TELLING.fullmatch(name.strip(f"{_MARKUP}_:"))
        if telling is not None:
            found[index] = telling["strong"] is not None
    return found


def _lines(text: str, end: int) -> Iterator[Span]:
    """The lines behind the one that ends there."""
    while 0 <= end < len(text) - 1:
        start = end + 1
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end


# Tables with bars


def _ruled(text: str, start: int, end: int) -> Iterator[Span]:
    above = _line_before(text, start)
    if _is_rule(above):
        above = _line_before(text, start - len(above) - 1)
    columns = {} if "|" in above else _columns([text[a:b] for a, b in _barred(text, start, end)])
    if not columns:
        return
    was_rule = False
    for row_start, row_end in _lines(text, end):
        line = text[row_start:row_end]
        is_rule = _is_rule(line)
        if (is_rule and was_rule) or ("|" not in line and not is_rule):
            return  # two rules in a row are the end of this table and the beginning of the next
        was_rule = is_rule
        if is_rule:
            continue
        for index, (a, b) in enumerate(_barred(text, row_start, row_end)):
            if index in columns:
                yield from _barred_secrets(text, a, b, is_strong=columns[index])


def _barred(text: str, start: int, end: int) -> list[Span]:
    """The cells of a line, without the empty ones outside of its outer bars."""
    bars = [match.start() for match in _BAR.finditer(text, start, end)]
    cells = list(zip([start, *(bar + 1 for bar in bars)], [*bars, end], strict=True))
    return cells[1:] if not text[slice(*cells[0])].strip() else cells


def _barred_secrets(text: str, start: int, end: int, *, is_strong: bool) -> Iterator[Span]:
    spans = [match.span(1) for match in _CODE_SPAN.finditer(text, start, end)] or [(start, end)]
    for a, b in (_trimmed(text, *span) for span in spans):
        value = text[a:b]
        if any(c.isspace() for c in value) or len(value) < MIN_TOLD_CHARS or not is_told(value):
            continue
        if is_strong or is_weak_value(value, is_plain=True):
            yield a, b


def _trimmed(text: str, start: int, end: int) -> Span:
    cell = text[start:end]
    begin = start + len(cell) - len(cell.lstrip(_MARKUP))
    return begin, begin + len(cell.strip(_MARKUP))


# CSV


def _delimited(text: str, start: int, end: int, delimiter: str) -> Iterator[Span]:
    names = text[start:end].lstrip("\ufeff").rstrip("\r").split(delimiter)
    if not 1 < len(names) <= _MAX_COLUMNS or not all(_CSV_CELL.fullmatch(name) for name in names):
        return
    columns = {} if start and delimiter in _line_before(text, start) else _columns(names)
    if not columns:
        return
    is_tight = not any(name[0].isspace() for name in names)
    if not is_tight and any(" " in name.strip() or name.endswith(".") for name in names):
        return  # a sentence
    for row_start, row_end in _lines(text, end):
        if delimiter not in text[row_start:row_end]:
            return
        for index, cell in enumerate(_csv_cells(text, row_start, row_end, delimiter)):
            if index in columns:
                a, b = _trimmed(text, *cell)
                if _is_csv_secret(text[a:b], is_strong=columns[index], is_tight=is_tight):
                    yield a, b


def _csv_cells(text: str, start: int, end: int, delimiter: str) -> Iterator[Span]:
    """The cells of a row; a delimiter in quotes is part of its cell."""
    while start <= end:
        opening = start
        quote = text[start:end].lstrip(" ")[:1]
        if quote == '"':
            opening = text.find(quote, start) + 1
            while (opening := text.find(quote, opening, end)) >= 0 and text.startswith('""', opening):
                opening += 2
            opening = start if opening < 0 else opening
        stop = text.find(delimiter, opening, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _is_csv_secret(value: str, *, is_strong: bool, is_tight: bool) -> bool:
    if is_placeholder(value) or is_description(value):
        return False
    if not is_strong:
        return is_weak_value(value, is_plain=True) and not any(c.isspace() for c in value)
    if not is_tight:
        return len(value) >= MIN_TOLD_CHARS and is_told(value)
    return is_configured_value(value, is_quoted=False)
