"""Passwords of several words that configuration writes without quotes: `password = correct horse battery`.

Where the value ends, and what counts as one: the names and the words that speak of passwords are those of `secret_names`.
"""

import re
from collections.abc import Iterator

from tenure.core.secret_names import NAME_END, STRONG_NAME, is_code, is_phrase
from tenure.core.secret_shapes import is_placeholder

Span = tuple[int, int]

_ASSIGNED = re.compile(
    rf"[^\S\n]*(?:[-#;][^\S\n]{{1,8}}){{0,4}}(?:(?:export|setx?|env)[^\S\n]{{1,8}})?[\"']?[\w. /-]{{0,64}}?(?:{STRONG_NAME}){NAME_END}"
    r"[\"']?[^\S\n]{0,32}(?:=>|:=|=|:)[^\S\n]{0,32}(?=[^\s=~<>|&\[{\"'`])",
    re.IGNORECASE,
)
"""A line that begins with a password's name and goes on with its value, without quotes."""
_IN_BRACES = re.compile(
    rf"[{{,][^\S\n]{{0,8}}[\"']?[\w./-]{{0,64}}?(?:{STRONG_NAME}){NAME_END}[\"']?:[^\S\n]{{1,8}}(?=[^\s&|\[{{\"'`,}}])"
    r"(?P<value>[^,{}\[\]\n]{1,512})(?=[,}])",
    re.IGNORECASE,
)
"""The same within YAML's braces, where a comma ends the value."""
_MAX_CHARS = 512
_STOP = re.compile(
    r"\s(?:[#;]|//|[\w.-]{1,64}\s?=|-{1,2}[a-z]|&&|\|)|[,;&]\s{0,8}[\"']?[\w.-]{1,64}[\"']?\s{0,8}[=:]|</|[\"'`]",
    re.IGNORECASE,
)
"""A comment, another key, an option, the rest of a command, or a tag: the value ends before it."""
_COMMAND = re.compile(
    r"\S+\s+(?:psql|pg_\w+|createdb|dropdb|mysql\w*|mariadb\S*|redis-\w+|mongo\w*|python[\d.]*|node|np[mx]|yarn|ruby|rake|java|go|cargo|make"
    r"|(?:ba|z)?sh|docker\S*|kubectl|helm|terraform|ansible\S*|curl|ssh\w*|sudo|\S*/\S+)(?:\s|$)"
)
"""`PGPASSWORD=letmein psql`: the second word is a program that gets the password in its environment."""


def phrase_at(text: str, begin: int, end: int) -> Span | None:
    """The value of several words that begins there, on a line that ends at `end`; None if it is one word or no password."""
    limit = min(end, begin + _MAX_CHARS)
    stop = _STOP.search(text, begin, limit)
    value = text[begin : limit if stop is None else stop.start()].rstrip(" \t\r,;)]}")
    if is_placeholder(value) or is_code(value) or not is_phrase(value):
        return None
    return begin, begin + len(value)


def phrase_secrets(text: str, start: int, end: int) -> Iterator[Span]:
    """The passwords of several words on the configuration's line `text[start:end]`."""
    assigned = _ASSIGNED.match(text, start, end)
    if assigned is not None:
        is_command = assigned[0].endswith("=") and _COMMAND.match(text, assigned.end(), end)
        begins = [] if is_command else [(assigned.end(), end)]
    else:
        begins = (
            [match.span("value") for match in _IN_BRACES.finditer(text, start, end)] if "{" in text[start:end] else []
        )
    for span in begins:
        phrase = phrase_at(text, *span)
        if phrase is not None:
            yield phrase
