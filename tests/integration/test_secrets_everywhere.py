"""Secrets from every way in are in no store, no log and no answer. The canaries are put together at run time."""

import io
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.embedded import Embedded, write_tree
from tests.support.git_sandbox import Sandbox
from tests.support.troubled import troubled

AWS = "AK" + "IA" + "Q3WERTZ7UIOP1ASD"
GITHUB = "gh" + "p_" + "Tq7Zw2Lm9Xc4Vb6Nn1Ka5Sd8Fg3Hj0Pq2Rt7Y"
OPENAI = "sk" + "-proj-" + "u4Kd9Wq2Zx7Lm1Pv6Bn3Ty8Hs5Gc0Rf4Jt6Ea2"
PASSWORD = "Tr0ub4" + "dor+Walnut77"
KEY_BODY = "MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC"
CANARIES = {"aws": AWS, "github": GITHUB, "openai": OPENAI, "password": PASSWORD, "key": KEY_BODY}
KEY = f"-----BEGIN {'PRIVATE'} KEY-----\n{KEY_BODY}\n{KEY_BODY}\n-----END {'PRIVATE'} KEY-----\n"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

SETTINGS = f'''"""Settings of the orchard."""

AWS_KEY = "{AWS}"
DATABASE = "postgres://app:{PASSWORD}@db.invalid/orchard"


def load_settings():
    return AWS_KEY, DATABASE
'''
FILES = {
    "settings.py": SETTINGS,
    "config/app.yaml": f"openai:\n  api_key: {OPENAI}\ndatabase:\n  password: {PASSWORD}\n",
    "docs/setup.md": f"# Setup\n\nRun `export GITHUB_TOKEN={GITHUB}` before load_settings.\n",
    "docs/deploy.md": f"# Deploy\n\n{KEY}\nThen call load_settings.\n",
    f"notes/{GITHUB}.md": "# A note\n\nNamed badly.\n",
    "notes/plain.md": "# A note\n\nHow load_settings reads the environment.\n",
    ".env": f"OPENAI_API_KEY={OPENAI}\nDB_PASSWORD={PASSWORD}\n",
    ".env.example": "OPENAI_API_KEY=your-key-here\nDB_PASSWORD=\n",
    "service/.env.production": f"TOKEN={GITHUB}\n",
    "keys/id_rsa": KEY,
    "deploy.pem": KEY,
    ".netrc": f"machine x login y password {PASSWORD}\n",
}
INDEXED = {"settings.py", "config/app.yaml", "docs/setup.md", "docs/deploy.md", "notes/plain.md", ".env.example"}
OUTPUT = f"$ psql postgres://app:{PASSWORD}@db.invalid/x\nAuthorization: Bearer {OPENAI}\nuses {AWS}\n{KEY}"


def leaks(where: str, content: bytes) -> list[str]:
    """Which canaries stand in these bytes."""
    return [f"{name} in {where}" for name, canary in CANARIES.items() if canary.encode() in content]


def stored_values(database: Path) -> Iterator[tuple[str, bytes]]:
    """Every value of every table, decompressed."""
    with closing(sqlite3.connect(database)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        for table in tables:
            for row in connection.execute(f'select * from "{table}"'):
                for value in row:
                    content = value if isinstance(value, bytes) else str(value).encode()
                    yield table, inflated(content) if content.startswith(ZSTD_MAGIC) else content


def inflated(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)).read()


def orchard(root: Path) -> Sandbox:
    box = write_tree(root, FILES)
    box.put("settings.py", SETTINGS + "\n\nLATER = 1\n")
    box.commit(
        f"Rotate {GITHUB}\n\nThe old key was {AWS}, the password {PASSWORD.join(('postgres://app:', '@db.invalid'))}"
    )
    box.git("checkout", "-q", "-b", f"fix/{GITHUB}")
    return box


async def call_everything(stack: Embedded, workspace_id: str, repository_id: str) -> list[tuple[str, bytes]]:
    """The answers of all endpoints that take or give text."""
    base = f"/v1/workspaces/{workspace_id}"
    named = Path(stack.tenure.infrastructure.settings.home).parent / "named"
    named.mkdir()
    queries = [
        "load_settings",
        "Setup",
        f"where is {GITHUB} used",
        f"connect postgres://app:{PASSWORD}@db.invalid",
        OUTPUT,
    ]
    payload = {"command": "psql", "output": OUTPUT, "argv": [f"--token={OPENAI}"], OPENAI: GITHUB}
    event = {"id": "e1", "type": "tool_execution", "at": "2026-01-01T00:00:00Z", "payload": payload}
    session = await stack.client.post(f"{base}/sessions", json={"task": f"Why does {OPENAI} not work?"})
    asked: list[tuple[str, str, Any]] = [
        ("POST", "events", {**event, "session_id": session.json()["id"]}),
        *(("POST", kind, {"query": query, "explain": True}) for kind in ("search", "context") for query in queries),
        *(("POST", "prompt", {"query": query, "session_id": session.json()["id"]}) for query in queries),
        ("POST", "search", {"query": "x", "limit": OPENAI}),
        ("POST", "search", {"query": "x", GITHUB: AWS}),
        ("POST", "context", {"query": "x", "file_scope": [OPENAI], "repository_ids": [GITHUB]}),
        ("POST", "repositories", {"path": f"/nowhere/{GITHUB}"}),
        ("POST", "repositories", {"path": str(named), "name": f"orchard of {OPENAI}"}),
        ("GET", "repositories", None),
        ("POST", "impact", {"repository_id": repository_id, "paths": ["settings.py"]}),
        ("GET", "events", None),
        ("GET", "timeline", None),
        ("GET", f"sessions/{session.json()['id']}", None),
        ("POST", f"sessions/{session.json()['id']}/resume", None),
        ("GET", "index/status", None),
        ("GET", "jobs", None),
        ("GET", "verify", None),
    ]
    answers = [("session", session.content)]
    for method, endpoint, body in asked:
        response = await stack.client.request(method, f"{base}/{endpoint}", json=body)
        assert response.status_code < 500, response.text
        answers.append((f"answer of {method} {endpoint}", response.content))
    return answers


