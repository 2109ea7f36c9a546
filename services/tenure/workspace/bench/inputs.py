"""Files of records and folders of clones, as benchmarks take them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenure.core.errors import InvalidInput


def read_rows(file: Path, fields: Sequence[str]) -> list[dict[str, Any]]:
    """The records of a file of JSON lines. `InvalidInput` names the line that is no record with these fields."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} can't be read as UTF-8 text: {error}") from error
    rows = [_row(file, number, line, fields) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise InvalidInput(f"{file} holds no record; give a file with one JSON object a line")
    return rows


def clone_of(folder: Path, repository: str) -> str:
    """The bare clone of `owner/name` below a folder: `owner+name/repo`, or SWE-bench's copy of it."""
    owner, _, name = repository.partition("/")
    places = [folder / f"{owner}+{name}" / "repo", folder / f"swe-bench+{owner}__{name}" / "repo"]
    for place in places:
        if (place / "HEAD").is_file():
            return str(place.resolve())
    raise InvalidInput(f"no bare clone of {repository} in {folder}; looked at {' and '.join(map(str, places))}")


def _row(file: Path, number: int, line: str, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{file}, line {number} is not JSON: {error}") from error
    missing = [field for field in fields if field not in row] if isinstance(row, dict) else list(fields)
    if missing:
        raise InvalidInput(f"{file}, line {number} lacks the fields {', '.join(missing)}")
    return dict(row)
