"""The choke point for secrets: what passes here may be stored, queued, logged and shown to a model (SPEC section 3.7).

A byte prefilter marks lines at the speed of `bytes.find`; only marked lines meet the exact detectors. Masking puts `*`
for each character that is not white space, so lines and columns stay, and masking twice equals masking once.
Out of reach by design: a token that source code puts together from pieces, and a password that nothing gives away.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tenure.core import secret_shapes as shapes
from tenure.core.secret_blocks import block_secrets
from tenure.core.secret_entries import entry_secrets
from tenure.core.secret_markup import markup_secrets
from tenure.core.secret_names import NAME_MARKS, Strictness, bare_secrets, named_secrets
from tenure.core.secret_phrases import phrase_secrets
from tenure.core.secret_tables import table_secrets

Span = tuple[int, int]
"""Start and end index of a secret in its text."""
Detector = Callable[[str], Iterable[Span]]
"""Finds secrets in one marked line."""

_TOKEN, _OTHER = b"a", b" "
_TOKEN_CHARS = frozenset((string.ascii_letters + string.digits + "_-").encode())
_CLASSES = bytes(_TOKEN[0] if byte in _TOKEN_CHARS else _OTHER[0] for byte in range(256))
_TOKEN_RUN = _TOKEN * shapes.MIN_TOKEN_RUN
_LEFT_CONTEXT = 80
"""Characters before a token run in which its prefix may begin: a webhook's host, path and two ids are up to 70."""
_VALUE_LINE = re.compile(
    r"\n(?:[^\S\n]{0,64}(?:#[^\n]{0,512})?\n){0,3}[^\S\n]{0,64}[ \"']{0,3}(?:value\b|<value>|<string>)[^\n]*"
)
"""`value: ...` below a telling name, as in a list of named environment variables; comments may stand between."""
_NOT_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets: as many lines and characters as before, and how many secrets were masked."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class _Scan:
    """A text with its bytes in which one byte stands for one character, so that indices agree."""

    text: str
    raw: bytes

    def line(self, index: int) -> Span:
        """The line that holds `index`, without its end."""
        end = self.raw.find(b"\n", index)
        return self.raw.rfind(b"\n", 0, index) + 1, len(self.raw) if end < 0 else end


def _occurrences(data: bytes, mark: bytes) -> Iterator[int]:
    index = data.find(mark)
    while index >= 0:
        yield index
        index = data.find(mark, index + len(mark))


def _token_runs(raw: bytes) -> Iterator[Span]:
    classes = raw.translate(_CLASSES)
    start = classes.find(_TOKEN_RUN)
    while start >= 0:
        end = classes.find(_OTHER, start + len(_TOKEN_RUN))
        end = len(classes) if end < 0 else end
        yield start, end
        start = classes.find(_TOKEN_RUN, end)


def _shape_lines(scan: _Scan, runs: list[Span]) -> set[Span]:
    """The lines on which a vendor's token may stand."""
    lines = {
        scan.line(start)
        for start, end in runs
        if shapes.VENDOR_PREFIX.search(scan.text, max(0, start - _LEFT_CONTEXT), end)
    }
    lines.update(scan.line(index) for index in _occurrences(scan.raw, shapes.AZURE_MARK.encode()))
    return lines


def _name_lines(scan: _Scan) -> set[Span]:
    """The lines on which a telling name stands."""
    lowered = scan.raw.lower()
    lines: set[Span] = set()
    for mark in NAME_MARKS:
        index = lowered.find(mark)
        while index >= 0:
            line = scan.line(index)
            lines.add(line)
            index = lowered.find(mark, line[1])
    return lines


def _urls(scan: _Scan) -> Iterator[Span]:
    for index in _occurrences(scan.raw, shapes.URL_MARK.encode()):
        match = shapes.URL_CREDENTIALS.match(scan.text, index)
        if match is None:
            continue
        group = 1 if match[1] is not None else 2
        is_token = group == 1 or any(c.isdigit() for c in match[2])
        if is_token and not shapes.is_placeholder(match[group]) and not _is_interpolated(match[group]):
            yield match.span(group)


def _is_interpolated(value: str) -> bool:
    """Whether a URL's password is put in when the program runs, or is a port that only looks like one."""
    return any(sign in value for sign in "{}$()") or re.fullmatch(r"%\w.*|\d{2,5}[,;].*", value) is not None


def _private_keys(scan: _Scan) -> Iterator[Span]:
    for mark in (shapes.PRIVATE_KEY_MARK_TIGHT, shapes.PRIVATE_KEY_MARK):
        for index in _occurrences(scan.raw, mark.encode()):
            begin = shapes.PRIVATE_KEY_BEGIN.search(scan.text, max(0, index - 3), index + 96)
            if begin is not None:
                yield begin.end(), shapes.private_key_end(scan.text, begin.end())


