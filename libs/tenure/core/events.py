"""Facts: what happened, in the order it was accepted (SPEC section 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """The closed set of facts that a workspace records."""

    INTERACTION = "interaction"
    TOOL_EXECUTION = "tool_execution"
    EDIT = "edit"
    FILE_SAVED = "file_saved"
    TEST_RUN = "test_run"
    ERROR = "error"
    COMMIT = "commit"
    DECISION = "decision"
    OUTCOME = "outcome"
    FEEDBACK = "feedback"
    SESSION_BEGUN = "session_begun"
    SESSION_COMMITTED = "session_committed"
    MEMORY_CHANGED = "memory_changed"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Event:
    """A fact as its producer sends it; `id` is the producer's idempotency key."""

    id: str
    type: EventType
    at: datetime
    payload: Mapping[str, Any]
    session_id: str | None = None
    actor: str | None = None
    payload_version: int = 1


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A fact as the log holds it. `position` grows by one per accepted event of the workspace."""

    position: int
    event: Event
    recorded_at: datetime
