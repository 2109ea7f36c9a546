"""A line of a `.gitignore` as a regular expression that matches what git's wildmatch matches, byte by byte.

Git compares bytes: `?` and a bracket match one byte, so `é` in UTF-8 takes two. Paths and lines are therefore strings in
which each character stands for one byte (`bytes_of`). The rules are those of git 2.39's `dir.c` and `wildmatch.c`.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

_SPECIAL = "*?[\\"
_NEVER = "(?!)"
_ANY_BYTE = range(256)
_SPACES = " \t\n\r"
"""Git's own idea of white space, without form feed and vertical tab."""
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda sign: sign in " \t",
    "cntrl": lambda sign: sign < " " or sign == "\x7f",
    "digit": str.isdigit,
    "graph": lambda sign: "!" <= sign <= "~",
    "lower": str.islower,
    "print": lambda sign: " " <= sign <= "~",
    "punct": lambda sign: "!" <= sign <= "~" and not sign.isalnum(),
    "space": lambda sign: sign in _SPACES,
    "upper": str.isupper,
    "xdigit": lambda sign: sign in "0123456789abcdefABCDEF",
}
"""POSIX classes, for ASCII alone."""
_FOLDERS = r"(?:[^/]*+/)"


def bytes_of(text: str) -> str:
    """`text` with one character for each byte that it has on disk."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a line means: `regex` matches a whole name if `is_name`, else a whole path from the ignore file's folder on."""

    regex: str
    is_name: bool
    is_for_folders: bool
    is_ignoring: bool


def pattern_of(line: str) -> Pattern | None:
    """The pattern of a line without its end, in bytes (`bytes_of`); None for a comment and for what matches nothing."""
    glob = "" if line.startswith("#") else _without_trailing_spaces(line.partition("\0")[0])
    is_ignoring = not glob.startswith("!")
    glob = glob if is_ignoring else glob[1:]
    is_for_folders = glob.endswith("/")
    glob = glob[:-1] if is_for_folders else glob
    if not glob:
        return None
    is_name = "/" not in glob
    regex = _regex(glob, is_path=False) if is_name else _path_regex(glob.removeprefix("/"))
    return None if regex is None else Pattern(regex, is_name, is_for_folders, is_ignoring)


def _without_trailing_spaces(line: str) -> str:
    """The line without the spaces at its end, of which a backslash keeps one."""
    end = index = 0
    while index < len(line):
        if line[index] == "\\":
            if index + 1 == len(line):
                return line
            index += 1
            end = index + 1
        elif line[index] != " ":
            end = index + 1
        index += 1
    return line[:end]


def _path_regex(glob: str) -> str | None:
    """As git does, what stands before the first wildcard is compared first, and the rest is a pattern of its own."""
    first = next((index for index, sign in enumerate(glob) if sign in _SPECIAL), len(glob))
    rest = _regex(glob[first:], is_path=True)
    return None if rest is None else re.escape(glob[:first]) + rest


def _regex(glob: str, *, is_path: bool) -> str | None:
    """The expression for a glob; None if nothing matches it: an open bracket, an unknown class, a backslash at the end."""
    any_byte = "[^/]" if is_path else "."
    parts, jumps = [""], [""]
    index = 0
    while index < len(glob):
        sign = glob[index]
        if sign == "*":
            end = index + len(glob[index:]) - len(glob[index:].lstrip("*"))
            jump = _jump(glob, index, end) if is_path and end - index > 1 else ""
            if jump and end < len(glob):
                parts.append("")
                jumps.append(jump)
                end += 1 if jump == "*" else 2
            else:
                parts[-1] += ".*" if jump else f"{any_byte}*"
            index = end
        elif sign == "[":
            found = _bracket(glob, index + 1)
            if found is None:
                return None
            parts[-1] += _set(found[0], is_path=is_path)
            index = found[1]
        elif sign == "\\" and index + 1 == len(glob):
            return None
        else:
            index += sign == "\\"
            parts[-1] += any_byte if sign == "?" else re.escape(glob[index])
            index += 1
    return _joined(parts, jumps)


def _jump(glob: str, start: int, end: int) -> str:
    """How often the stars `glob[start:end]` may pass folders: '*', '+' before a slash with a backslash, '' never."""
    if start > 0 and glob[start - 1] != "/":
        return ""
    if end == len(glob) or glob[end] == "/":
        return "*"
    return "+" if glob.startswith("\\/", end) else ""


def _joined(parts: list[str], jumps: list[str]) -> str:
    """All but the last part hold on to the first place where they match, so that many jumps cost no more than one."""
    *inner, last = zip(jumps, parts, strict=True)
    held = (f"(?>{_FOLDERS}{jump}?{part})" if jump else part for jump, part in inner)
    return "".join(held) + (f"{_FOLDERS}{last[0]}" if last[0] else "") + last[1]


def _set(signs: frozenset[int], *, is_path: bool) -> str:
    allowed = signs - {ord("/")} if is_path else signs
    return "[" + "".join(f"\\x{sign:02x}" for sign in sorted(allowed)) + "]" if allowed else _NEVER


def _bracket(glob: str, index: int) -> tuple[frozenset[int], int] | None:
    """The bytes in the bracket that opens before `index`, and where it ends; None if it is not closed."""
    is_negated = glob[index : index + 1] in ("!", "^")
    index += is_negated
    first, before = index, ""
    found: set[int] = set()
    while index < len(glob) and (glob[index] != "]" or index == first):
        sign = glob[index]
        if glob.startswith("[:", index):
            closed = glob.find("]", index + 2)
            if closed < 0:
                return None
            if closed > index + 2 and glob[closed - 1] == ":":
                is_in_class = _CLASSES.get(glob[index + 2 : closed - 1])
                if is_in_class is None:
                    return None
                found.update(byte for byte in range(128) if is_in_class(chr(byte)))
                index, before = closed + 1, ""
                continue
        is_range = sign == "-" and before and index + 1 < len(glob) and glob[index + 1] != "]"
        index += bool(is_range)
        if glob[index] == "\\":
            index += 1
            if index == len(glob):
                return None
        found.update(range(ord(before), ord(glob[index]) + 1) if is_range else (ord(glob[index]),))
        before = "" if is_range else glob[index]
        index += 1
    if index >= len(glob):
        return None
    return frozenset(_ANY_BYTE).difference(found) if is_negated else frozenset(found), index + 1
