"""The client of the local server refuses what JSON can't carry, before anything is sent."""

import os
from pathlib import Path

import pytest

from tenure.core.errors import InvalidInput
from tenure.workspace.cli.client import ServerClient

NOWHERE = "http://127.0.0.1:9"
UNDECODABLE = Path(os.fsdecode(b"/srv/l\xe9"))


def test_a_folder_whose_name_is_not_utf_8_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"not valid UTF-8 near .*/srv/l.*udce9.*rename"):
        ServerClient(NOWHERE).locate(UNDECODABLE)


def test_a_body_that_is_not_utf_8_is_refused_as_well() -> None:
    with pytest.raises(InvalidInput, match="not valid UTF-8"):
        ServerClient(NOWHERE).call("POST", "/v1/workspaces/w/repositories", {"path": str(UNDECODABLE), "tree": None})
