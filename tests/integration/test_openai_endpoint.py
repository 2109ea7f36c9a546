"""The OpenAI-compatible embedder against an endpoint that misbehaves."""

import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import pytest_asyncio

from tenure.adapters.openai import MAX_BATCH_TEXTS, MAX_BATCH_TOKENS, MAX_TRIES, MAX_WAIT_SECONDS, OpenAIEmbedder
from tenure.core.errors import InvalidInput, StoreMismatch, StoreUnavailable, TenureError
from tests.support.embedding_endpoint import DIMENSION, EmbeddingEndpoint, Reply, embedding_endpoint

KEY = "sk-not-a-real-key-of-these-tests"
Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
def endpoint() -> Iterator[EmbeddingEndpoint]:
    with embedding_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def pauses() -> list[float]:
    """The pauses between tries, which the tests don't sit out."""
    return []


@pytest_asyncio.fixture
async def make(endpoint: EmbeddingEndpoint, pauses: list[float]) -> AsyncIterator[Make]:
    made: list[OpenAIEmbedder] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    def make_embedder(**changes) -> OpenAIEmbedder:
        options = {"base_url": endpoint.url, "api_key": KEY, "model": "small", "dimension": DIMENSION, "sleep": pause}
        made.append(OpenAIEmbedder(**options | changes))
        return made[-1]

    yield make_embedder
    for embedder in made:
        await embedder.close()


async def test_the_key_and_the_model_are_sent(make, endpoint):
    await make().embed(["one", "two"])
    assert endpoint.authorizations == [f"Bearer {KEY}"]
    assert (endpoint.requests[0]["model"], endpoint.requests[0]["input"]) == ("small", ["one", "two"])


async def test_a_look_asks_for_the_models_and_embeds_nothing(make, endpoint):
    assert "answers" in await make().check()
    endpoint.script = [Reply(404, b"no such page")]
    assert "answers" in await make().check()
    assert endpoint.looked_at == ["/v1/models"] * 2
    assert endpoint.requests == []


@pytest.mark.parametrize("status", [401, 403, 503])
async def test_a_look_at_an_endpoint_that_would_not_embed_says_so_without_the_key(make, endpoint, status):
    endpoint.script = [Reply(status, f"no, {KEY}".encode())]
    with pytest.raises(StoreUnavailable, match=f"answered {status}: no, .*check OPENAI_API_KEY") as caught:
        await make().check()
    assert KEY not in str(caught.value)


async def test_a_look_at_an_address_where_nothing_listens_says_so(make):
    with pytest.raises(StoreUnavailable, match=r"can't be reached: .*check embedder\.base_url"):
        await make(base_url="http://127.0.0.1:9/v1").check()


async def test_a_user_in_the_address_is_sent_when_there_is_no_key(make, endpoint):
    await make(api_key="", base_url=endpoint.url.replace("http://", "http://ada:secret@") + "/").embed(["one"])
    assert endpoint.authorizations == ["Basic YWRhOnNlY3JldA=="]


async def test_no_key_sends_no_header(make, endpoint):
    await make(api_key="").embed(["one"])
    assert endpoint.authorizations == [None]


async def test_a_pause_that_the_endpoint_asks_for_is_kept(make, endpoint, pauses):
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    endpoint.script = [Reply(429, b"slow down", {"Retry-After": "7"}), Reply(503, b"", {"Retry-After": at})]
    assert len(await make().embed(["one"])) == 1
    assert pauses[0] == 7
    assert 10 < pauses[1] <= 20


async def test_a_pause_that_is_too_long_is_reported_instead(make, endpoint, pauses):
    endpoint.script = [Reply(429, b"", {"Retry-After": "3600"})]
    with pytest.raises(StoreUnavailable, match="3600 s"):
        await make().embed(["one"])
    assert (len(endpoint.requests), pauses) == (1, [])


@pytest.mark.parametrize("header", ["soon", "nan", "-5", ""])
async def test_a_senseless_pause_does_not_stop_the_tries(make, endpoint, pauses, header):
    endpoint.script = [Reply(429, b"", {"Retry-After": header})]
    assert len(await make().embed(["one"])) == 1
    assert 0 <= pauses[0] <= MAX_WAIT_SECONDS


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_passing_failures_are_tried_a_bounded_number_of_times(make, endpoint, pauses, status):
    endpoint.script = [Reply(status, b'{"error": {"message": "out of order"}}')] * 10
    with pytest.raises(StoreUnavailable, match=f"{status}: out of order"):
        await make().embed(["one"])
    assert len(endpoint.requests) == MAX_TRIES
    assert len(pauses) == MAX_TRIES - 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_wrong_key_or_model_is_not_tried_again_and_names_the_settings(make, endpoint, status):
    endpoint.script = [Reply(status, b"no")]
    with pytest.raises(StoreUnavailable, match=r"OPENAI_API_KEY.*embedder.model"):
        await make().embed(["one"])
    assert len(endpoint.requests) == 1


