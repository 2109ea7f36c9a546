"""What all wire models share."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


_ESCAPED_BYTES = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
"""Lone surrogates stand for the undecodable bytes of file names (PEP 383)."""


def shown(value: object) -> object:
    """Text that JSON can carry: an undecodable byte of a file name is written in hex."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.translate(_ESCAPED_BYTES).encode("utf-8", "backslashreplace").decode("utf-8")


Shown = Annotated[str, BeforeValidator(shown)]
"""Text of an answer that comes from a repository or from a file system."""


class Wire(BaseModel):
    """A wire model: built from domain objects by attribute, unknown fields in requests are refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, frozen=True)
