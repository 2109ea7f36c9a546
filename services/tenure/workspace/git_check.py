"""Whether git answers, without opening a store."""

import asyncio
from typing import Any

from tenure.core.errors import TenureError
from tenure.runtime.bootstrap import git_repository
from tenure.runtime.settings import Settings


def check_git(settings: Settings) -> dict[str, Any]:
    """Whether git answers. A home inside a repository would be indexed with it."""
    try:
        found = asyncio.run(git_repository().find_root(str(settings.home)))
    except TenureError as error:
        return {"ok": False, "detail": str(error)}
    if found is None:
        return {"ok": True, "detail": "git answers"}
    return {"ok": True, "detail": f"the home lies inside the repository {found[0]}; better set TENURE_HOME elsewhere"}
