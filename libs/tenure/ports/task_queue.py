"""Work for later: at-least-once delivery of commands."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from tenure.core.commands import Command

Handler = Callable[[Command], Awaitable[None]]


class TaskQueue(Protocol):
    """Delivers each command at least once to the handler, never two at a time for one key.

    The key of a `RunJob` is its job, that of a `Project` its workspace. Commands of one key that wait are
    folded into one. A handler that raises is logged and does not stop the queue; the truth about what is due
    lies in SQL, so a lost queue loses nothing.
    """

    async def send(self, command: Command) -> None:
        """Accept the command; returns before it is run."""
        ...

    async def start(self, handler: Handler) -> None:
        """Begin to deliver."""
        ...

    def is_idle(self) -> bool:
        """True if no command waits or runs here."""
        ...

    async def drain(self) -> None:
        """Return when no command waits or runs."""
        ...

    async def check(self) -> str:
        """One line that says how much waits; raises `StoreUnavailable` if nothing is delivered."""
        ...

    async def close(self) -> None:
        """Stop delivery; running handlers are cancelled and may be delivered again after the next start."""
        ...