def _find(text: str, strictness: Strictness, second_opinion: Detector | None) -> Iterator[Span]:
    scan = _Scan(text, text.encode("ascii", "replace"))
    yield from _private_keys(scan)
    yield from _urls(scan)
    runs = list(_token_runs(scan.raw))
    marked = _shape_lines(scan, runs)
    for start, end in marked:
        for pattern in (shapes.VENDOR_TOKEN, shapes.AZURE_KEY):
            yield from (m.span() for m in pattern.finditer(text, start, end) if not shapes.is_placeholder(m[0]))
    if strictness is not Strictness.SOURCE:
        long_worded = {scan.line(start) for start, _ in runs}
        named = _name_lines(scan)
        yield from _surrounded(scan, named, long_worded, strictness)
        marked |= named & long_worded
    if second_opinion is not None:
        for start, end in marked:
            yield from ((start + a, start + b) for a, b in second_opinion(text[start:end]))


def _surrounded(scan: _Scan, named: set[Span], long_worded: set[Span], strictness: Strictness) -> Iterator[Span]:
    """Secrets that their surroundings give away, and bare random strings where the text may hold them."""
    for start, end in named:
        value_line = _VALUE_LINE.match(scan.text, end)
        yield from named_secrets(scan.text, start, value_line.end() if value_line else end, strictness)
        yield from block_secrets(scan.text, start, end, strictness)
        yield from entry_secrets(scan.text, start, end, strictness)
        if strictness is Strictness.CONFIGURATION:
            yield from phrase_secrets(scan.text, start, end)
    lines = sorted(named)
    yield from table_secrets(scan.text, lines)
    yield from markup_secrets(scan.text, lines, strictness)
    if strictness is not Strictness.DOCUMENT:
        for start, end in long_worded:
            yield from bare_secrets(scan.text, start, end)


def _blank(text: str, spans: Iterable[Span]) -> Masked:
    """`text` with the characters of all spans masked; overlapping spans count as one secret, masked ones as none."""
    pieces: list[str] = []
    done = count = 0
    for start, end in sorted(spans):
        if end <= done or not text[start:end].strip("* \t\r\n"):
            continue
        count += start >= done
        begin = max(start, done)
        pieces += (text[done:begin], _NOT_SPACE.sub("*", text[begin:end]))
        done = end
    return Masked("".join((*pieces, text[done:])), count)


def mask(text: str, *, strictness: Strictness, second_opinion: Detector | None = None) -> Masked:
    """`text` with its secrets masked, with the same lines and columns; masking the result again changes nothing.

    `second_opinion` is asked about each marked line (a vendor's prefix, or a telling name with a word as long as a token)
    and adds spans of that line.
    """
    count = 0
    while True:
        masked = _blank(text, _find(text, strictness, second_opinion))
        if masked.count == 0:
            return Masked(text, count)
        text, count = masked.text, count + masked.count


_PRIVATE_TAG = re.compile(r"<\s{0,8}(/?)\s{0,8}private\s{0,8}>", re.IGNORECASE)
_ALONE = re.compile(r"[\s#/*;%!-]*")
"""What may stand beside a tag on its line in source code when the pair spans lines: comment signs."""


def _private_spans(text: str) -> tuple[list[Span], int]:
    """Spans from each opening tag to its closing one, tags included, and where the first unclosed one begins, or -1."""
    spans: list[Span] = []
    open_tags: list[int] = []
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[1]:
            open_tags.append(tag.start())
        elif open_tags:
            spans.append((open_tags.pop(), tag.end()))
    return spans, open_tags[0] if open_tags else -1


def strip_private(text: str) -> str:
    """`text` without what stands between `<private>` and `</private>`, tags included; an unclosed tag hides all that follows."""
    while True:
        spans, unclosed = _private_spans(text)
        if not spans and unclosed < 0:
            return text
        hidden = [*spans, (unclosed, len(text))] if unclosed >= 0 else spans
        kept: list[str] = []
        done = 0
        for start, end in sorted(hidden):
            kept.append(text[done:start])
            done = max(done, end)
        text = "".join((*kept, text[done:]))


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether only comment signs stand beside `text[start:end]` on its lines."""
    before, after = text[text.rfind("\n", 0, start) + 1 : start], text[end:].partition("\n")[0]
    return _ALONE.fullmatch(before) is not None and _ALONE.fullmatch(after) is not None


def _is_meant(text: str, span: Span) -> bool:
    """Whether a pair of tags in source code marks private text, rather than being spoken of in two places."""
    start, end = span
    if "\n" not in text[start:end]:
        return True
    opened, closed = text.find(">", start) + 1, text.rfind("<", start, end)
    return _is_alone(text, start, opened) and _is_alone(text, closed, end)


def blank_private(text: str, *, is_source: bool) -> str:
    """`text` with closed private spans masked in place, so that lines and columns stay; an unclosed tag hides nothing.

    For files: a program that only mentions the tags must not lose the code between. In source code a pair therefore
    stands on one line, or each tag alone on its own.
    """
    if "private" not in text.lower():
        return text
    return _blank(text, (span for span in _private_spans(text)[0] if not is_source or _is_meant(text, span))).text
