"""Unpaired surrogates: what a JSON escape or a file name can put into a text, and no Unicode text holds."""

import re
from collections.abc import Iterable, Mapping

_UNPAIRED = re.compile("[\ud800-\udfff]")

REFUSAL = "holds an unpaired surrogate, which is no text; send valid Unicode, such as U+FFFD in its place"
"""What to say of a field with one, behind the field's name."""


def has_unpaired_surrogate(text: str) -> bool:
    """True if the text can't be written as UTF-8."""
    return not text.isascii() and _UNPAIRED.search(text) is not None


def place_of_unpaired_surrogate(value: object) -> str | None:
    """Where in a JSON value a text with an unpaired surrogate stands: keys and indices joined by dots, '' for the value
    itself; None if there is no such text. Keys are texts too, and the place is fit to be shown.
    """
    waiting: list[tuple[tuple[object, ...], object]] = [((), value)]
    # Without recursion: a value may be nested deeper than the stack.
    while waiting:
        place, entry = waiting.pop()
        if isinstance(entry, str):
            if has_unpaired_surrogate(entry):
                return _shown(place)
            continue
        for key, inner in _entries(entry):
            if isinstance(key, str) and has_unpaired_surrogate(key):
                return _shown((*place, key))
            waiting.append(((*place, key), inner))
    return None


def _entries(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _shown(place: tuple[object, ...]) -> str:
    return ".".join(map(str, place)).encode("utf-8", "backslashreplace").decode("utf-8")
