"""The local server as its clients see it: one per home, found or started, whatever happened to the last one."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.workspace.server_address import ServerAddress, address_path, answers, read_address, write_address
from tests.support.command_line import CommandLine, command_line, ended, until
from tests.support.embedded import write_tree

pytestmark = pytest.mark.xdist_group("e2e-server")

FILES = {
    "shop/basket.py": "from shop.tax import add_tax\n\n\ndef basket_total(items):\n    return add_tax(sum(items))\n",
    "shop/tax.py": 'def add_tax(amount):\n    """Add the value-added tax."""\n    return amount * 1.2\n',
    "README.md": "# Shop\n\nThe basket adds taxes.\n",
}
CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """One home for the tests up to the offline ones, in their order: starting a server is what takes time."""
    folder = tmp_path_factory.mktemp("server")
    write_tree(folder / "shop", FILES)
    with command_line(folder, "--set", "logging.level=INFO", OPENAI_API_KEY=CANARY) as line:
        yield line


def _servers_of(home: Path) -> list[int]:
    """Processes that serve this home, by their own environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"TENURE_HOME={home}".encode() in environment and b"serve" in command:
            found.append(int(process.name))
    return found


def test_ten_clients_at_once_on_a_fresh_home_end_with_one_server_and_ten_answers(line: CommandLine) -> None:
    tree = line.cwd / "shop"
    clients = [line.start("index", str(tree), "--json") for _ in range(10)]
    answers = [ended(client) for client in clients]
    assert [answer.code for answer in answers] == [0] * 10, [a.err for a in answers]
    states = [answer.json for answer in answers]
    assert len({state["repository"]["id"] for state in states}) == 1
    assert all(state["is_searchable"] and state["counts"]["files"] == 3 for state in states)
    assert len(_servers_of(line.home)) == 1
    assert line.log().count("serving") == 1
    assert not (line.home / "server.log.1").exists()
    assert [w["name"] for w in line.get("/v1/workspaces")] == ["default"]


def _essence(bundle: Any) -> Any:
    items = [(i["id"], i["path"], i["line"], i["score"], i["relevance"], i["why"]) for i in bundle["items"]]
    return bundle["result"], items, bundle["budget"]


def test_the_answer_is_the_same_after_a_stop_and_after_a_kill(line: CommandLine) -> None:
    question = ("-w", "default", "retrieve", "Where is the tax of a basket_total added?", "--json")
    first = line.run(*question).json
    assert _essence(first)[1][0][1] == "shop/basket.py"
    assert line.run("stop").out == "stopped\n"
    assert line.server() is None
    assert not address_path(line.home).exists()
    for sign in ("Traceback", "was never awaited", "was destroyed"):
        assert sign not in line.log()
    assert _essence(line.run(*question).json) == _essence(first)
    killed = line.server()
    assert killed is not None
    os.kill(killed.pid, signal.SIGKILL)
    until(lambda: line.server() is None, "the end of the killed server")
    assert _essence(line.run(*question).json) == _essence(first)
    assert line.server() != killed


def test_doctor_tells_the_configuration_and_every_store_and_no_secret(line: CommandLine) -> None:
    ran = line.run("doctor", "--json")
    report = ran.json
    assert set(report["checks"]) == {"server", "database", "vectors", "graph", "embedder", "queue", "git"}
    assert all(entry["ok"] for entry in report["checks"].values())
    assert report["configuration"]["embedder"]["api_key"] == "**********"
    assert report["configuration"]["home"] == str(line.home)
    assert CANARY not in ran.out + ran.err + line.log()


def test_offline_commands_refuse_to_work_beside_a_server(line: CommandLine) -> None:
    for command in ("doctor", "verify", "rebuild"):
        refused = line.run(command, "--offline")
        assert refused.code == 1
        assert "has the stores" in refused.err
        assert "tenure stop" in refused.err


def test_offline_commands_open_the_stores_themselves(line: CommandLine) -> None:
    assert line.run("stop", "--json").json == {"stopped": True}
    assert line.run("stop", "--json").json == {"stopped": False}
    doctor = line.run("doctor", "--offline")
    assert doctor.code == 0
    for store in ("database", "vectors", "graph", "embedder", "git"):
        assert f"ok   {store}: " in doctor.out
    assert CANARY not in doctor.out + doctor.err
    assert line.run("verify", "--offline", "--json").json[0]["is_clean"]
    assert line.server() is None


def test_a_server_that_nobody_needs_stops_by_itself(tmp_path: Path) -> None:
    options = ("--set", "server.idle_minutes=0.01", "--set", "logging.level=INFO", "--set", "server.port=7878")
    with command_line(tmp_path, *options) as line:
        write_address(line.home, ServerAddress("http://127.0.0.1:9", 1, "gone"))
        assert line.run("workspaces", "--json").json == []
        until(lambda: line.server() is None, "the idle server's end")
        assert "no request for 0.01 minutes" in line.log()
        assert "Traceback" not in line.log()
        assert not address_path(line.home).exists()


def test_watch_notices_an_edit_a_checkout_and_a_delete(tmp_path: Path) -> None:
    with command_line(tmp_path) as line:
        _watched(line)


def _watched(line: CommandLine) -> None:
    sandbox = write_tree(line.cwd / "watched", FILES)
    sandbox.git("checkout", "-q", "-b", "other")
    sandbox.put("shop/voucher.py", "def redeem_voucher(code):\n    return code\n")
    sandbox.commit("Add vouchers")
    sandbox.git("checkout", "-q", "main")
    watch = line.start("watch", "watched")
    try:
        assert watch.stdout is not None
        assert watch.stdout.readline().startswith(b"watching ")
        assert watch.stderr is not None
        assert watch.stderr.readline().startswith(b"tenure: 3 files indexed, history of 1 commit read in ")
        sandbox.put("shop/note.py", "def write_note():\n    return 1\n")
        assert watch.stderr.readline().startswith(b"tenure: shop/note.py changed: 1 file indexed, ")
        workspace = line.get("/v1/workspaces")[0]["id"]

        def paths_of(symbol: str) -> set[str]:
            answer = line.post(f"/v1/workspaces/{workspace}/search", {"query": symbol})
            return {hit["path"] for hit in answer["hits"] if hit["title"] == symbol}

        until(lambda: paths_of("basket_total") == {"shop/basket.py"}, "the first index")
        sandbox.put("shop/gift.py", "def wrap_gift(item):\n    return item\n")
        until(lambda: paths_of("wrap_gift") == {"shop/gift.py"}, "the new file")
        (sandbox.root / "shop" / "gift.py").unlink()
        until(lambda: paths_of("wrap_gift") == set(), "the file's disappearance")
        sandbox.git("checkout", "-q", "other")
        until(lambda: paths_of("redeem_voucher") == {"shop/voucher.py"}, "the branch's file")
        sandbox.git("checkout", "-q", "main")
        until(lambda: paths_of("redeem_voucher") == set(), "the branch's disappearance")
        server = line.server()
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: line.server() is None, "the end of the killed server")
        sandbox.put("shop/late.py", "def arrive_late():\n    return 1\n")
        until(lambda: (address := read_address(line.home)) and answers(address), "a server that watch started")
        until(lambda: paths_of("arrive_late") == {"shop/late.py"}, "the file after the kill")
    finally:
        watch.send_signal(signal.SIGINT)
    ran = ended(watch)
    assert ran.code == 0, ran.err
    assert ran.out == "stopped watching\n"
