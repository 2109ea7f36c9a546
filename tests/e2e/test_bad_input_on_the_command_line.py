"""Bad input on the command line: exit code, message with the way out, and nothing lost afterwards."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure.adapters.qdrant_edge import QdrantEdgeVectorStore
from tests.support.command_line import CommandLine, Ran, command_line
from tests.support.embedded import write_tree

pytestmark = pytest.mark.xdist_group("e2e-input")

FILES = {"app/parser.py": "def parse_invoice(text):\n    return text.split()\n", "README.md": "# Invoices\n"}
OTHER_DIMENSION = 8
SMALL_DISK = "320m"
"""More than what the vector store wants free before it starts (128 MB), twice."""
NOBODY = 65534
"""A user who owns nothing."""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A home with one indexed repository, whose server takes small bodies and one allowed root."""
    folder = tmp_path_factory.mktemp("cli")
    write_tree(folder / "inside" / "good", FILES)
    (folder / "outside").mkdir()
    options = ("--set", f"indexing.allowed_roots={folder / 'inside'}", "--set", "server.max_body_bytes=300000")
    with command_line(folder, *options) as line:
        ran = line.run("index", "inside/good")
        assert ran.code == 0, ran.err
        assert "ask: tenure retrieve" in ran.out
        yield line


def _refused(ran: Ran, code: int, *said: str) -> None:
    assert ran.code == code, ran.out + ran.err
    assert "Traceback" not in ran.err
    assert ran.err.startswith("tenure: ") or ran.code == 2
    for part in said:
        assert part in ran.err


def _still_whole(line: CommandLine) -> None:
    found = line.run("search", "parse_invoice", "-w", "default", "--json").json
    assert found["result"] == "hit"
    assert found["hits"][0]["path"] == "app/parser.py"


def test_what_is_no_tree_is_refused_with_code_2(line: CommandLine) -> None:
    (line.cwd / "inside" / "notes.txt").write_text("x")
    _refused(line.run("index", "inside/notes.txt"), 2, "is not a folder; give the folder of a repository")
    _refused(line.run("index", "inside/nothing"), 2, "can't be read: No such file or directory")
    _refused(line.run("index", "outside"), 2, "lies outside the setting indexing.allowed_roots")


def test_an_empty_folder_fails_with_code_1_and_what_to_do(line: CommandLine) -> None:
    (line.cwd / "inside" / "empty").mkdir()
    ran = line.run("-w", "elsewhere", "index", "inside/empty")
    assert ran.code == 1
    assert "empty folder: there is nothing to index" in ran.out
    assert "add files and index again" in ran.out


def test_a_wrong_key_is_refused_with_code_2(line: CommandLine) -> None:
    _refused(line.run("--key", "tnr_wrong", "status"), 2, "this API key is not known or was revoked; ask an owner")


def test_a_folder_that_nobody_indexed_and_a_workspace_that_is_not_there_say_what_there_is(line: CommandLine) -> None:
    _refused(line.run("-w", "nothing", "status"), 2, "no workspace 'nothing'; known: default")
    _refused(line.run("impact", "outside/x.py"), 2, "belongs to no indexed repository; run `tenure index`")


def test_wrong_usage_is_code_2_with_the_nearest_right_one(line: CommandLine) -> None:
    _refused(line.run("statsu"), 2, "status")
    _refused(line.run("retrieve"), 2, "query")
    _refused(line.run("retrieve", "x", "--limit", "0"), 2, "limit")
    _refused(line.run("--set", "server.prot=1", "status"), 2, "unknown setting 'server.prot'", "'server.port'")
    _refused(line.run("--set", "nonsense", "status"), 2, "section.key=value")
    _refused(line.run("--profile", "embeded", "status"), 2, "known profiles: embedded, test")


@pytest.mark.parametrize(
    ("query", "stdin", "said"),
    [
        ("", b"", "the query is empty; say what you are looking for"),
        ("-", b"", "the query is empty"),
        ("-", b"\0\1\2\x1b", "the query is empty"),
        ("-", b"x" * 200_000, "at most 100000 characters"),
        ("-", b"x" * 1024 * 1024, "at most 300000 bytes"),
    ],
)
def test_a_query_that_can_not_be_answered_says_why(line: CommandLine, query: str, stdin: bytes, said: str) -> None:
    _refused(line.run("retrieve", "-w", "default", query, stdin=stdin), 2, said)


