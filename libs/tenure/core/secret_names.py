"""Secrets that only their surroundings give away: telling names with values, headers, commands, bare random strings.

For configuration, tool output and free text; never applied to source code, where names like these are everyday words.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise

from tenure.core.secret_commands import COMMAND_MARKS, command_secrets
from tenure.core.secret_descriptions import is_description
from tenure.core.secret_shapes import is_placeholder


class Strictness(StrEnum):
    """What a text is, and with it which rules apply.

    `source`: exact shapes only. `document`: also telling names with values. `configuration` and `free_text` (commit
    messages, tool output, events, queries): also bare random strings; in configuration every value of a password's
    name is one, in free text it has to look like a value and not like prose or code.
    """

    SOURCE = "source"
    DOCUMENT = "document"
    CONFIGURATION = "configuration"
    FREE_TEXT = "free_text"


NAME_MARKS = (
    b"pass",
    b"pwd",
    b"secret",
    b"token",
    b"key",
    b"credential",
    b"auth",
    b"bearer",
    b"cookie",
    b"psk",
    b"pw",
    *(mark.encode() for mark in COMMAND_MARKS),
)
"""Lower-case; a line without any of them is never looked at by the rules of this module, random strings excepted."""

STRONG_NAME = (
    r"password|passwort|passwd|passphrase|passcode|pwd|(?<=[_\"'.-])pass|(?<![a-z])(?:db|root|user|admin|smtp|mail|ftp|ssh)pass"
    r"|(?<![a-z0-9])pass(?=[\"']?\s?[:=])|(?<![a-z0-9])(?:pw|psk)(?![a-z])|(?-i:(?<=[a-z])P(?:w|W|sk|SK))(?![a-z])"
    r"|(?:client|app|consumer|webhook|signing)[_-]?secret|secret[_-]?(?:access[_-]?)?key"
)
"""Whatever stands behind such a name in configuration is a secret."""
WEAK_NAME = (
    r"(?:api|access|private|signing|encryption|encrypt|account|auth|master|service|deploy|license|session|hmac|jwt)[_ -]?key"
    r"|token|secret|credentials?|(?<![a-z])auth|cookie"
)
"""What stands behind such a name is a secret only if it looks like one."""
NAME_END = r"(?:[_-]?\d{1,2}|[_-](?:prod|production|dev|staging|test|live|old|new|default|value|b64|base64))?"
_VALUE_BELOW = (
    r"[\"']?[,:]?[^\S\n]*(?:#[^\n]{0,512})?\n(?:[^\S\n]*(?:#[^\n]{0,512})?\n){0,3}\s{0,64}[\"']?value[\"']?\s?[:=]\s?"
)
"""`name: DB_PASSWORD`, perhaps comments, then `value: ` on a line of its own."""
_VALUE_BESIDE = r"[\"']?\s?,\s{0,8}[\"']?value[\"']?\s?[:=]\s?"
"""`{"name": "DB_PASSWORD", "value": `."""
_VALUE_TAG = r"</(?:name|key)>\s{0,64}<(?:value|string)>"
_NAMED = re.compile(
    rf"(?:(?P<strong>{STRONG_NAME})|(?P<weak>{WEAK_NAME})){NAME_END}"
    r"(?:\\?[\"']|`(?=:\s)|\*{1,3}(?=[^\S\n]{0,8}[:=]))?\]?"
    r"(?P<separator>[^\S\n]{0,32}(?:=>|:=|=|:)(?:[*_]{1,3}(?=[^\S\n]))?[^\S\n]{0,32}|\"?\s+value\s?=\s?"
    rf"|{_VALUE_BELOW}|{_VALUE_BESIDE}|{_VALUE_TAG}|>(?=[^<\n]{{1,512}}</))"
    r"(?:[bruf]{0,2}(?P<quote>\"{3}|'{3}|\\?[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n])){1,4096})"
    r"|(?P<bare>(?:(?![;,&|]\s{0,8}[\"']?[\w.-]{1,64}[\"']?\s{0,8}[=:])[^\s\"'`]){1,4096}))",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"(?<![\w-])--?[a-z-]{{0,40}}(?:{STRONG_NAME}|{WEAK_NAME})\s{{1,8}}(?P<quote>[\"']?)(?P<value>[^\s\"'-][^\s\"']{{3,1024}})(?P=quote)",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"(?:password|passwd|passphrase|pwd)\s{1,8}(?:(?:is|was|to|of)\s{1,8})?[\"'`]?(?P<value>[^\s\"'`=:]{8,128})",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:password|passwd|passphrase|passcode|pwd|(?<!\w)pw)(?:\s{1,8}(?:for|of|on|to|at)(?:\s{1,8}[\w.@/-]{1,64}){1,5}?)?"
    r"\s{1,8}(?:is|was)(?:\s{1,8}now)?\s{0,8}(?::\s{0,8}[\"'`]?|\s[\"'`])(?P<value>[^\s\"'`]{4,128})",
    re.IGNORECASE,
)
"""`my password is: X`, ``the password for the lab is `X` ``: the sign before the value says that it is meant as one."""
_CELL = re.compile(
    rf"\|[^\S\n]*[*_`\"]{{0,3}}[\w .-]{{0,32}}?(?:{STRONG_NAME}){NAME_END}[*_`\":]{{0,4}}[^\S\n]*\|"
    r"[^\S\n]*[*`\"]{0,3}(?P<value>[^\s|`\"]{4,256}?)[*`\"]{0,3}[^\S\n]*\|",
    re.IGNORECASE,
)
"""A table's row: a password's name in one cell, its value in the next."""
_NETRC = re.compile(r"\b(?:login|account)\s+[\w.@-]{1,256}\s+password\s+(?P<value>\S{1,256})", re.IGNORECASE)
_HEADER = re.compile(
    r"(?:authorization[\"']?\]?\s{0,8}[:=,]\s{0,8}\\?[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate|bot)\s{1,8})?|\bbearer\s{1,8})"
    r"(?P<value>[A-Za-z0-9._~+/=-]{8,8192})",
    re.IGNORECASE,
)
_HEADER_KEY = re.compile(r"\d|^(?=.{16})\w*[a-z][A-Z]\w*[a-z][A-Z]")
"""A digit, or base64 without one: `Authorization: Basic Authentication` names a scheme."""
_RANDOM_RUN = re.compile(r"(?<![A-Za-z0-9_+=./%-])[A-Za-z0-9_+=-]{32,512}(?![A-Za-z0-9_+=./%-])")
_HASH_BEFORE = re.compile(
    r"(?:sha\d{1,3}|md5|h1|integrity|checksum|digest|hash|etag|ssh-\w+|ecdsa[\w-]*|public[_-]?key)\W{0,4}$",
    re.IGNORECASE,
)
_HASH_PREFIX = re.compile(r"(?:sha\d{1,3}|md5|h1)[-_=]", re.IGNORECASE)
_HASH_WINDOW = 24
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[].*|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+[,;:)\]}]*|[({\[].*|.*\\[swdbSWDB][*+?{].*",
    re.DOTALL,
)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+\S{0,16}|[\d.,_:-]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_SLUG = re.compile(r"[A-Za-z]+\d{0,2}(?:[-_./: ][A-Za-z]*\d{0,2})*")
"""Words with a number here and there, joined: a name, no key."""
_MIN_PIN_DIGITS = 6
"""A shorter number after a password's name is a count."""
_CONSTANT_NAME = re.compile(r"[A-Z0-9_.-]+")

