"""Prompts: reserves first, working memory next, then the bundle, all counted as rendered."""

from dataclasses import dataclass, replace

from tenure.code.masking import mask_free_text
from tenure.core import prompts, token_budget
from tenure.core.context import ContextBundle, RetrieveOptions
from tenure.ports.models import TokenCounter
from tenure.retrieval.service import RetrievalService


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """Messages, their exact token count, and the bundle inside."""

    messages: list[dict[str, str]]
    token_count: int
    bundle: ContextBundle


class PromptService:
    """Builds prompts for one workspace's questions."""

    def __init__(self, retrieval: RetrievalService, tokens: TokenCounter) -> None:
        self._retrieval = retrieval
        self._tokens = tokens

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
        rest = replace(options, session_id=None, max_tokens=left - used)
        bundle = await self._retrieval.retrieve(workspace_id, query, rest)
        messages = prompts.build_prompt(prompts.PromptParts(request=request, items=bundle.items, working=lines))
        count = sum(self._tokens.count(message["content"]) for message in messages)
        return BuiltPrompt(messages, count, bundle)

    async def _lines(self, workspace_id: str, session_id: str | None, reader: str | None, left: int) -> tuple[str, ...]:
        memory = await self._retrieval.working_memory(workspace_id, session_id, reader)
        if memory is None:
            return ()
        lines = prompts.working_lines(memory)
        sized = [token_budget.Sized(str(n), self._tokens.count(line) + 1) for n, line in enumerate(lines)]
        taken = token_budget.allocate({}, sized, left).working
        return tuple(lines[int(key)] for key in taken)