async def test_a_refused_text_is_invalid_input_with_the_endpoint_s_words_and_is_sent_once(make, endpoint):
    endpoint.refused_word = "bad"
    embedder = make()
    with pytest.raises(InvalidInput, match=r"400: this text can't be embedded"):
        await embedder.embed(["good", "bad text"])
    assert len(endpoint.requests) == 1
    assert len(await embedder.embed(["good"])) == 1


async def test_another_dimension_than_configured_names_both(make, endpoint):
    endpoint.dimension = 24
    with pytest.raises(StoreMismatch, match=rf"24 numbers.*{DIMENSION}.*tenure reembed"):
        await make().embed(["one"])


BAD_REPLIES = [
    b"<html>gateway</html>",
    b"",
    b"\xff\xfe",
    b"[]",
    b"null",
    b'{"data": null}',
    b'{"data": []}',
    b'{"data": [{"index": 0}]}',
    b'{"data": [{"index": 1, "embedding": [1.0]}]}',
    b'{"data": [{"index": "x", "embedding": [1.0]}]}',
    b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
    b'{"data": [{"index": 0, "embedding": [[1.0], [1.0, 2.0]]}]}',
    b"[" * 200_000,
]


@pytest.mark.parametrize("body", BAD_REPLIES, ids=range(len(BAD_REPLIES)))
async def test_a_reply_that_is_none_is_unavailable_not_empty(make, endpoint, body):
    endpoint.script = [Reply(200, body)] * MAX_TRIES
    with pytest.raises(StoreUnavailable, match="not with embeddings"):
        await make().embed(["one"])
    assert len(endpoint.requests) == MAX_TRIES


@pytest.mark.parametrize("number", ["NaN", "Infinity", "0.0"])
async def test_a_vector_without_direction_is_refused(make, endpoint, number):
    endpoint.script = [
        Reply(200, json.dumps({"data": [{"index": 0, "embedding": [0.0] * DIMENSION}]}).replace("0.0", number).encode())
    ]
    with pytest.raises(InvalidInput, match="without direction"):
        await make().embed(["one"])


async def test_an_endpoint_that_does_not_answer_in_time_is_unavailable(make, endpoint):
    endpoint.script = [Reply(hold=True)] * MAX_TRIES
    with pytest.raises(StoreUnavailable, match="in time"):
        await make(timeout_seconds=0.05).embed(["one"])
    assert len(endpoint.requests) <= MAX_TRIES


async def test_nobody_at_the_address_is_unavailable_and_named(make):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreUnavailable, match=rf"127.0.0.1:{port}.*embedder.base_url"):
        await make(base_url=f"http://127.0.0.1:{port}/v1").embed(["one"])


@pytest.mark.parametrize("url", ["", "localhost/v1", "file:///etc/passwd", "http://", "http://[::1/v1"])
def test_an_address_that_is_no_url_is_refused_at_once(url):
    with pytest.raises(InvalidInput, match="base_url"):
        OpenAIEmbedder(url, KEY, "small", DIMENSION)


async def test_the_key_is_in_no_message_no_log_and_no_representation(make, endpoint, caplog):
    replies = [
        Reply(401, f"Incorrect API key provided: {KEY}".encode()),
        Reply(400, json.dumps({"error": {"message": f"key {KEY} may not"}}).encode()),
        Reply(403, b"x" * 290 + KEY.encode()),
    ]
    embedder = make(base_url=endpoint.url.replace("http://", f"http://user:{KEY}@"))
    with caplog.at_level(logging.DEBUG):
        for reply in replies:
            endpoint.script = [reply]
            with pytest.raises(TenureError) as caught:
                await embedder.embed(["one"])
            assert KEY[:12] not in str(caught.value)
        assert KEY not in repr(embedder)
    assert KEY not in caplog.text


async def test_batches_are_bounded_by_number_and_by_tokens(make, endpoint):
    await make().embed([f"text {at}" for at in range(2 * MAX_BATCH_TEXTS + 1)])
    assert [len(request["input"]) for request in endpoint.requests] == [MAX_BATCH_TEXTS, MAX_BATCH_TEXTS, 1]
    endpoint.requests.clear()
    await make(max_tokens=100_000).embed(["x" * 150_000] * 8)
    sizes = [sum(len(text) for text in request["input"]) for request in endpoint.requests]
    assert sum(sizes) == 8 * 150_000
    assert max(sizes) <= 2 * MAX_BATCH_TOKENS
