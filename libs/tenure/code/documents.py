"""Documents in sections: where the headings of a text stand, by the rules of its markup."""

import re
from dataclasses import dataclass

_MARKDOWN_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*?))?[ \t]*+#*+[ \t]*+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*+")
_ASCIIDOC_HEADING = re.compile(r"(={1,6})[ \t]+(\S.*)")
_ORG_HEADING = re.compile(r"(\*{1,8})[ \t]+(\S.*)")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*+")
"""A reStructuredText underline: one punctuation mark, at least three times."""

_NOT_A_TITLE = re.compile(r"[ \t]|\.\. |[-*+>|] |:\w")
"""How a paragraph, list, directive or field begins: a line of dashes below it is no underline of a heading."""

MAX_TITLE = 160
"""Characters of a heading that count; behind them it is a paragraph."""

MAX_SECTIONS = 5_000
"""Headings of one file; what follows the last belongs to it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text up to the next one. Lines count from 1, inclusive; `parents` are the enclosing titles."""

    title: str
    parents: tuple[str, ...]
    first_line: int
    last_line: int

    @property
    def qualified_name(self) -> str:
        """The titles on the way, joined by ` > `."""
        return " > ".join((*self.parents, self.title))


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str


def sections(language: str, lines: list[str]) -> list[Section]:
    """The sections of a document in order; empty if its language has no headings or the text none."""
    finder = _FINDERS.get(language)
    if finder is None:
        return []
    headings = [heading for heading in finder(lines) if heading.title][:MAX_SECTIONS]
    found = []
    above: list[_Heading] = []
    for number, heading in enumerate(headings):
        while above and above[-1].level >= heading.level:
            above.pop()
        last = headings[number + 1].line - 1 if number + 1 < len(headings) else len(lines)
        found.append(Section(heading.title, tuple(parent.title for parent in above), heading.line, last))
        above.append(heading)
    return found


def block_rows(lines: list[str]) -> dict[int, int]:
    """{row: 0} of the rows (from 0) at which a block begins: behind a blank line."""
    return {row: 0 for row in range(1, len(lines)) if lines[row].strip() and not lines[row - 1].strip()}


def _markdown(lines: list[str]) -> list[_Heading]:
    found: list[_Heading] = []
    fence = ""
    start = _behind_front_matter(lines)
    for row in range(start, len(lines)):
        line = lines[row]
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark is not None:
            fence = mark[1]
            continue
        heading = _markdown_heading(lines, row, start)
        if heading is not None:
            found.append(heading)
    return found


def _markdown_heading(lines: list[str], row: int, start: int) -> _Heading | None:
    line = lines[row]
    if "#" in line[:4]:
        match = _MARKDOWN_HEADING.fullmatch(line)
        if match is not None:
            return _Heading(row + 1, len(match[1]), _title(match[2] or ""))
    if row > start and line.lstrip(" ")[:1] in ("=", "-"):
        match = _SETEXT.fullmatch(line)
        above = lines[row - 1]
        is_title = above.strip() and not _NOT_A_TITLE.match(above) and not above.startswith(("#", "```"))
        if match is not None and is_title and (row < start + 2 or not lines[row - 2].strip()):
            return _Heading(row, 1 if match[1][0] == "=" else 2, _title(above))
    return None


def _behind_front_matter(lines: list[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    for row in range(1, min(len(lines), 200)):
        if lines[row].rstrip() in ("---", "..."):
            return row + 1
    return 0


def _restructured(lines: list[str]) -> list[_Heading]:
    found: list[_Heading] = []
    levels: dict[str, int] = {}
    for row in range(1, len(lines)):
        match = _ADORNMENT.fullmatch(lines[row]) if lines[row][:1] and not lines[row][0].isalnum() else None
        title = lines[row - 1]
        if match is None or not title.strip() or _ADORNMENT.fullmatch(title):
            continue
        width, over = len(lines[row].rstrip()), row > 1 and lines[row - 2].rstrip() == lines[row].rstrip()
        if len(title.strip()) > width + 2 or (not over and _NOT_A_TITLE.match(title)):
            continue
        level = levels.setdefault(f"{match[1]}{over}", len(levels) + 1)
        found.append(_Heading(row - 1 if over else row, level, _title(title)))
    return found


def _marked(pattern: re.Pattern[str], lines: list[str]) -> list[_Heading]:
    found = []
    for row, line in enumerate(lines):
        match = pattern.fullmatch(line)
        if match is not None:
            found.append(_Heading(row + 1, len(match[1]), _title(match[2])))
    return found


def _asciidoc(lines: list[str]) -> list[_Heading]:
    return _marked(_ASCIIDOC_HEADING, lines)


def _org(lines: list[str]) -> list[_Heading]:
    return _marked(_ORG_HEADING, lines)


def _title(raw: str) -> str:
    return " ".join(raw.split())[:MAX_TITLE]


_FINDERS = {
    "markdown": _markdown,
    "rst": _restructured,
    "text": _restructured,
    "asciidoc": _asciidoc,
    "org": _org,
}
