"""Secrets in entries that keep a name and its value apart, in either order: `{value: ..., name: DB_PASSWORD}`.

The keys of an entry stand beside each other, or below each other in one column; the names are those of `secret_names`.
"""

import re
from collections.abc import Iterator

from tenure.core.secret_blocks import indented
from tenure.core.secret_names import (
    NAME_END,
    STRONG_NAME,
    WEAK_NAME,
    Strictness,
    is_code,
    is_configured_value,
    is_weak_value,
)
from tenure.core.secret_phrases import phrase_at
from tenure.core.secret_shapes import is_placeholder

_SEPARATOR = r"[^\S\n]{0,8}[:=][^\S\n]{0,8}"
ENTRY_KIND = r"(?:(?:parameter|param|option|setting|variable|var|env|environment|attribute|attr|property|prop|field|config|item)[_-]?)?"
"""`ParameterKey` and `ParameterValue`, `option_name` and `value`: what the entry holds may be part of its keys."""
_NAME = re.compile(
    rf"(?<![\w-])(?P<key_quote>[\"']?){ENTRY_KIND}(?:name|key)(?P=key_quote){_SEPARATOR}(?P<quote>\\?[\"']?)[\w./-]{{0,64}}?"
    rf"(?:(?P<strong>{STRONG_NAME})|{WEAK_NAME}){NAME_END}(?P=quote)(?=[^\S\n]*(?:[,;}}\]>#]|/[/>]|$)|[^\S\n]+[\w:.-]+=|\s+{ENTRY_KIND}value)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"(?<![\w-])(?P<key_quote>[\"']?){ENTRY_KIND}value(?P=key_quote){_SEPARATOR}"
    r"(?:(?P<quote>\\?[\"'])(?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n])){1,4096})"
    r"|(?P<bare>(?:(?![;,&|]\s{0,8}[\"']?[\w.-]{1,64}[\"']?\s{0,8}[=:])[^\s\"'`]){1,4096}))",
    re.IGNORECASE,
)
_MARGIN = re.compile(r"(?P<indent>[^\S\n]*)(?P<dash>(?:-[^\S\n]+)*)")
"""What stands before the first key of a line; a dash begins a list's item."""
_END = re.compile(r"[\[{<]|---|[\]}][^\n]*[\[{]")
"""Begins a line on which another entry begins."""
_REACH = 1024
"""Characters between a name and a value on one line; many entries may share a long one."""
_MAX_SIBLINGS = 16
"""Lines above and below a name that are looked at; entries with values are short."""


def entry_secrets(text: str, start: int, end: int, strictness: Strictness) -> Iterator[tuple[int, int]]:
    """Spans of values that belong to a telling name on the line `text[start:end]`, before it or behind it."""
    line = text[start:end].lower()
    if not ("name" in line or "key" in line) or not (":" in line or "=" in line):
        return
    for name in _NAME.finditer(text, start, end):
        for value in (*_beside(text, start, end, name), *_siblings(text, start, end, name)):
            is_strong = name["strong"] is not None
            yield from _secrets(text, value, is_strong=is_strong, strictness=strictness)
            if is_strong and strictness is Strictness.CONFIGURATION and value["bare"] is not None:
                yield from _phrase(text, value.start("bare"))


def _beside(text: str, start: int, end: int, name: re.Match[str]) -> Iterator[re.Match[str]]:
    """The values before and behind a name on its line, with no bracket of another entry between."""
    before = list(_VALUE.finditer(text, max(start, name.start() - _REACH), name.start()))
    if before and _is_one_entry(text[before[-1].end() : name.start()]):
        yield before[-1]
    after = _VALUE.search(text, name.end(), min(end, name.end() + _REACH))
    if after is not None and _is_one_entry(text[name.end() : after.start()]):
        yield after


def _is_one_entry(between: str) -> bool:
    return not any(sign in between for sign in "{}<>")


def _siblings(text: str, start: int, end: int, name: re.Match[str]) -> Iterator[re.Match[str]]:
    """The values in the same column above and below a name that begins its line, up to where its entry ends."""
    margin = _margin(text, start)
    if margin.end() != name.start():
        return
    column = name.start() - start
    above = () if margin["dash"] else _entry_lines(text, _lines_above(text, start), column)
    below = list(_entry_lines(text, _lines_below(text, end), column))
    # Below, a dash begins another item: its value is this name's only if the item has no more than that.
    if below and below[-1]["dash"]:
        following = next(_entry_lines(text, _lines_below(text, text.find("\n", below[-1].end())), column), None)
        if not margin["dash"] or len(below) > 1 or (following is not None and not following["dash"]):
            below.pop()
    for line in (*above, *below):
        value = _VALUE.match(text, line.end())
        if value is not None:
            yield value


def _entry_lines(text: str, lines: Iterator[int], column: int) -> Iterator[re.Match[str]]:
    """The margins of those lines whose key stands in `column`, up to the first with a dash or to where the column ends."""
    for start in lines:
        margin = _margin(text, start)
        at = margin.end()
        if text[at : at + 1] in ("", "\n", "\r", "#") or len(margin["indent"]) > column:
            continue
        if at - start != column or _END.match(text, at):
            return
        yield margin
        if margin["dash"]:
            return


def _margin(text: str, start: int) -> re.Match[str]:
    return next(_MARGIN.finditer(text, start))  # it matches an empty margin as well


def _lines_above(text: str, start: int) -> Iterator[int]:
    for _ in range(_MAX_SIBLINGS):
        if start == 0:
            return
        start = text.rfind("\n", 0, start - 1) + 1
        yield start


def _lines_below(text: str, end: int) -> Iterator[int]:
    for _ in range(_MAX_SIBLINGS):
        if end < 0 or end >= len(text) - 1:
            return
        yield end + 1
        end = text.find("\n", end + 1)


def _secrets(text: str, value: re.Match[str], *, is_strong: bool, strictness: Strictness) -> Iterator[tuple[int, int]]:
    quoted, bare = value["quoted"], value["bare"]
    if quoted is not None:
        if is_entry_value(quoted, is_quoted=True, is_strong=is_strong, strictness=strictness):
            yield value.span("quoted")
    elif bare[0] in "|>":
        line_start = text.rfind("\n", 0, value.start()) + 1
        line_end = text.find("\n", value.end())
        for begin, line in indented(text, line_end, value.start() - line_start) if line_end >= 0 else ():
            if line and is_entry_value(line, is_quoted=False, is_strong=is_strong, strictness=strictness):
                yield begin, begin + len(line)
    else:
        bare = bare.rstrip(",;:)]}")
        if bare and is_entry_value(bare, is_quoted=False, is_strong=is_strong, strictness=strictness):
            yield value.start("bare"), value.start("bare") + len(bare)


def _phrase(text: str, begin: int) -> Iterator[tuple[int, int]]:
    line_end = text.find("\n", begin)
    phrase = phrase_at(text, begin, len(text) if line_end < 0 else line_end)
    if phrase is not None:
        yield phrase


def is_entry_value(value: str, *, is_quoted: bool, is_strong: bool, strictness: Strictness) -> bool:
    """Whether `value` is a secret if it belongs to a telling name, a password's if `is_strong`."""
    is_configuration = strictness is Strictness.CONFIGURATION
    if is_placeholder(value) or (not is_quoted and is_code(value)):
        return False
    if not is_strong:
        return is_weak_value(value, is_plain=is_quoted or is_configuration)
    if not is_configured_value(value, is_quoted=is_quoted and is_configuration):
        return False
    return is_configuration or is_quoted or any(c.isdigit() for c in value)
