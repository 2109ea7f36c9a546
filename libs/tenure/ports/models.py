"""Models that turn text into numbers."""

from collections.abc import Sequence
from typing import Protocol

from tenure.ports.vector_store import Dense


class Embedder(Protocol):
    """Text to unit vectors of one fixed dimension.

    `name` stamps the vectors: vectors of different names never meet in one store.
    Raises `StoreUnavailable` when the model can't be reached for a passing reason, `InvalidInput` when it
    refuses a text for good; the texts of one call succeed or fail together.
    """

    @property
    def name(self) -> str:
        """Model name and variant, e.g. `minilm-l6-v2-int8@256`."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that the model reads; what lies behind is cut."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Dense]:
        """One unit vector (float32) per text, in order. No text may be empty."""
        ...

    async def embed_query(self, text: str) -> Dense:
        """The vector of a query, interactive: it does not wait behind a running `embed` of documents."""
        ...

    async def check(self) -> str:
        """One line that says what answers; raises `StoreUnavailable` if nothing does.

        Loads nothing: a model that is loaded with the first text is well before, if what it is loaded from is there.
        """
        ...

    async def close(self) -> None:
        """Release the model."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as the configured encoding does. Pure and thread-safe."""

    @property
    def encoding(self) -> str:
        """Name of the encoding, e.g. `o200k_base`."""
        ...

    @property
    def is_estimate(self) -> bool:
        """True where no offline tokenizer exists for the model."""
        ...

    def count(self, text: str) -> int:
        """Exact number of tokens of any text, 0 for the empty one."""
        ...
