"""Any endpoint that answers `/v1/embeddings` as OpenAI does."""

import array
import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from tenure.core.errors import InvalidInput, StoreMismatch, StoreUnavailable
from tenure.ports.vector_store import Dense

MAX_TRIES = 3
"""Requests for one batch, the first included."""
MAX_WAIT_SECONDS = 30.0
"""The longest wait for a next try; an endpoint that asks for more is reported as unavailable instead."""
TIMEOUT_SECONDS = 30.0
"""For one request."""
MAX_BATCH_TEXTS = 256
MAX_BATCH_TOKENS = 300_000
"""What OpenAI takes in one request, over all texts."""
MIN_BYTES_PER_TOKEN = 2
"""Bytes of UTF-8 that a token holds at least, in all but odd texts: the bound is on the safe side without a tokenizer."""
MAX_TOKENS = 8191
"""What OpenAI's models read of one text."""
REFUSED = frozenset({400, 413, 422})
"""Statuses that say: this text, never."""
MISCONFIGURED = frozenset({401, 403, 404, 405})
"""Statuses that no other text would change, and no waiting."""
NOT_WELL = frozenset({401, 403, 500, 502, 503, 504})
"""Statuses that say of an endpoint that is only asked for its models that it would not embed either."""
MAX_DETAIL_CHARS = 300
_EMBEDDINGS = "/embeddings"


