"""What all wire models share."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A wire model: built from domain objects by attribute, unknown fields in requests are refused."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, frozen=True)
