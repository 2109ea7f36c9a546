"""What documents and tables put beside a password's name that is no password: types, algorithms, lengths, ages, dates."""

import re

from tenure.core.secret_shapes import is_placeholder

_MAX_CHARS = 64
"""Longer text is no type, date or quantity."""
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)
_DATE_LIST = (
    r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?",
    r"\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})",
    rf"(?=.*\d)(?:{_DAY}[-/. ]{{1,2}})?{_MONTH}(?:[-/., ]{{1,2}}{_DAY})?(?:[-/., ]{{1,2}}\d{{4}})?",
    r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?",
    r"(?:q|h)[1-4](?:[-/. ]?\d{2,4})?",
)
_AMOUNT = r"(?:\d{1,3}\s?(?:-|–|\.\.|to|x|/)\s?\d{1,3}|\d{1,5}(?:[.,]\d{1,4})?)\+?"
"""A longer number is a PIN."""
_UNIT = (
    r"(?:day|month|week|year|yr|hour|hr|minute|min|second|sec|ms|char|character|letter|digit|symbol|bit|byte|[kmgt]i?b"
    r"|time|attempt|try|trie|retry|retrie|user|login|line|word|row|column|step|factor|rotation|round|iteration|percent|entry|entrie"
    r"|px|pt|em|st|nd|rd|th|d|h|m|s|w|y|x|%)"
)
_QUANTITY = (
    r"(?:(?:min|max|minimum|maximum|at least|at most|up to|every|after|about|over|under|[<>=~≥≤]{1,2})[-:. ]{0,2})?"
    rf"{_AMOUNT}(?:[- ]?{_UNIT}(?:s|\(s\))?)?(?:[- ](?:ago|old|left|min|max|or more|or less|rotation|expiry|policy|limit|long))?\.?"
)
_NUMBERED = "sha|md|base|argon|pbkdf|utf|hmac|aes|oauth|n?varchar|u?int|string|text|char|scram|rfc|iso|x|v|h|step|section|table|note"
_KIND_LIST = (
    rf"(?:{_NUMBERED})[-_]?\d[\w.-]*",
    r"(?:fido|saml|krb|kerberos|ntlmv|ldapv|tlsv?|u2f|2fa|mfa|totp|ipv)[-_ ]?\d{0,2}(?:\.\d)?",
    r"bcrypt.*",
    r"[a-z]+://.*",
    r"\w+(?:[?!]|\(s\))",
    r"n/?a|tb[ad]|never|expired|enabled|disabled|locked|hashed|encrypted|mandatory|inherited|unchanged|same",
)
_DESCRIPTION = re.compile(
    "|".join(f"(?:{pattern})" for pattern in (*_DATE_LIST, _QUANTITY, *_KIND_LIST)), re.IGNORECASE
)
_FOOTNOTE = re.compile(r"[*†‡§¹²³⁴⁵]{1,3}$|\s?\[\w{1,3}\]_?$|\^\d$|\s?\(\w{1,3}\)$")
_OR = re.compile(r"\s?(?:[/|,]|\bor\b|\band\b)\s?")


def is_description(value: str) -> bool:
    """Whether words say what a password is and not which: `sha256`, `varchar(64)`, `required*`, `90-day`, `yes/no`, a date."""
    value = value.strip().removeprefix("(").removesuffix(")") if value.startswith("(") else value
    if len(value) > _MAX_CHARS:
        return False
    return _DESCRIPTION.fullmatch(value) is not None or all(map(_is_word_for_none, _OR.split(_FOOTNOTE.sub("", value))))


def _is_word_for_none(word: str) -> bool:
    return word.isalpha() and is_placeholder(word)
