"""Token counts without a network: exact by the encoding's own merges, or an estimate that says so."""

from bpe_openai import _bindings

from tenure.core.errors import InvalidInput
from tenure.ports.models import TokenCounter

ESTIMATE_PREFIX = "estimate:"
"""`estimate:<model>` asks for an estimate by name, so that a mistyped encoding is never counted by guess."""
BYTES_PER_TOKEN = 3
"""UTF-8 bytes that one token of an unknown encoding is taken to hold. Prose has some 4 and code 3.3 to 4 in the encodings
that we know, style sheets and Chinese about 3; an estimate should rather be too high, because a prompt that is too
long is refused whole.
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
    """A number of tokens that most texts stay below, from their size alone."""

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def encoding(self) -> str:
        """`estimate:` and the model's name."""
        return ESTIMATE_PREFIX + self._model

    @property
    def is_estimate(self) -> bool:
        """True."""
        return True

    def count(self, text: str) -> int:
        """UTF-8 bytes by `BYTES_PER_TOKEN`, rounded up."""
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


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
