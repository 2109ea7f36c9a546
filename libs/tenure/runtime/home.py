"""The folder in which everything is stored."""

import os
from pathlib import Path

from tenure.core.errors import InvalidInput

_PRIVATE = 0o700
"""Only this user may look inside: the home holds source text."""


def prepare_home(home: Path) -> None:
    """Make the folder if it is missing. `InvalidInput` that names TENURE_HOME where that can't be, where nothing can be
    written in it, and inside a repository, which would index its own index.
    """
    outer = next((folder for folder in home.resolve().parents if (folder / ".git").exists()), None)
    if outer is not None:
        raise InvalidInput(f"the home {home} lies inside the repository {outer}; set TENURE_HOME to a folder outside")
    try:
        home.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    except OSError as error:
        reason = "something that is no folder stands in its place" if home.exists() else error.strerror
        raise InvalidInput(f"the home {home} can't be made: {reason}; set TENURE_HOME to another folder") from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise InvalidInput(
            f"the home {home} can't be read and written by this user; change its permissions, or set TENURE_HOME"
        )
