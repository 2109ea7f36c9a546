"""What is wrong with a configuration, in words: the key, where it came from, the nearest known name. Never the value."""

import difflib
from collections.abc import Sequence
from typing import NoReturn

from pydantic import ValidationError

from tenure.core.errors import InvalidInput


class Origins:
    """Remembers which settings came from the environment or a flag; all others stand in the file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._of: dict[str, str] = {}

    def note(self, key: str, origin: str) -> None:
        """Say where a setting came from."""
        self._of[key] = origin

    def of(self, key: str) -> str:
        """Where it came from; an entry of a list comes from where the list does, a section from what was put in it."""
        related = (
            o for known, o in self._of.items() if f"{key}.".startswith(f"{known}.") or known.startswith(f"{key}.")
        )
        return next(related, self._file)


def explain(error: ValidationError, known: Sequence[str], origins: Origins) -> str:
    """One sentence for everything that pydantic found."""
    problems = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            problems.append(f"unknown setting {key!r} from {origins.of(key)}{nearest(key, known)}")
        else:
            reason = problem["msg"].removeprefix("Value error, ")
            problems.append(f"setting {key!r} from {origins.of(key)}: {reason}")
    return "the configuration is not valid: " + "; ".join(problems)


def refuse_unknown_variable(variable: str, known: Sequence[str]) -> NoReturn:
    """`InvalidInput` for a variable with our prefix that says nothing."""
    raise InvalidInput(f"unknown environment variable {variable}{nearest(variable, known)}")


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint at what may have been meant, or nothing."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