MIN_STRONG_CHARS = 3
"""A value of a password's name is a secret from this length on."""
MIN_WEAK_CHARS = 8
"""A value of a name that is often harmless (token, key) is a secret from this length on."""
MIN_TOLD_CHARS = 5
MIN_RANDOM_CHARS = 12
MIN_RANDOM_ENTROPY = 3.0
"""Bits per character; English words of this length stay below, 12 random letters and digits lie near 3.4."""
MIN_BARE_ENTROPY = 4.2
"""Bits per character of a bare random string: hex can't exceed 4, 32 random base62 characters lie near 4.6."""
MIN_BARE_CHANGES = 0.4
"""Share of neighbours of different class (lower, upper, digit): about .6 when random, .3 in CamelCase."""


def entropy(value: str) -> float:
    """Shannon entropy of the characters of `value`, in bits per character; 0 for ''."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def _has_letter_and_digit(value: str) -> bool:
    return any(c.isalpha() for c in value) and any(c.isdigit() for c in value)


def is_random(value: str) -> bool:
    """Whether `value` reads like a generated key rather than like a word, a name or a version."""
    return (
        len(value) >= MIN_RANDOM_CHARS
        and _has_letter_and_digit(value)
        and entropy(value) >= MIN_RANDOM_ENTROPY
        and (sum(c.isdigit() for c in value) >= 3 or _IDENTIFIER.fullmatch(value) is None)  # `Base64Encoder` has fewer
    )


def _changes(value: str) -> float:
    kinds = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in value]
    return sum(a != b for a, b in pairwise(kinds)) / max(1, len(kinds) - 1)


def is_bare_secret(value: str) -> bool:
    """Whether a string without any telling surroundings is random in a way that hashes, UUIDs and names are not."""
    bare = value.strip("=_-+")
    has_all = any(c.islower() for c in bare) and any(c.isupper() for c in bare) and any(c.isdigit() for c in bare)
    return has_all and entropy(bare) >= MIN_BARE_ENTROPY and _changes(bare) >= MIN_BARE_CHANGES


def _is_prose(value: str) -> bool:
    return " " in value.strip() and not any(c.isdigit() for c in value)


def _is_label(value: str) -> bool:
    """Whether words in quotes speak of passwords, as the texts of a form do, so that they are none."""
    return _LABEL.search(value) is not None


def _is_strong_value(match: re.Match[str], value: str, strictness: Strictness) -> bool:
    is_quoted = match["quoted"] is not None
    is_configuration = strictness is Strictness.CONFIGURATION
    if not is_configured_value(value, is_quoted=is_quoted and is_configuration):
        return False
    if match["strong"].lower() == "pass" and _LONE_PASS.search(match.string, max(0, match.start() - 1), match.start()):
        return is_configuration  # elsewhere `pass: 12` counts what went well
    if is_configuration or is_quoted:
        return True
    if value.isalpha() or (_IDENTIFIER.fullmatch(value) and not any(c.isdigit() for c in value)):
        # Free text: `PGPASSWORD=letmein psql` is a value, `connect(password=entered)` and `Password: required` are not.
        return match["separator"] == "=" and _CONSTANT_NAME.fullmatch(match[0].partition("=")[0]) is not None
    return any(c.isalnum() for c in value)


_LONE_PASS = re.compile(r"[^\w\"'.-]|^")
_LABEL = re.compile(
    r"pass(?:word|wd|phrase|code|wort)|(?:^|\s)(?:your|must|please|enter|invalid|required|forgot|reset|confirm|the|is|are|not|to|of|or|for)(?:\s|$)",
    re.IGNORECASE,
)


_FORM = re.compile(
    r"pass(?:word|wd|phrase|code|wort)|(?:^|\s)(?:your|must|please|enter|invalid|required|forgot|reset|confirm|is|are|was|not|at\s+least)(?:\s|$)",
    re.IGNORECASE,
)
"""What forms and their messages say of passwords. Articles and prepositions are no sign: a passphrase may hold them."""
_STATUS = re.compile(
    r"(?:required|optional|none|null|yes|no|string|text|any|empty|unset|default|not|n/a|see|same|varies|never)\W{0,2}\s|\d{1,5}\s",
    re.IGNORECASE,
)
"""The first word of what tells something about a password, or a count."""
_MAX_PHRASE_WORDS = 16


def is_phrase(value: str) -> bool:
    """Whether several words without quotes can be a password: no sentence about one, no count, no date."""
    words = value.split()
    return (
        1 < len(words) <= _MAX_PHRASE_WORDS
        and not value.endswith((".", ":", "?"))
        and sum(any(c.isalnum() for c in word) for word in words) > 1
        and not is_description(value)
        and _STATUS.match(value) is None
        and _FORM.search(value) is None
    )


def is_configured_value(value: str, *, is_quoted: bool) -> bool:
    """Whether `value` can be the one of a password's name in configuration: no count, no sentence, not too short."""
    if len(value) < MIN_STRONG_CHARS or (value.isdigit() and len(value) < _MIN_PIN_DIGITS):
        return False
    if " " in value and is_description(value):
        return False
    return not _is_prose(value) or (is_quoted and not _is_label(value))


