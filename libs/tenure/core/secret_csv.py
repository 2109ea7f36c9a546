"""Secrets in the columns of CSV and its kin: what stands below a header cell such as `password`.

Records may span lines where quotes hold line breaks, and empty lines may stand between them.
"""

import re
from collections.abc import Iterator, Sequence

from tenure.core.secret_cells import Span, line_at, line_before, telling_columns, trimmed
from tenure.core.secret_descriptions import is_description
from tenure.core.secret_names import MIN_TOLD_CHARS, is_configured_value, is_phrase, is_told, is_weak_value
from tenure.core.secret_shapes import is_placeholder

DELIMITERS = ",;\t|"
"""What may stand between cells; a header holds one of them."""
_HEADER_CELL = re.compile(r"\s?(?P<quote>[\"']?)[A-Za-z_][\w.-]*(?: [\w.-]+){0,2}(?P=quote)\s?")
"""A cell of a header: one to three words."""
_NO_QUOTE = re.compile(r'[^"]+')
_MAX_COLUMNS = 256
"""A line with more cells is data."""
_MAX_QUOTED_CHARS = 4096
"""A cell in quotes whose line breaks reach further is a stray quote."""
_MAX_EMPTY_LINES = 3
"""More of them in a row end a table."""


def csv_secrets(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Spans of secrets below those of `lines` (in their order) that are the headers of tables. Each table is read once."""
    done = -1
    for start, end in lines:
        if start <= done:
            continue
        names, delimiter = _header(text, start, end)
        if not names or (start and delimiter in line_before(text, start)):
            continue
        columns = telling_columns(names)
        is_tight = not any(name[0].isspace() for name in names)
        if not columns or (not is_tight and any(" " in name.strip() or name.endswith(".") for name in names)):
            continue  # no table, or a sentence
        done = end
        for record in _records(text, end, delimiter, len(names)):
            done = record[-1][1]
            for index, is_strong in columns.items():
                if index < len(record):
                    yield from _in_cell(text, *trimmed(text, *record[index]), is_strong=is_strong, is_tight=is_tight)


def _header(text: str, start: int, end: int) -> tuple[list[str], str]:
    """The names of a header's columns and what stands between them; no names if the line is none."""
    line = text[start:end].lstrip("\ufeff").rstrip("\r")
    delimiter = next((sign for sign in DELIMITERS if sign in line), "")
    names = line.split(delimiter) if delimiter else []
    if not 1 < len(names) <= _MAX_COLUMNS or not all(_HEADER_CELL.fullmatch(name) for name in names):
        return [], ""
    return names, delimiter


def _records(text: str, end: int, delimiter: str, width: int) -> Iterator[list[Span]]:
    """The records behind the header that ends there; behind an empty line only such as have its number of cells."""
    empty = 0
    start = end + 1
    while start < len(text) and empty <= _MAX_EMPTY_LINES:
        if not line_at(text, start).strip():
            empty += 1
            start += len(line_at(text, start)) + 1
            continue
        record = _record(text, start, delimiter)
        if len(record) < 2 or (empty and (len(record) != width or _opens_another(text, start))):
            return
        yield record
        empty, start = 0, record[-1][1] + 1


def _opens_another(text: str, start: int) -> bool:
    """Whether the line that starts there is a header with telling names: another table's."""
    return bool(telling_columns(_header(text, start, start + len(line_at(text, start)))[0]))


def _record(text: str, start: int, delimiter: str) -> list[Span]:
    """The cells of a record; a delimiter or a line break in quotes is part of its cell."""
    cells: list[Span] = []
    line_end = _line_end(text, start)
    while True:
        closed = _closing_quote(text, start, line_end)
        if closed > line_end:
            line_end = _line_end(text, closed)
        stop = text.find(delimiter, closed, line_end)
        if stop < 0:
            return [*cells, (start, line_end)]
        cells.append((start, stop))
        start = stop + 1


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _closing_quote(text: str, start: int, line_end: int) -> int:
    """Where the quote that opens the cell at `start` is closed; `start` if none opens or closes it."""
    opening = start
    while opening < line_end and text[opening] == " ":
        opening += 1
    if not text.startswith('"', opening):
        return start
    limit = max(line_end, opening + _MAX_QUOTED_CHARS)
    at = text.find('"', opening + 1, limit)
    while at >= 0 and text.startswith('""', at):
        at = text.find('"', at + 2, limit)
    return start if at < 0 else at


def _in_cell(text: str, start: int, end: int, *, is_strong: bool, is_tight: bool) -> Iterator[Span]:
    """A cell that is a secret, whole, though one of its lines alone may say so. Its quotes stay: they tell where cells end."""
    lines = text[start:end].splitlines()
    if any(_is_secret(line.strip(), is_strong=is_strong, is_tight=is_tight) for line in lines):
        yield from (piece.span() for piece in _NO_QUOTE.finditer(text, start, end))


def _is_secret(value: str, *, is_strong: bool, is_tight: bool) -> bool:
    if is_placeholder(value) or is_description(value):
        return False
    if not is_strong:
        return is_weak_value(value, is_plain=True) and not any(c.isspace() for c in value)
    if not is_tight:
        return len(value) >= MIN_TOLD_CHARS and is_told(value)
    return is_configured_value(value, is_quoted=False) or is_phrase(value)
