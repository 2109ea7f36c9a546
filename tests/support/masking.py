"""What `mask` makes of a text, with what holds of every result: lines keep their lengths, and masking again changes nothing."""

from tenure.core.secret_names import Strictness
from tenure.core.secrets import Masked, mask


def masked(text: str, strictness: Strictness = Strictness.CONFIGURATION) -> str:
    """The masked text."""
    result = mask(text, strictness=strictness)
    assert [len(line) for line in result.text.split("\n")] == [len(line) for line in text.split("\n")]
    assert mask(result.text, strictness=strictness) == Masked(result.text, 0)
    return result.text


def starred(text: str, *secrets: str) -> str:
    """The text with stars in the place of these secrets, spaces kept."""
    for secret in secrets:
        text = text.replace(secret, "".join("*" if not c.isspace() else c for c in secret))
    return text
