"""Whether answers know what they know: names of the tree should be hits, questions about anything else misses."""

from collections import Counter

from tenure.code.roles import is_test_path
from tenure.core.context import RetrieveOptions
from tenure.core.memory import NodeType
from tenure.ports.records import Repository
from tenure.ports.repositories import Database
from tenure.workspace.bench.foreign import foreign_questions
from tenure.workspace.bench.report import Figure
from tenure.workspace.facade import Tenure

ASKED = 50
"""Names, and foreign questions."""
_SEED = 7878
_MIN_SYMBOL_CHARS = 5
"""Shorter names are words of every language."""


async def symbols(database: Database, repository: Repository, count: int) -> list[str]:
    """Names of definitions outside of tests, evenly drawn from those that occur once."""
    async with database.reading(repository.workspace_id) as work:
        names = [
            node.title.rpartition(".")[2]
            async for node in work.nodes.export(repository.id)
            if node.type in {NodeType.CLASS, NodeType.FUNCTION} and not is_test_path(node.source.path or "")
        ]
    once = sorted(name for name, times in Counter(names).items() if times == 1 and len(name) > _MIN_SYMBOL_CHARS)
    return once[:: max(1, len(once) // count)][:count]


async def verdicts(tenure: Tenure, repository: Repository) -> dict[str, Figure]:
    """How many of `ASKED` names of the tree are hits, how many have their definition first, and how many foreign
    questions are misses.
    """
    names = await symbols(tenure.infrastructure.database, repository, ASKED)
    hits = first = misses = 0
    for name in names:
        bundle = await tenure.retrieval.retrieve(repository.workspace_id, name, RetrieveOptions())
        hits += bundle.result == "hit"
        first += bool(bundle.items) and bundle.items[0].title.rpartition(".")[2] == name
    foreign = foreign_questions(ASKED, _SEED)
    for question in foreign:
        bundle = await tenure.retrieval.retrieve(repository.workspace_id, question, RetrieveOptions())
        misses += bundle.result == "miss"
    return {
        "names": len(names),
        "names_hit": hits,
        "names_first": first,
        "foreign": len(foreign),
        "foreign_missed": misses,
    }
