"""Prompts: reserves first, working memory next, then the bundle, all counted as rendered."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tenure.code.masking import mask_free_text
from tenure.core import prompts, token_budget
from tenure.core.context import ContextBundle, RetrieveOptions
from tenure.ports.models import TokenCounter
from tenure.retrieval.service import RetrievalService

WorkingMemoryOf = Callable[[str, str, str | None], Awaitable[prompts.WorkingMemory]]
"""(workspace id, session id, reader) to what the session is about; `RecordNotFound` for a session of somebody else."""


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """Messages, their exact token count, and the bundle inside."""

    messages: list[dict[str, str]]
    token_count: int
    bundle: ContextBundle


class PromptService:
    """Builds prompts for one workspace's questions."""

    def __init__(self, retrieval: RetrievalService, tokens: TokenCounter, working_memory: WorkingMemoryOf) -> None:
        self._retrieval = retrieval
        self._tokens = tokens
        self._working_memory = working_memory

    async def build(
        self,
        workspace_id: str,
        query: str,
        options: RetrieveOptions,
        history_tokens: int = 0,
        tool_tokens: int = 0,
        reader: str | None = None,
    ) -> BuiltPrompt:
        """The prompt for a query, secrets in it masked. Request, history and tools are charged to `max_tokens` first,
        working memory takes at most a quarter of the rest. `reader` is the principal who asks, None for the person at
        this machine.

        Raises what `retrieve` raises, `RecordNotFound` for a session that the reader did not begin, and `InvalidInput`
        if the reserves alone don't fit.
        """
        request = mask_free_text(query)
        reserves = token_budget.Reserves(self._tokens.count(request), history_tokens, tool_tokens)
        left = token_budget.context_tokens(options.max_tokens, reserves)
        lines = await self._lines(workspace_id, options.session_id, reader, left)
        used = self._tokens.count("\n".join(lines))
        bundle = await self._retrieval.retrieve(workspace_id, query, replace(options, max_tokens=left - used))
        messages = prompts.build_prompt(prompts.PromptParts(request=request, items=bundle.items, working=lines))
        count = sum(self._tokens.count(message["content"]) for message in messages)
        return BuiltPrompt(messages, count, bundle)

    async def _lines(self, workspace_id: str, session_id: str | None, reader: str | None, left: int) -> tuple[str, ...]:
        if session_id is None:
            return ()
        lines = prompts.working_lines(await self._working_memory(workspace_id, session_id, reader))
        sized = [token_budget.Sized(str(n), self._tokens.count(line) + 1) for n, line in enumerate(lines)]
        taken = token_budget.allocate({}, sized, left).working
        return tuple(lines[int(key)] for key in taken)
