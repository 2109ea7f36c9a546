"""Bytes to text: any file that holds text is read, and what had to be guessed is said."""

import codecs
import re
from dataclasses import dataclass

import charset_normalizer

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_COOKIE = re.compile(rb"[ \t\f]*+#[^\n]*?coding[:=][ \t]*+([-\w.]++)")
_COOKIE_LINES = 2
"""PEP 263: the cookie stands in the first or second line."""

_UNSAFE_CODECS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})
"""Codecs that rewrite text or take quadratic time; no source file is in them."""

_CONTROL = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27})
"""Bytes that text does not contain: control characters but for back space, tab, line ends, form feed and escape."""

BINARY_CONTROL_SHARE = 0.05
"""A file with a larger share of such bytes is binary: compressed data has 10 %, a source file with stray NULs far less."""

_STRAY_CONTROLS = 8
_SHORT_CONTROL_SHARE = 0.3
"""A short text may have a few stray control characters, which are then more than that share of it."""

_MAGIC = (
    b"\x7fELF", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"PK\x03\x04", b"%PDF-", b"\x1f\x8b", b"BZh", b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"\xde\x12\x04\x95", b"\x95\x04\x12\xde", b"SQLite format 3\0",
    b"\xca\xfe\xba\xbe", b"wOFF", b"wOF2", b"OTTO", b"\0\x01\0\0", b"\0\0\x01\0", b"\0asm", b"!<arch>\n",
)  # fmt: skip
"""How well-known binary formats begin."""

_SNIFF_BYTES = 64 * 1024
"""Bytes from which binary files and unknown encodings are told: the result depends on nothing behind them."""

_WIDE_NUL_SHARE = 0.6
"""UTF-16 without a mark: at least this share of every second byte is NUL, and almost none of the others."""

_MAX_BAD_SHARE = 0.01
"""Text with fewer broken bytes than this (and other good multi-byte characters) is damaged UTF-8, not another encoding."""

_WESTERN_SHARE = 0.1
"""With fewer bytes than this outside ASCII a text is in a western language: too few to tell encodings by statistics."""

_ASCII = bytes(range(128))

BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text with LF line ends, no NUL and no mark, that encodes to UTF-8; `reason` says what was guessed or removed.

    `refusal` is set instead when the bytes are no text.
    """

    text: str
    encoding: str
    reason: str = ""
    refusal: str = ""


def decode(raw: bytes, honours_cookie: bool) -> Decoded:
    """The text of a file; never raises. `honours_cookie` for languages with an encoding declaration (PEP 263)."""
    body, encoding, reason = raw, "", ""
    for mark, name in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            body, encoding = raw[len(mark) :], name
            break
    encoding = encoding or _wide_without_mark(body)
    if not encoding.startswith(("utf-16", "utf-32")) and _is_binary(body):
        return Decoded("", "", refusal=BINARY)
    if encoding:
        text, reason = _decode_as(body, encoding)
    else:
        text, encoding, reason = _decode_by_content(body, honours_cookie)
    return _cleaned(text, encoding, reason)


def _cleaned(text: str, encoding: str, reason: str) -> Decoded:
    text = text.lstrip("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
        reason = _joined(reason, "NUL characters removed")
    if not encoding.startswith("utf-8"):
        text = text.encode("utf-8", "replace").decode("utf-8")
    return Decoded(text, encoding, reason)


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _is_binary(body: bytes) -> bool:
    sample = body[:_SNIFF_BYTES]
    if not sample or sample.startswith(_MAGIC):
        return bool(sample)
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    share = controls / len(sample)
    return share > BINARY_CONTROL_SHARE and (controls > _STRAY_CONTROLS or share > _SHORT_CONTROL_SHARE)


def _wide_without_mark(body: bytes) -> str:
    sample = body[: _SNIFF_BYTES & ~1]
    half = len(sample) // 2
    if half < 2 or b"\0" not in sample:
        return ""
    low, high = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if high >= _WIDE_NUL_SHARE and low < 1 - _WIDE_NUL_SHARE:
        return "utf-16-le"
    if low >= _WIDE_NUL_SHARE and high < 1 - _WIDE_NUL_SHARE:
        return "utf-16-be"
    return ""


def _decode_as(body: bytes, encoding: str) -> tuple[str, str]:
    try:
        return body.decode(encoding), ""
    except (UnicodeError, ValueError) as error:
        return body.decode(encoding, "replace"), f"broken {encoding} replaced: {_place(error)}"


def _place(error: Exception) -> str:
    return f"first at byte {error.start}" if isinstance(error, UnicodeDecodeError) else "text cut short"


def _cookie(body: bytes) -> str:
    for line in body[:1024].splitlines()[:_COOKIE_LINES]:
        match = _COOKIE.match(line)
        if match is not None:
            return match[1].decode("ascii", "replace")
        if line.strip(b" \t\f") and not line.lstrip(b" \t\f").startswith(b"#"):
            break
    return ""


def _safe_codec(cookie: str) -> str:
    """The codec that a cookie names, '' if there is none or it is not one for source files."""
    try:
        name = codecs.lookup(cookie).name
    except (LookupError, ValueError):
        return ""
    return "" if name.replace("-", "_") in _UNSAFE_CODECS else name


def _decode_by_content(body: bytes, honours_cookie: bool) -> tuple[str, str, str]:
    """(text, encoding, reason) by cookie, else UTF-8, else a guess."""
    cookie = _cookie(body) if honours_cookie else ""
    reason = ""
    if cookie:
        name = _safe_codec(cookie)
        try:
            if name:
                return body.decode(name), name, ""
            reason = f"unknown encoding {cookie!r} declared"
        except (ValueError, LookupError):
            reason = f"not in the declared encoding {cookie!r}"
    try:
        return body.decode("utf-8"), "utf-8", reason
    except UnicodeDecodeError as error:
        first = error
    text, encoding, guess = _guessed(body, first)
    return text, encoding, _joined(reason, guess)


def _guessed(body: bytes, first: UnicodeDecodeError) -> tuple[str, str, str]:
    damaged = body.decode("utf-8", "replace")
    bad = damaged.count("\ufffd")
    good = sum(byte >= 0xC2 for byte in body[:_SNIFF_BYTES]) - bad
    is_cut_at_end = first.end >= len(body) and first.reason == "unexpected end of data"
    if is_cut_at_end or (good > bad and bad <= max(1, _MAX_BAD_SHARE * len(damaged))):
        line = body.count(b"\n", 0, first.start) + 1
        return damaged, "utf-8", f"encoding guessed: UTF-8 with broken bytes replaced, first at line {line}"
    foreign = len(body[:_SNIFF_BYTES].translate(None, _ASCII))
    if foreign < _WESTERN_SHARE * len(body[:_SNIFF_BYTES]):
        try:
            return body.decode("cp1252"), "cp1252", "encoding guessed: cp1252"
        except ValueError:
            pass
    best = charset_normalizer.from_bytes(body[:_SNIFF_BYTES], steps=5, chunk_size=512).best()
    for name in (best.encoding if best is not None else "", "cp1252"):
        if not name or name == "utf_8" or name in _UNSAFE_CODECS:
            continue
        try:
            return body.decode(name), name, f"encoding guessed: {name}"
        except ValueError:
            continue
    return body.decode("latin-1"), "latin-1", "encoding guessed: latin-1"
