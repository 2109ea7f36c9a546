"""Token counts without a network: exact by the encoding's own merges, or an estimate that says so."""

from bpe_openai import _bindings

from tenure.core.errors import InvalidInput
from tenure.ports.models import TokenCounter

ESTIMATE_PREFIX = "estimate:"
"""`estimate:<model>` asks for an estimate by name, so that a mistyped encoding is never counted by guess."""
REFERENCE_ENCODING = "o200k_base"
"""The encoding that estimates start from."""
ESTIMATE_PERCENT = 125
"""Tokens of an unknown encoding for 100 of the reference. Its vocabulary is among the largest, so others need more tokens;
an estimate should rather be too high, because a prompt that is too long is refused whole.
"""


class BpeTokenCounter:
    """Exactly the tokens of an OpenAI encoding. Texts that look like special tokens count as plain text."""

    def __init__(self, encoding: str) -> None:
        if encoding not in _bindings.supported_encodings():
            raise InvalidInput(_unknown(encoding))
        self._encoding = encoding
        # The package's own `Encoding` refuses texts of 1 MB and builds a table of every token; its binding does neither.
        self._tokenizer = _bindings.tokenizer_for_encoding(encoding)

    @property
    def encoding(self) -> str:
        """Name of the encoding."""
        return self._encoding

    @property
    def is_estimate(self) -> bool:
        """False: the count is exact."""
        return False

    def count(self, text: str) -> int:
        """Number of tokens; surrogates count as U+FFFD, which is what a model would be sent."""
        try:
            return int(self._tokenizer.count(text))
        except UnicodeEncodeError:
            return int(self._tokenizer.count(_without_surrogates(text)))


class EstimatedTokenCounter:
    """A number of tokens that texts of most models stay below, from their count in a known encoding."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._reference = BpeTokenCounter(REFERENCE_ENCODING)

    @property
    def encoding(self) -> str:
        """`estimate:` and the model's name."""
        return ESTIMATE_PREFIX + self._model

    @property
    def is_estimate(self) -> bool:
        """True."""
        return True

    def count(self, text: str) -> int:
        """The reference's count, raised by `ESTIMATE_PERCENT` and rounded up."""
        return -(-self._reference.count(text) * ESTIMATE_PERCENT // 100)


def token_counter(encoding: str) -> TokenCounter:
    """The counter for an encoding (`o200k_base`) or for `estimate:<model>`; `InvalidInput` for any other name."""
    if encoding.startswith(ESTIMATE_PREFIX) and encoding != ESTIMATE_PREFIX:
        return EstimatedTokenCounter(encoding.removeprefix(ESTIMATE_PREFIX))
    return BpeTokenCounter(encoding)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unknown(encoding: str) -> str:
    known = ", ".join(sorted(_bindings.supported_encodings()))
    return f"unknown encoding {encoding!r}; set tokens.encoding to one of {known}, or to {ESTIMATE_PREFIX}<model>"