class _PassingFailure(StoreUnavailable):
    """A failure that another try may mend. `retry_after` is the wait that the endpoint asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OpenAIEmbedder:
    """Unit vectors from an endpoint. The API key stands in no message and in no representation.

    A batch that the endpoint refuses (400) raises `InvalidInput` for the whole call; halve the texts to find the one.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        dimension: int,
        max_tokens: int = MAX_TOKENS,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`base_url` ends in `/v1`, as OPENAI_BASE_URL does; an empty `api_key` sends none."""
        url = _endpoint(base_url)
        self._url = url.copy_with(userinfo=b"")  # the HTTP client logs the URL that it is given
        self._models = self._url.copy_with(path=self._url.path.removesuffix(_EMBEDDINGS) + "/models")
        self._api_key = api_key
        self._model = model
        self._dimension = dimension
        self._max_tokens = max_tokens
        self._sleep = sleep
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        auth = (url.username, url.password) if url.userinfo and not api_key else None
        self._client = httpx.AsyncClient(timeout=timeout_seconds, headers=headers, auth=auth)

    @property
    def name(self) -> str:
        """Model and dimension."""
        return f"{self._model}@{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector, as configured and checked."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that are sent, about."""
        return self._max_tokens

    async def embed(self, texts: Sequence[str]) -> list[Dense]:
        """One unit vector (float32) per text, in order."""
        vectors: list[Dense] = []
        for batch in _batches(self._prepared(texts)):
            vectors += await self._embed_batch(batch)
        return vectors

    async def embed_query(self, text: str) -> Dense:
        """The vector of a query, on a connection of its own."""
        return (await self.embed([text]))[0]

    async def check(self) -> str:
        """Whether the endpoint answers: it is asked for its models, which costs nothing. One without such a list is well."""
        try:
            response = await self._client.get(self._models)
        except httpx.HTTPError as error:
            detail = self._clean(str(error)) or type(error).__name__
            raise StoreUnavailable(
                f"{self._where()} can't be reached: {detail}; check embedder.base_url and the network"
            ) from error
        if response.status_code in NOT_WELL:
            raise StoreUnavailable(
                f"{self._where()} answered {response.status_code}: {self._clean(_detail(response))}; "
                "check OPENAI_API_KEY and OPENAI_BASE_URL"
            )
        return f"{self.name} at {self._url.host} answers"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _prepared(self, texts: Sequence[str]) -> list[str]:
        """The texts as valid Unicode, cut to what the model reads; `InvalidInput` if one is empty."""
        empty = next((at for at, text in enumerate(texts) if not text), None)
        if empty is not None:
            raise InvalidInput(f"text {empty + 1} of {len(texts)} is empty; there is nothing to embed")
        limit = self._max_tokens * MIN_BYTES_PER_TOKEN
        return [text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore") for text in texts]

    async def _embed_batch(self, texts: list[str]) -> list[Dense]:
        tries = AsyncRetrying(
            retry=retry_if_exception_type(_PassingFailure),
            stop=stop_after_attempt(MAX_TRIES),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        return await tries(self._request, texts)

    async def _request(self, texts: list[str]) -> list[Dense]:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        try:
            response = await self._client.post(self._url, json=body)
        except httpx.TimeoutException as error:
            raise _PassingFailure(f"{self._where()} did not answer in time; try again") from error
        except httpx.HTTPError as error:
            detail = self._clean(str(error)) or type(error).__name__
            raise _PassingFailure(
                f"{self._where()} can't be reached: {detail}; check embedder.base_url and the network"
            ) from error
        if response.status_code != httpx.codes.OK:
            raise self._failure(response)
        return self._vectors(response, len(texts))

    def _failure(self, response: httpx.Response) -> Exception:
        """What to raise for a status that is not 200."""
        status, detail = response.status_code, self._clean(_detail(response))
        said = f"{self._where()} answered {status}: {detail}"
        if status in REFUSED:
            return InvalidInput(f"{said}; leave the text out or shorten it")
        if status in MISCONFIGURED:
            return StoreUnavailable(f"{said}; check OPENAI_API_KEY, OPENAI_BASE_URL and embedder.model")
        wait = _retry_after(response.headers.get("Retry-After"))
        if wait is not None and wait > MAX_WAIT_SECONDS:
            return StoreUnavailable(f"{said}; it asks for a pause of {wait:.0f} s, try again then")
        return _PassingFailure(f"{said}; try again later", wait)

    def _vectors(self, response: httpx.Response, count: int) -> list[Dense]:
        """The reply's vectors in the order of the texts, at length 1."""
        try:
            reply = response.json()
            found = {int(row["index"]): np.asarray(row["embedding"], np.float32) for row in reply["data"]}
            vectors = [found[position] for position in range(count)]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise _PassingFailure(
                f"{self._where()} answered 200, but not with embeddings ({self._clean(str(error))}); "
                "check that embedder.base_url is an OpenAI-compatible endpoint"
            ) from error
        return [self._unit(vector) for vector in vectors]

    def _unit(self, vector: "np.ndarray[Any, np.dtype[np.float32]]") -> Dense:
        if vector.shape != (self._dimension,):
            raise StoreMismatch(
                f"the model {self._model!r} makes vectors of {vector.size} numbers, but embedder.dimension is "
                f"{self._dimension}; set embedder.dimension to {vector.size} and run `tenure reembed`"
            )
        norm = float(np.linalg.norm(vector))
        if not math.isfinite(norm) or norm == 0.0:
            raise InvalidInput(f"the model {self._model!r} made a vector without direction; leave the text out")
        return array.array("f", (vector / np.float32(norm)).tobytes())

    def _where(self) -> str:
        """The endpoint without what may be secret in its URL."""
        port = f":{self._url.port}" if self._url.port else ""
        return f"the embedding endpoint {self._url.scheme}://{self._url.host}{port}{self._url.path}"

    def _clean(self, text: str) -> str:
        """One bounded line without the API key."""
        line = " ".join(text.split())
        if self._api_key:
            line = line.replace(self._api_key, "***")
        return line[:MAX_DETAIL_CHARS]


def _endpoint(base_url: str) -> httpx.URL:
    """Where embeddings are asked for; `InvalidInput` if that is no address."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise InvalidInput("embedder.base_url is not a URL; set it like https://host/v1") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidInput("embedder.base_url is not an http(s) URL; set it like https://host/v1")
    return url.copy_with(path=url.path.rstrip("/") + _EMBEDDINGS)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in batches of at most `MAX_BATCH_TEXTS` and about `MAX_BATCH_TOKENS`."""
    batch: list[str] = []
    size = 0
    for text in texts:
        tokens = len(text.encode("utf-8")) // MIN_BYTES_PER_TOKEN + 1
        if batch and (len(batch) == MAX_BATCH_TEXTS or size + tokens > MAX_BATCH_TOKENS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += tokens
    if batch:
        yield batch


_BACKOFF = wait_random_exponential(multiplier=0.5, max=MAX_WAIT_SECONDS)


def _wait(state: RetryCallState) -> float:
    """The wait that the endpoint asked for, else a random one that grows."""
    failure = state.outcome.exception() if state.outcome is not None else None
    if isinstance(failure, _PassingFailure) and failure.retry_after is not None:
        return failure.retry_after
    return _BACKOFF(state)


def _retry_after(header: str | None) -> float | None:
    """Seconds from a `Retry-After` header, which holds seconds or a date; None if it holds neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _detail(response: httpx.Response) -> str:
    """The endpoint's own words, from the usual place of an error reply or else its text."""
    try:
        message = response.json()["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return response.text
    return str(message)
