"""Where a home's server answers, as it wrote it down, and whether it is still that server."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

ANSWER_TIMEOUT_SECONDS = 5.0
"""How long a client waits for `/health/live`, which touches no store."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a running server. `instance` is new with every start: another server that got the port of a dead
    one is not taken for it. `settings` tells servers with other settings apart.
    """

    url: str
    pid: int
    instance: str
    settings: str = ""


def address_path(home: Path) -> Path:
    """Where the address of a home's server is written."""
    return home / "server.json"


def write_address(home: Path, address: ServerAddress) -> None:
    """Write the address whole: a reader sees the old one or the new one."""
    fresh = address_path(home).with_suffix(".new")
    fresh.write_text(json.dumps(asdict(address)), "utf-8")
    fresh.replace(address_path(home))


def read_address(home: Path) -> ServerAddress | None:
    """The address that is written down; it may be that of a server that is gone."""
    try:
        found = json.loads(address_path(home).read_text("utf-8"))
        return ServerAddress(str(found["url"]), int(found["pid"]), str(found["instance"]), str(found["settings"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def answers(address: ServerAddress) -> bool:
    """True if exactly this server answers there."""
    try:
        response = httpx.get(f"{address.url}/health/live", timeout=ANSWER_TIMEOUT_SECONDS, trust_env=False)
        return response.is_success and response.json().get("instance") == address.instance
    except (httpx.HTTPError, ValueError, AttributeError):
        return False
