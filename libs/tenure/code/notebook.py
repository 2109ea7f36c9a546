"""Notebooks as plain Python: code and Markdown cells in order, outputs dropped."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CELL_MARK = "# %%"
"""The line before a code cell, as editors write notebooks in scripts; ` [markdown]` follows for a Markdown cell."""

_MAGIC = re.compile(r"[ \t]*+[%!?]|[ \t]*+\w[\w.]*+\?{1,2}[ \t]*+$")
"""Lines for the notebook's shell, which are no Python."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """The text of a notebook, one mark line before each cell. `is_python` tells whether code cells are Python."""

    text: str
    is_python: bool


def read(text: str) -> Notebook | None:
    """The notebook in this JSON, None if it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = _cells(document)
    if cells is None:
        return None
    language = _language(document)
    is_python = language in ("", "python", "ipython")
    rendered = "".join(_rendered(cell, is_python) for cell in cells)
    return Notebook(rendered.encode("utf-8", "replace").decode("utf-8"), is_python)  # JSON can spell lone surrogates


def cell_rows(lines: list[str]) -> dict[int, int]:
    """{row: 0} of the rows (from 0) at which a cell begins."""
    return {row: 0 for row, line in enumerate(lines) if line.startswith(CELL_MARK)}


def _cells(document: object) -> Sequence[object] | None:
    """The cells of version 4, or of the first worksheet of version 3."""
    if not isinstance(document, Mapping):
        return None
    cells = document.get("cells")
    if cells is None:
        sheets = document.get("worksheets")
        first = sheets[0] if isinstance(sheets, list) and sheets else None
        cells = first.get("cells") if isinstance(first, Mapping) else None
    return cells if isinstance(cells, list) else None


def _language(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    for key in ("kernelspec", "language_info"):
        part = metadata.get(key) if isinstance(metadata, Mapping) else None
        name = (part.get("language") or part.get("name")) if isinstance(part, Mapping) else None
        if isinstance(name, str):
            return re.sub(r"[\d.]+$", "", name.lower())
    return ""


def _rendered(cell: object, is_python: bool) -> str:
    if not isinstance(cell, Mapping):
        return ""
    raw = cell.get("source", cell.get("input", ""))
    source = "".join(part for part in raw if isinstance(part, str)) if isinstance(raw, list) else raw
    if not isinstance(source, str) or not source.strip():
        return ""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").rstrip("\n").split("\n")
    if cell.get("cell_type") != "code":
        return "\n".join((f"{CELL_MARK} [markdown]", *(f"# {line}".rstrip() for line in lines), "", ""))
    if is_python and lines[0].startswith("%%"):
        lines = [f"# {line}" for line in lines]
    elif is_python:
        lines = [f"# {line}" if _MAGIC.match(line) else line for line in lines]
    return "\n".join((CELL_MARK, *lines, "", ""))