async def test_no_canary_is_kept_logged_or_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    box = orchard(tmp_path / "orchard")
    found: list[str] = []
    async with troubled(tmp_path, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        for where, content in await call_everything(stack, workspace, repository):
            found += leaks(where, content)
        await stack.tenure.retrieval.drain()
        for file in (path for path in (tmp_path / "home").rglob("*") if path.is_file()):
            found += leaks(str(file.relative_to(tmp_path)), file.read_bytes())
        found += await leaks_in_model(stack, workspace, repository)
    values = list(stored_values(tmp_path / "home/tenure.sqlite3"))
    assert any(b"def load_settings" in content for _, content in values)
    for table, content in values:
        found += leaks(f"table {table}", content)
    found += leaks("log", caplog.text.encode()) + leaks("output", "".join(capfd.readouterr()).encode())
    assert "\n".join(sorted(set(found))) == ""


async def leaks_in_model(stack: Embedded, workspace_id: str, repository_id: str) -> list[str]:
    """What the ports give back, and what the embedder was sent."""
    infrastructure = stack.tenure.infrastructure
    async with infrastructure.database.reading(workspace_id) as work:
        states = await work.files.states(repository_id)
        assert {state.path for state in states} == INDEXED
        texts = await work.files.texts([state.id for state in states])
        nodes = [node async for node in work.nodes.export(repository_id)]
        whole = await work.nodes.get_many([node.id for node in nodes])
        events = await work.events.read()
    seen = [*texts.values(), *map(str, whole.values()), *map(str, events)]
    seen += getattr(infrastructure.embedder, "embedded", [])
    assert events
    assert len(whole) > len(states)
    return [leak for text in seen for leak in leaks("the ports", text.encode())]


async def test_masked_source_keeps_its_lines_and_its_symbols(tmp_path: Path) -> None:
    box = orchard(tmp_path / "orchard")
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        await stack.index(workspace, box.root)
        hits = (await stack.search(workspace, "load_settings"))["hits"]
        symbol = next(hit for hit in hits if hit["path"] == "settings.py" and hit["type"] == "function")
        on_disk = (box.root / "settings.py").read_text().splitlines()
        assert on_disk[symbol["line"] - 1] == "def load_settings():"
        response = await stack.client.post(
            f"/v1/workspaces/{workspace}/context", json={"query": "settings.py", "file_scope": ["settings.py"]}
        )
        text = "\n".join(item["text"] for item in response.json()["items"])
        assert '"' + "*" * len(AWS) + '"' in text
        assert "db.invalid" in text
        left_out = (await stack.client.get(f"/v1/workspaces/{workspace}/index/status")).json()[0]["left_out"]
        reasons = {item["path"]: item["reason"] for item in left_out}
        keys = {".env", "service/.env.production", "keys/id_rsa", "deploy.pem", ".netrc"}
        assert {path for path, reason in reasons.items() if reason == "key file"} == keys
        assert [reason for path, reason in reasons.items() if path.startswith("notes/")] == ["its name holds a secret"]


async def test_a_branch_with_a_secret_in_its_name_is_masked_and_not_taken_for_another_one(tmp_path: Path) -> None:
    box = orchard(tmp_path / "orchard")
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        assert not await stack.tenure.ingestion.mark_behind(workspace, repository)
        (freshness,) = (await stack.search(workspace, "load_settings"))["freshness"]
        assert (freshness["branch"], freshness["is_stale"]) == (f"fix/{'*' * len(GITHUB)}", False)
        box.git("checkout", "-q", "-b", "plain")
        assert await stack.tenure.ingestion.mark_behind(workspace, repository)


async def test_a_folder_or_tree_with_a_secret_in_its_name_is_refused_without_naming_it(tmp_path: Path) -> None:
    box = orchard(tmp_path / "orchard")
    bare, odd = tmp_path / "bare.git", tmp_path / AWS / "inner"
    box.git("clone", "-q", "--bare", str(box.root), str(bare))
    odd.mkdir(parents=True)
    commit = box.git("rev-parse", "HEAD").strip()
    async with troubled(tmp_path) as stack:
        base = f"/v1/workspaces/{await stack.workspace()}/repositories"
        for body, said in (
            ({"path": str(odd)}, "rename the folder"),
            ({"path": str(bare), "tree": f"fix/{GITHUB}"}, "name its commit by its id instead"),
        ):
            response = await stack.client.post(base, json=body)
            assert response.status_code == 422
            assert said in response.json()["detail"]
            assert leaks("answer", response.content) == []
        assert (await stack.client.post(base, json={"path": str(bare), "tree": commit})).json()["tree"] == commit