def test_a_query_of_bytes_that_are_no_text_is_answered(line: CommandLine) -> None:
    for query, stdin in (
        (b"parse_invoice \xff\xfe\xed\xa0\x80", b""),
        ("-", b"parse_invoice \xff\xed\xa0\x80\x1b[31m"),
    ):
        ran = line.run("retrieve", "-w", "default", query, stdin=stdin)
        assert ran.code == 0, ran.err
        assert "app/parser.py:1" in ran.out
        assert "\x1b" not in ran.out


def test_after_all_that_nothing_is_lost(line: CommandLine) -> None:
    _still_whole(line)
    assert line.run("-w", "default", "verify", "--json").json[0]["is_clean"]


def test_a_database_that_is_garbage_is_told_and_comes_back_with_its_file(line: CommandLine) -> None:
    line.run("stop")
    database = line.home / "tenure.sqlite3"
    aside = database.with_suffix(".aside")
    database.rename(aside)
    database.write_bytes(b"this is no database " * 1000)
    _refused(
        line.run("status", "-w", "default"),
        1,
        "the local server did not start",
        "is not a database",
        "move that file away",
    )
    aside.replace(database)
    _still_whole(line)


def test_a_home_that_can_not_be_a_folder_is_told(line: CommandLine) -> None:
    (line.cwd / "file").write_text("x")
    _refused(line.run("--home", str(line.cwd / "file"), "status"), 2, "set TENURE_HOME to another folder")


def test_vectors_of_another_dimension_are_refused_and_reembed_is_the_way_out(tmp_path: Path) -> None:
    async def other_store(folder: Path) -> None:
        await (await QdrantEdgeVectorStore.open(folder, OTHER_DIMENSION)).close()

    write_tree(tmp_path / "good", FILES)
    with command_line(tmp_path) as line:
        asyncio.run(other_store(line.home / "vectors"))
        _refused(line.run("index", "good"), 1, "the local server did not start", "tenure reembed")
        assert line.run("reembed", "--json").json == {"chunks": 0}
        assert line.run("index", "good").code == 0


def test_a_vector_store_of_another_version_is_refused_and_the_named_command_restores_it(tmp_path: Path) -> None:
    write_tree(tmp_path / "good", FILES)
    with command_line(tmp_path) as line:
        assert line.run("index", "good", "-w", "default").code == 0
        line.run("stop")
        stamp = line.home / "vectors" / "stamp.json"
        stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"format": 0}))
        _refused(line.run("status", "-w", "default"), 1, "has format 0", "tenure rebuild --offline")
        assert line.run("rebuild", "--offline").code == 0
        _still_whole(line)
        assert all(entry["is_clean"] for entry in line.run("-w", "default", "verify", "--json").json)


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk can't be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_told_loses_nothing_and_works_again_with_space(tmp_path: Path) -> None:
    write_tree(tmp_path / "good", FILES)
    more = {f"m{n}.py": f"def filler_{n}(a):\n" + f"    a += {n}  # filler\n" * 400 for n in range(120)}
    write_tree(tmp_path / "more", more)
    with _small_disk(tmp_path / "disk"), command_line(tmp_path / "disk") as line:
        line.cwd = tmp_path
        assert line.run("index", "good").code == 0
        ballast = line.home / "ballast"
        _fill(ballast)
        ran = line.run("index", "more", "-w", "default")
        assert ran.code == 1, ran.out + ran.err
        assert "Traceback" not in ran.err
        assert "full" in ran.out + ran.err or "space" in ran.out + ran.err, ran.out + ran.err
        _still_whole(line)
        ballast.unlink()
        assert line.run("index", "more", "-w", "default").code == 0
        found = line.run("search", "filler_7", "-w", "default", "--json").json
        assert found["hits"][0]["path"] == "m7.py"
        assert all(entry["is_clean"] for entry in line.run("-w", "default", "verify", "--json").json)


def _fill(path: Path) -> None:
    """Take all the space that is left."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 65536):
                pass
        except OSError:
            return


_UNREADABLE = """
import asyncio, os, sys
from tenure.core.errors import InvalidInput
from tenure.ingestion.registration import Registration
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    asyncio.run(Registration(None, None, None, [], any_root=True).add("w", sys.argv[1]))
except InvalidInput as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can be taken on by root only")
def test_a_folder_that_this_user_may_not_read_is_told(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:3]):
        if parent != Path("/tmp"):
            parent.chmod(0o755)
    closed = tmp_path / "closed"
    (closed / "inside").mkdir(parents=True)
    closed.chmod(0o700)
    for path, said in ((closed, "can't be read by this user; change its permissions"), (closed / "inside", "can't be read: Permission denied")):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", _UNREADABLE, str(path), str(NOBODY)], capture_output=True, text=True, check=True
        )
        assert said in done.stdout
