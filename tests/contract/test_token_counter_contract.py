"""What every token counter promises. A later adapter subclasses `TokenCounterContract`."""

import functools
import math
from concurrent.futures import ThreadPoolExecutor

import bpe_openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.adapters.tokenizer import BpeTokenCounter, EstimatedTokenCounter, token_counter
from tenure.core.errors import InvalidInput

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
"""Lone surrogates and control characters included."""


@functools.cache
def reference_encoder() -> bpe_openai.Encoding:
    """The package's own encoder, built once: it takes a while."""
    return bpe_openai.get_encoding("o200k_base")


class TokenCounterContract:
    """Bind it by a class attribute `counter`."""

    counter: BpeTokenCounter | EstimatedTokenCounter

    def test_the_empty_text_has_no_token(self):
        assert self.counter.count("") == 0

    # A contract's test runs in one class per adapter, which hypothesis would take for an accident.
    @settings(max_examples=100, suppress_health_check=[HealthCheck.differing_executors])
    @given(text=ANY_TEXT)
    def test_any_text_is_counted_and_none_has_many_more_tokens_than_bytes(self, text):
        assert (1 if text else 0) <= self.counter.count(text) <= 1 + 2 * len(text.encode("utf-8", "surrogatepass"))

    @pytest.mark.parametrize("text", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "<|fim_prefix|>"])
    def test_a_special_token_s_look_alike_is_plain_text(self, text):
        assert self.counter.count(text) > 1

    def test_a_text_of_two_megabytes_is_counted(self):
        line = "    return self.value\n"
        assert self.counter.count(line * 100_000) >= 100_000

    def test_threads_count_alike(self):
        texts = [f"def f{at}(x): return x ** {at}  # ü🦀" for at in range(200)]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(self.counter.count, texts * 5)) == [self.counter.count(text) for text in texts] * 5


class TestBpeTokenCounter(TokenCounterContract):
    """The encoding of the default settings, against the package's own encoder."""

    counter = BpeTokenCounter("o200k_base")

    @pytest.mark.parametrize(
        ("text", "tokens"),
        [("hello world", 2), ("    return None", 3), ("a", 1), ("\n\n", 1), ("🦀", 3), ("aaaaaaaaaaaaaaaa", 2)],
    )
    def test_known_texts_have_their_known_counts(self, text, tokens):
        assert self.counter.count(text) == tokens

    @settings(max_examples=100)
    @given(text=ANY_TEXT)
    def test_the_count_is_the_number_of_encoded_tokens(self, text):
        assert self.counter.count(text) == len(reference_encoder().encode_ordinary(text))

    def test_it_is_exact_and_names_its_encoding(self):
        assert (self.counter.encoding, self.counter.is_estimate) == ("o200k_base", False)

    def test_encodings_differ(self):
        text = "Übergrößenträger 日本語のテキスト"
        assert BpeTokenCounter("cl100k_base").count(text) > self.counter.count(text)


class TestEstimatedTokenCounter(TokenCounterContract):
    """The estimate for a model without an offline tokenizer."""

    counter = EstimatedTokenCounter("mistral-large")

    @pytest.mark.parametrize(
        "text",
        [
            "def open_session(self, url: str) -> Session:\n    return self._pool.checkout(url)\n" * 20,
            "The cache forgets what was not asked for in a while, least recently used first. " * 20,
            ".nav > li:hover{margin:0 4px;color:#0a0a0a}" * 20,
        ],
        ids=["code", "prose", "css"],
    )
    def test_it_is_a_quarter_above_the_known_encoding(self, text):
        assert self.counter.count(text) == math.ceil(1.25 * BpeTokenCounter("o200k_base").count(text))

    def test_it_says_that_it_is_an_estimate(self):
        assert (self.counter.encoding, self.counter.is_estimate) == ("estimate:mistral-large", True)


def test_the_counter_is_chosen_by_name():
    assert not token_counter("cl100k_base").is_estimate
    assert token_counter("estimate:mistral-large").is_estimate


@pytest.mark.parametrize("name", ["o200k_bse", "", "estimate:", "gpt-4o"])
def test_a_mistyped_encoding_is_refused_with_the_known_names(name):
    with pytest.raises(InvalidInput, match=r"o200k_base.*estimate:"):
        token_counter(name)