def is_weak_value(value: str, *, is_plain: bool) -> bool:
    """Whether `value` of a name that is often harmless looks like a secret; `is_plain` where quotes or a key frame it."""
    if len(value) < MIN_WEAK_CHARS or _VERSION.fullmatch(value) or _SLUG.fullmatch(value):
        return False
    return is_random(value) or (is_plain and _has_letter_and_digit(value))


def is_code(value: str) -> bool:
    """Whether a value without quotes is a call, an attribute or a pattern: `get_password()`, `self.token`."""
    return _CODE.fullmatch(value) is not None


def _is_named_value(match: re.Match[str], value: str, strictness: Strictness) -> bool:
    is_quoted = match["quoted"] is not None
    if is_placeholder(value) or (not is_quoted and is_code(value)):
        return False
    if match["strong"] is not None:
        return _is_strong_value(match, value, strictness)
    return is_weak_value(value, is_plain=is_quoted or strictness is Strictness.CONFIGURATION)


def _named(text: str, start: int, end: int, strictness: Strictness) -> Iterator[tuple[int, int]]:
    for match in _NAMED.finditer(text, start, end):
        group = "quoted" if match["quoted"] is not None else "bare"
        value = match[group]
        if group == "bare":
            value = value.split("</", 1)[0] if match["separator"].endswith(">") else value.rstrip(",;:)]}")
        elif _HAS_SCHEME.match(value):
            continue
        if value and _is_named_value(match, value, strictness):
            yield match.start(group), match.start(group) + len(value)


