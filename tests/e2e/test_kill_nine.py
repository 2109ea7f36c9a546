"""A server that is killed while it indexes loses nothing: the next one ends the job, and all stores agree."""

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.kill_home import KilledHome, make_repository

KILLS = int(os.environ.get("TENURE_KILLS", "4"))
"""How often the server is killed: `TENURE_KILLS=20` for the long run."""
SEED = 20_251
LATEST = 0.95
"""Kills are spread over this share of the time that an undisturbed index takes."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledHome]:
    folder = tmp_path_factory.mktemp("kill")
    made = KilledHome(folder / "killed", make_repository(folder / "repository").root)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def whole(home: KilledHome) -> tuple[dict[str, Any], float]:
    """The counts of an index run that nobody disturbs, and its seconds."""
    began = time.monotonic()
    status = home.settled(home.request())
    took = time.monotonic() - began
    assert status["state"] == "ready", status
    assert home.differences() == []
    return status["counts"], took


def moments() -> list[float]:
    """Shares of the run, one at random in each of `KILLS` equal parts."""
    chance = random.Random(SEED)
    return [LATEST * (part + chance.random()) / KILLS for part in range(KILLS)]


@pytest.mark.parametrize("share", moments(), ids=lambda share: f"{share:.2f}")
def test_a_killed_index_run_ends_after_a_restart_with_the_counts_of_an_undisturbed_one(
    home: KilledHome, whole: tuple[dict[str, Any], float], share: float
) -> None:
    counts, seconds = whole
    base = home.request()
    time.sleep(share * seconds)
    before = home.status(base)["job"]
    home.kill()
    home.start()
    status = home.settled(base)
    assert status["state"] == "ready", status
    assert status["counts"] == counts
    assert home.differences() == []
    if before["state"] == "running":
        assert (status["job"]["id"], status["job"]["attempts"]) in {(before["id"], 1), (before["id"], 2)}
