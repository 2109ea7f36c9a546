"""Logs go to standard error without secrets, whoever wrote them."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from tenure.runtime.logging import configure_logging

CANARY = "ghp_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    logging.basicConfig(force=True)


def test_a_secret_is_masked_in_every_part_of_an_entry(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO", "json")
    error = RuntimeError(f"token {CANARY}")
    structlog.get_logger("x").info(
        f"used {CANARY}", text=CANARY, error=error, deep={"a": [CANARY, {"b": CANARY}]}, number=3, nothing=None
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert CANARY not in err
    entry = json.loads(err)
    assert (entry["number"], entry["nothing"], entry["level"]) == (3, None, "info")


def test_a_traceback_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO", "text")
    try:
        int(CANARY)
    except ValueError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("uvicorn.error").exception("failed as well with %s", CANARY)
    err = capsys.readouterr().err
    assert CANARY not in err
    assert err.count("\nValueError: ") == 2


def test_the_level_holds_for_us_and_others_are_never_chattier_than_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG", "text")
    structlog.get_logger("x").debug("ours")
    logging.getLogger("other").info("theirs")
    assert "ours" in (err := capsys.readouterr().err)
    assert "theirs" not in err
    configure_logging("ERROR", "text")
    structlog.get_logger("x").warning("ours")
    assert capsys.readouterr().err == ""