_HAS_SCHEME = re.compile(r"(?:bearer|basic|token)\s", re.IGNORECASE)
"""Such a value is a header's: the header rule masks what follows the scheme."""


def _spoken(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _SPOKEN.finditer(text, start, end):
        value = match["value"].rstrip(".,;)")
        has_sign = any(not c.isalnum() and c not in "._-/()[]{}<>" for c in value)
        if (
            not is_placeholder(value)
            and not _CODE.fullmatch(value)
            and _has_letter_and_digit(value)
            and (has_sign or is_random(value))
        ):
            yield match.start("value"), match.start("value") + len(value)


def is_told(value: str) -> bool:
    """Whether a word that is said or tabled to be a password looks like one: letters with digits or signs, no type's name."""
    has_sign = any(not c.isalnum() and c not in "._-/()[]{}<>,:" for c in value)
    return (
        not is_placeholder(value)
        and not _CODE.fullmatch(value)
        and not is_description(value)
        and _VERSION.fullmatch(value) is None
        and any(c.isalpha() for c in value)
        and (has_sign or any(c.isdigit() for c in value))
        and not value.startswith(("-", "$", "<", "http"))
    )


def _told(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        value = match["value"].rstrip(".,;)")
        if len(value) >= MIN_TOLD_CHARS and is_told(value):
            yield match.start("value"), match.start("value") + len(value)


def _plain(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        if not is_placeholder(match["value"]) and not _CODE.fullmatch(match["value"]):
            yield match.span("value")


def _headers(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _HEADER.finditer(text, start, end):
        if _HEADER_KEY.search(match["value"]) and not is_placeholder(match["value"]):
            yield match.span("value")


def _flags(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _FLAG.finditer(text, start, end):
        if not is_placeholder(match["value"]) and not match["value"].isalpha() and not _CODE.fullmatch(match["value"]):
            yield match.span("value")


def named_secrets(text: str, start: int, end: int, strictness: Strictness) -> Iterator[tuple[int, int]]:
    """Spans of values in `text[start:end]`, a marked line, that their names, headers or commands give away.

    Each rule runs only where its own word stands: most marked lines hold an everyday `token` or `key` and nothing else.
    """
    line = text[start:end].lower()
    # Spelled out: this is asked of every marked line.
    if "=" in line or ":" in line or ">" in line or "value" in line:
        yield from _named(text, start, end, strictness)
    if "passw" in line or "pw" in line or "passphrase" in line or "passcode" in line:
        yield from _spoken(text, start, end)
        yield from _told(_SAID, text, start, end)
        yield from _plain(_NETRC, text, start, end)
    if line.count("|") > 1:
        yield from _told(_CELL, text, start, end)
    if "bearer" in line or "authorization" in line:
        yield from _headers(text, start, end)
    if "-" in line:
        yield from _flags(text, start, end)
    for pattern in command_secrets(line):
        yield from _plain(pattern, text, start, end)


def bare_secrets(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of random strings in `text[start:end]` that stand alone, unless a word before them says that they are hashes or public keys."""
    for match in _RANDOM_RUN.finditer(text, start, end):
        before = text[max(0, match.start() - _HASH_WINDOW) : match.start()]
        if is_bare_secret(match[0]) and not _HASH_BEFORE.search(before) and not _HASH_PREFIX.match(match[0]):
            yield match.span()
