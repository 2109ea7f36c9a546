"""Secrets in the columns of tables: what stands below a header cell such as `password`, in Markdown, RST, CSV or a shell's output.

A header is the first line of its table; in RST it may have several, and a table may have none and names in its first column.
"""

import re
from collections.abc import Iterator, Sequence

from tenure.core.secret_cells import (
    Span,
    cell_secrets,
    is_strong_cell,
    line_at,
    line_before,
    lines_behind,
    telling_columns,
)
from tenure.core.secret_csv import csv_secrets

_RULE_MARKS = " \t\r|:+=-"
"""Of these is the line between a table's header and its rows: `|---|:-:|`, `----+----`, `+====+====+`."""
_BAR = re.compile(r"(?<!\\)\|")
_MAX_HEADER_LINES = 4
"""Lines of a header in an RST table; more are a body."""
_MAX_ROWS_ABOVE = 32
"""Lines between a row of a table without bars and the rule above that tells its columns."""
_SIMPLE_RULE = re.compile(r"[^\S\n]*=+(?:[^\S\n]+=+)+\s*")
_BARE_CELL = re.compile(r"=+|[^\s=]\S*(?: \S+)*")
"""A cell of a table without bars, or a column in its rules; two spaces stand between cells."""


def table_secrets(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Spans of secrets in the tables that one of `lines` is the header or a row of; they are the marked ones, in their order."""
    others = []
    for start, end in lines:
        line = text[start:end].strip()
        is_barred = "|" in line
        if is_barred:
            yield from _ruled(text, start, end)
        elif "  " in line or text.startswith("=", end + 1):
            yield from _simple(text, start, end)
        if is_barred and _is_rule(line_at(text, end + 1)):
            continue
        if "," in line or ";" in line or "\t" in line or is_barred:
            others.append((start, end))
    yield from csv_secrets(text, others)


def _is_rule(line: str) -> bool:
    is_drawn = ("|" in line or "+" in line) and ("-" in line or "=" in line)
    return is_drawn and not line.lstrip("> \t").strip(_RULE_MARKS)


# Tables with bars


def _ruled(text: str, start: int, end: int) -> Iterator[Span]:
    header_end = _header_end(text, start, end)
    columns = telling_columns([text[a:b] for a, b in _barred(text, start, end)]) if header_end >= 0 else {}
    if not columns:
        return
    was_rule = False
    for row_start, row_end in lines_behind(text, header_end):
        line = text[row_start:row_end]
        is_rule = _is_rule(line)
        if (is_rule and was_rule) or ("|" not in line and not is_rule):
            return  # two rules in a row are the end of this table and the beginning of the next
        was_rule = is_rule
        if is_rule:
            continue
        for index, (a, b) in enumerate(_barred(text, row_start, row_end)):
            if index in columns:
                yield from cell_secrets(text, a, b, is_strong=columns[index])


def _header_end(text: str, start: int, end: int) -> int:
    """Where the header ends that the line `text[start:end]` belongs to, -1 if it belongs to none."""
    top = start
    for _ in range(_MAX_HEADER_LINES):
        above = line_before(text, top)
        if "|" not in above or _is_rule(above):
            break
        top -= len(above) + 1
    above = line_before(text, top)
    is_grid = _is_rule(above) and "+" in above
    if _is_rule(above):
        above = line_before(text, top - len(above) - 1)
    if "|" in above or (top < start and not is_grid):
        return -1
    for _ in range(_MAX_HEADER_LINES):
        below = line_at(text, end + 1)
        if _is_rule(below):
            return end
        if not is_grid or "|" not in below:
            return -1
        end += len(below) + 1
    return -1


def _barred(text: str, start: int, end: int) -> list[Span]:
    """The cells of a line, without the empty ones outside of its outer bars."""
    bars = [match.start() for match in _BAR.finditer(text, start, end)]
    cells = list(zip([start, *(bar + 1 for bar in bars)], [*bars, end], strict=True))
    return cells[1:] if not text[slice(*cells[0])].strip() else cells


# Tables with nothing but spaces between their columns, and rules of `=`


def _simple(text: str, start: int, end: int) -> Iterator[Span]:
    names = _BARE_CELL.match(text, start + _indent(text, start, end), end)
    is_telling = names is not None and is_strong_cell(names[0]) is not None
    header_end = _rule_below(text, end)
    if not is_telling and header_end < 0:
        return
    top = _rule_above(text, start, _MAX_ROWS_ABOVE if is_telling else _MAX_HEADER_LINES)
    if top is None:
        return
    edges = [match.start() - top[0] for match in _BARE_CELL.finditer(text, *top)]
    first, second = _bare_cells(start, end, edges)[:2]
    is_strong = is_strong_cell(text[slice(*first)])
    if is_strong is not None:
        yield from cell_secrets(text, *second, is_strong=is_strong)
    if header_end < 0 or line_before(text, top[0]).strip():
        return
    columns = telling_columns([text[a:b] for a, b in _bare_cells(start, end, edges)])
    for row in lines_behind(text, header_end) if columns else ():
        if _SIMPLE_RULE.fullmatch(text, *row):
            return
        cells = _bare_cells(*row, edges)
        if any(edge and text[row[0] + edge - 1 : row[0] + edge].strip() for edge in edges if row[0] + edge < row[1]):
            return  # text, not a row
        for index, is_strong in columns.items():
            yield from cell_secrets(text, *cells[index], is_strong=is_strong)


def _indent(text: str, start: int, end: int) -> int:
    return end - start - len(text[start:end].lstrip())


def _rule_below(text: str, end: int) -> int:
    """The end of the rule at most a header's lines below, -1 if there is none."""
    for count, row in enumerate(lines_behind(text, end)):
        if count == _MAX_HEADER_LINES or not text[slice(*row)].strip():
            return -1
        if _SIMPLE_RULE.fullmatch(text, *row):
            return row[1]
    return -1


def _rule_above(text: str, start: int, reach: int) -> Span | None:
    """The nearest rule above with no empty line between."""
    for _ in range(reach):
        above = line_before(text, start)
        if not above.strip():
            return None
        start -= len(above) + 1
        if _SIMPLE_RULE.fullmatch(above):
            return start, start + len(above)
    return None


def _bare_cells(start: int, end: int, edges: Sequence[int]) -> list[Span]:
    """The cells of a line by where the columns begin; the last one has no end."""
    begins = [min(end, start + edge) for edge in edges]
    return list(zip(begins, [*begins[1:], end], strict=True))
