"""What all wire models share."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from tenure.core.surrogates import REFUSAL, place_of_unpaired_surrogate

_ESCAPED_BYTES = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
"""Lone surrogates stand for the undecodable bytes of file names (PEP 383)."""


def shown(value: object) -> object:
    """Text that JSON can carry: an undecodable byte of a file name is written in hex."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.translate(_ESCAPED_BYTES).encode("utf-8", "backslashreplace").decode("utf-8")


def shown_tree(value: object) -> object:
    """`shown` for every text of a JSON value, keys included."""
    if isinstance(value, Mapping):
        return {shown(key): shown_tree(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [shown_tree(entry) for entry in value]
    return shown(value)


Shown = Annotated[str, BeforeValidator(shown)]
"""Text of an answer that comes from a repository or from a file system."""


ShownDocument = Annotated[Mapping[str, Any], BeforeValidator(shown_tree)]
"""A JSON object of an answer that may hold such text anywhere."""


class Wire(BaseModel):
    """A wire model: built from domain objects by attribute, unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, frozen=True)


Value = TypeVar("Value")
_YEAR_DIGITS = 4

Listed = Annotated[tuple[Value, ...], Field(strict=False)]
"""A list of a request."""

Chosen = Annotated[Value, Field(strict=False)]
"""A value of a closed set in a request, by its name."""


def _written(value: object) -> object:
    # A number would be taken for seconds since 1970, and so would a text that is one.
    if not isinstance(value, str) or value[_YEAR_DIGITS : _YEAR_DIGITS + 1] != "-":
        raise ValueError("it must be a time with its zone in ISO 8601, such as 2026-01-31T12:00:00Z")
    return value


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written)]
"""A time of a request."""


class WireRequest(Wire):
    """What a client sends. A value has the type of its field and is never converted, so that `"5"` or `true` is no number;
    what JSON has no type for is written as text or list (`Moment`, `Chosen`, `Listed`). Text that is no valid Unicode is refused here, at any depth, before anything stores or answers it.
    """

    model_config = ConfigDict(strict=True)

    @field_validator("*")
    @classmethod
    def _refuse_lone_surrogates(cls, value: Any) -> Any:
        place = place_of_unpaired_surrogate(value)
        if place is not None:
            raise ValueError(f"`{place}` {REFUSAL}" if place else f"it {REFUSAL}")
        return value
