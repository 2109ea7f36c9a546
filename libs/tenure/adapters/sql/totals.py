"""What all workspaces hold together and what waits in them, for whoever watches the server; no row is told apart."""

from typing import Any

from sqlalchemy import func, select

from tenure.adapters.sql.schema import jobs, nodes, outbox
from tenure.adapters.sql.transaction import Transaction
from tenure.core.commands import JobState
from tenure.core.memory import MemoryKind, NodeState
from tenure.ports.records import StoredTotals


async def stored_totals(transaction: Transaction) -> StoredTotals:
    """Counted from the rows in one transaction; takes a look at every node."""
    by_kind: Any = select(nodes.c.kind, nodes.c.state, func.count().label("rows")).group_by(nodes.c.kind, nodes.c.state)
    due: Any = select(func.count(), func.min(outbox.c.position), func.max(outbox.c.position)).select_from(outbox)
    queued: Any = select(func.count(), func.min(jobs.c.created_at)).where(jobs.c.state == JobState.QUEUED.value)
    outbox_due, oldest, newest = tuple((await transaction.rows(due))[0])
    jobs_queued, oldest_job_at = tuple((await transaction.rows(queued))[0])
    return StoredTotals(
        items={(MemoryKind(row.kind), NodeState(row.state)): row.rows for row in await transaction.rows(by_kind)},
        outbox_due=outbox_due,
        oldest_outbox_position=oldest,
        newest_outbox_position=newest,
        jobs_queued=jobs_queued,
        oldest_job_at=oldest_job_at,
    )
