"""What processes of a pool run in tests; importable by name from a spawned one."""

import os
from collections.abc import Sequence

from tenure.code.model import PreparedFile, PrepareRequest
from tenure.ports.records import LeftOut

DEADLY = "deadly.py"
"""The process that gets this path ends at once."""


def with_process(requests: Sequence[PrepareRequest]) -> list[PreparedFile]:
    """Every file left out, with the process that had it as the reason."""
    if any(request.candidate.path == DEADLY for request in requests):
        os._exit(1)
    reason = str(os.getpid())
    return [
        PreparedFile(path, None, left_out=LeftOut(path, reason))
        for path in (request.candidate.path for request in requests)
    ]
