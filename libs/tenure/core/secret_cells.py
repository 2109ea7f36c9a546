"""What the cells of a table are to the search for secrets: names of columns, and values in documents.

Shared by `secret_tables`, `secret_csv` and `secret_markup`; the names are those of `secret_names`.
"""

import re
from collections.abc import Iterator, Sequence

from tenure.core.secret_names import MIN_TOLD_CHARS, NAME_END, STRONG_NAME, WEAK_NAME, is_told, is_weak_value

Span = tuple[int, int]

_TELLING = re.compile(rf"[\w .-]{{0,32}}?(?:(?P<strong>(?:{STRONG_NAME})s?)|{WEAK_NAME}){NAME_END}", re.IGNORECASE)
_MAX_NAME_CHARS = 96
_MARKUP = " \t\r\n*`\"'"
"""What may stand around a cell's value."""
_CODE_SPAN = re.compile(r"`([^`\n]+)`")


def is_strong_cell(name: str) -> bool | None:
    """Whether a cell names passwords (True) or what is a secret only if it looks like one (False); None if neither."""
    name = name.strip(f"{_MARKUP}_:")
    telling = _TELLING.fullmatch(name) if len(name) <= _MAX_NAME_CHARS else None
    return None if telling is None else telling["strong"] is not None


def telling_columns(names: Sequence[str]) -> dict[int, bool]:
    """The columns with telling names, and whether theirs is a password's."""
    found = {index: is_strong_cell(name) for index, name in enumerate(names)}
    return {index: is_strong for index, is_strong in found.items() if is_strong is not None}


def trimmed(text: str, start: int, end: int) -> Span:
    """The cell `text[start:end]` without the space and the markup around its value."""
    cell = text[start:end]
    begin = start + len(cell) - len(cell.lstrip(_MARKUP))
    return begin, max(begin, start + len(cell.rstrip(_MARKUP)))


def cell_secrets(text: str, start: int, end: int, *, is_strong: bool) -> Iterator[Span]:
    """Spans of secrets in a document's cell `text[start:end]` that a telling name stands above or beside."""
    spans = [match.span(1) for match in _CODE_SPAN.finditer(text, start, end)] or [(start, end)]
    for a, b in (trimmed(text, *span) for span in spans):
        value = text[a:b]
        if any(c.isspace() for c in value) or len(value) < MIN_TOLD_CHARS or not is_told(value):
            continue
        if is_strong or is_weak_value(value, is_plain=True):
            yield a, b


def line_at(text: str, start: int) -> str:
    """The line that starts there, '' behind the end."""
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def line_before(text: str, start: int) -> str:
    """The line above the one that starts there, '' at the top."""
    return text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]


def lines_behind(text: str, end: int) -> Iterator[Span]:
    """The lines behind the one that ends there."""
    while 0 <= end < len(text) - 1:
        start = end + 1
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end
