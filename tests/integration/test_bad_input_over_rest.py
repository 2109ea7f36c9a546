"""Bad input over REST: a message that says what is wrong and what to do next, and nothing lost afterwards."""

import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenure.core.context import MAX_QUERY_CHARS, RetrieveOptions
from tenure.core.errors import InvalidInput
from tests.support.embedded import Embedded, embedded, write_tree
from tests.support.git_sandbox import Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = {"app/parser.py": "def parse_invoice(text):\n    return text.split()\n", "README.md": "# Invoices\n"}


class Place:
    """The stack with one indexed repository that must survive whatever is sent."""

    def __init__(self, stack: Embedded, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.workspace = ""
        self.base = ""

    async def prepare(self) -> "Place":
        self.workspace = await self.stack.workspace()
        self.base = f"/v1/workspaces/{self.workspace}"
        await self.stack.index(self.workspace, write_tree(self.folder / "good", FILES).root)
        return self

    async def refusal(self, status: int, endpoint: str, body: Any) -> str:
        """The message of a refusal; what was there before must still be found."""
        response = await self.stack.client.post(f"{self.base}/{endpoint}", json=body)
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"
        await self.still_whole()
        message: str = response.json()["detail"]
        return message

    async def refusal_of(self, status: int, endpoint: str, content: bytes) -> str:
        """`refusal` for a body as it is spelled."""
        headers = {"content-type": "application/json"}
        response = await self.stack.client.post(f"{self.base}/{endpoint}", content=content, headers=headers)
        assert response.status_code == status, response.text
        await self.still_whole()
        message: str = response.json()["detail"]
        return message

    async def still_whole(self) -> None:
        found = await self.stack.search(self.workspace, "parse_invoice")
        assert found["result"] == "hit"
        assert found["hits"][0]["path"] == "app/parser.py"
        repositories = (await self.stack.client.get(f"{self.base}/repositories")).json()
        assert [r["root"] for r in repositories] == [str(self.folder / "good")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("rest")
    async with embedded(folder) as stack:
        yield await Place(stack, folder).prepare()


async def test_a_plain_file_is_no_repository(place: Place) -> None:
    (place.folder / "notes.txt").write_text("x")
    message = await place.refusal(422, "repositories", {"path": str(place.folder / "notes.txt")})
    assert message == f"{place.folder}/notes.txt is not a folder; give the folder of a repository"


async def test_a_path_that_is_not_there_is_told(place: Place) -> None:
    message = await place.refusal(422, "repositories", {"path": str(place.folder / "nothing")})
    assert "can't be read: No such file or directory" in message


async def test_a_loop_of_links_is_told(place: Place) -> None:
    (place.folder / "loop").symlink_to(place.folder / "loop")
    message = await place.refusal(422, "repositories", {"path": str(place.folder / "loop")})
    assert "can't be read" in message


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("relative/path", "give the absolute path"),
        ("/a\0b", "NUL"),
        ("", "at least 1 character"),
        ("x" * 5000, "at most 4096 characters"),
        ("/" + "x" * 300, "can't be read"),
    ],
)
async def test_an_odd_path_is_refused(place: Place, path: str, said: str) -> None:
    assert said in await place.refusal(422, "repositories", {"path": path})


async def test_a_tree_can_not_be_an_option_of_git(place: Place) -> None:
    assert "tree" in await place.refusal(
        422, "repositories", {"path": str(place.folder / "good"), "tree": "--upload-pack=x"}
    )


async def test_another_branch_of_an_indexed_tree_is_a_conflict_that_names_the_indexed_one(place: Place) -> None:
    sandbox = Sandbox(place.folder / "source")
    sandbox.put("a.py", "def a(): ...\n")
    sandbox.commit("Begin")
    bare = place.folder / "bare.git"
    sandbox.git("clone", "-q", "--bare", str(sandbox.root), str(bare))
    base = f"{place.base}/repositories"
    made = await place.stack.client.post(base, json={"path": str(bare)})
    try:
        refused = await place.stack.client.post(base, json={"path": str(bare), "tree": "other"})
        assert refused.status_code == 409
        assert "is indexed at 'HEAD'" in refused.json()["detail"]
        assert "remove it before" in refused.json()["detail"]
    finally:
        await place.stack.client.delete(f"{base}/{made.json()['id']}")
        await place.stack.settled()


async def test_an_empty_folder_is_a_failed_job_that_says_what_to_do(place: Place) -> None:
    empty = place.folder / "empty"
    empty.mkdir()
    workspace = await place.stack.workspace("empty")
    base = f"/v1/workspaces/{workspace}/repositories"
    repository = (await place.stack.client.post(base, json={"path": str(empty)})).json()["id"]
    assert (await place.stack.client.post(f"{base}/{repository}/index", json={})).status_code == 202
    await place.stack.settled()
    status = (await place.stack.client.get(f"{base}/{repository}/status")).json()
    assert (status["state"], status["is_searchable"]) == ("failed", False)
    assert status["job"]["error"].startswith("empty folder: there is nothing to index")
    assert "add files and index again" in status["job"]["error"]
    await place.still_whole()
    (empty / "first.py").write_text("def first_function():\n    return 1\n")
    await place.stack.index(workspace, empty)
    assert (await place.stack.search(workspace, "first_function"))["hits"][0]["path"] == "first.py"


async def test_a_workspace_without_repositories_says_so_instead_of_just_nothing(place: Place) -> None:
    workspace = await place.stack.workspace("bare")
    found = await place.stack.search(workspace, "anything")
    assert (found["result"], found["hits"]) == ("miss", [])
    assert "no repository is indexed in this workspace yet" in found["hints"]


async def test_file_names_that_are_no_text_are_shown_in_every_answer(place: Place) -> None:
    tree = place.folder / "odd names"
    tree.mkdir()
    Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9.py")).write_text("def read_menu_card():\n    return 1\n")
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe.bin")).write_bytes(b"\0\1\2")
    workspace = await place.stack.workspace("odd names")
    await place.stack.index(workspace, tree)
    found = await place.stack.search(workspace, "read_menu_card")
    assert found["hits"][0]["path"] == r"caf\xe9.py"
    base = f"/v1/workspaces/{workspace}"
    for endpoint in ("index/status", "jobs", "verify", "repositories"):
        assert (await place.stack.client.get(f"{base}/{endpoint}")).status_code == 200
    for endpoint in ("context", "prompt"):
        response = await place.stack.client.post(f"{base}/{endpoint}", json={"query": "read_menu_card"})
        assert response.status_code == 200
    status = (await place.stack.client.get(f"{base}/index/status")).json()
    assert [item["path"] for item in status[0]["left_out"]] == [r"\xff\xfe.bin"]


QUESTIONS = ("context", "search", "prompt")


@pytest.mark.parametrize("endpoint", QUESTIONS)
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "the query is empty; say what you are looking for"),
        (" \n\t ", "the query is empty"),
        ("\0\1\2\x1b\x7f", "the query is empty"),
        ("x" * (MAX_QUERY_CHARS + 1), f"at most {MAX_QUERY_CHARS} characters"),
        ("y" * 1024 * 1024, f"at most {MAX_QUERY_CHARS} characters"),
    ],
)
async def test_a_query_that_can_not_be_answered_says_why(place: Place, endpoint: str, query: str, said: str) -> None:
    assert said in await place.refusal(422, endpoint, {"query": query})


@pytest.mark.parametrize("endpoint", QUESTIONS)
async def test_a_query_that_is_no_text_is_refused_by_its_field(place: Place, endpoint: str) -> None:
    message = await place.refusal_of(422, endpoint, b'{"query": "parse_invoice \\udfff"}')
    assert message.startswith("body.query: it holds an unpaired surrogate")
    message = await place.refusal_of(422, endpoint, b'{"query": "x", "file_scope": ["a.py", "\\ud800"]}')
    assert "body.file_scope: `1` holds an unpaired surrogate" in message


async def test_a_query_that_is_no_text_is_refused_within_the_process_too(place: Place) -> None:
    tenure = place.stack.tenure
    for ask in (tenure.retrieval.retrieve, tenure.prompts.build):
        with pytest.raises(InvalidInput, match="the query holds an unpaired surrogate"):
            await ask(place.workspace, "parse_invoice \ud83d", RetrieveOptions())


async def test_an_event_that_is_no_text_is_refused_by_its_field_and_not_stored(place: Place) -> None:
    body = b'{"id": "half", "type": "edit", "at": "2026-01-01T00:00:00Z", "payload": {"a": [{"b": "\\ud800"}]}}'
    message = await place.refusal_of(422, "events", body)
    assert message.startswith("body.payload: `a.0.b` holds an unpaired surrogate")
    message = await place.refusal_of(422, "events/batch", b'{"events": [' + body + b"]}")
    assert message.startswith("body.events.0.payload: `a.0.b` holds an unpaired surrogate")
    assert "half" not in (await place.stack.client.get(f"{place.base}/events")).text


@pytest.mark.parametrize("endpoint", QUESTIONS)
async def test_a_session_that_nobody_began_is_not_found_and_one_that_was_begun_is_taken(
    place: Place, endpoint: str
) -> None:
    for unknown in ("", "nothing", str(uuid.uuid4())):
        message = await place.refusal(404, endpoint, {"query": "parse_invoice", "session_id": unknown})
        assert message == f"no session {unknown!r} of yours in this workspace; begin one first"
    begun = (await place.stack.client.post(f"{place.base}/sessions", json={"task": "Mend invoices"})).json()["id"]
    asked = {"query": "parse_invoice", "session_id": begun}
    assert (await place.stack.client.post(f"{place.base}/{endpoint}", json=asked)).status_code == 200


@pytest.mark.parametrize("endpoint", QUESTIONS)
@pytest.mark.parametrize(
    "query",
    ["parse_invoice\0\x1b[31m", "\u202eparse_invoice\u200b", '"parse_invoice" AND (', "* OR 1=1; --", "parse_invoice\ud83d\ude00", "💩" * 50, "((((" * 1000, "a" * MAX_QUERY_CHARS],
)  # fmt: skip
async def test_a_query_of_odd_characters_is_answered(place: Place, endpoint: str, query: str) -> None:
    text = query.encode("utf-16", "surrogatepass").decode("utf-16")
    body = {"query": text, "max_tokens": 89_600}
    response = await place.stack.client.post(f"{place.base}/{endpoint}", json=body)
    assert response.status_code == 200, response.text
    await place.still_whole()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "body.limit"),
        ({"limit": 201}, "body.limit"),
        ({"max_tokens": 89_601}, "body.max_tokens"),
        ({"relevance_threshold": 1.5}, "body.relevance_threshold"),
        ({"graph_depth": 4}, "body.graph_depth"),
        ({"include_tests": "maybe"}, "body.include_tests"),
        ({"preferred_edges": ["invented"]}, "body.preferred_edges"),
        ({"recency_decay": "quadratic"}, "body.recency_decay"),
        ({"fusion": "magic"}, "body.fusion"),
        ({"qurey": "x"}, "body.qurey"),
        ({"file_scope": ["a"] * 1001}, "body.file_scope"),
    ],
)
async def test_an_option_outside_its_bounds_is_named(place: Place, options: dict[str, Any], said: str) -> None:
    assert said in await place.refusal(422, "context", {"query": "x", **options})


@pytest.mark.parametrize(
    ("endpoint", "body", "field"),
    [
        ("context", {"limit": "5"}, "limit"),
        ("context", {"limit": 5.0}, "limit"),
        ("context", {"limit": True}, "limit"),
        ("search", {"explain": 1}, "explain"),
        ("search", {"include_semantic": "yes"}, "include_semantic"),
        ("context", {"relevance_threshold": "0.5"}, "relevance_threshold"),
        ("context", {"relevance_threshold": False}, "relevance_threshold"),
        ("context", {"file_scope": "app/parser.py"}, "file_scope"),
        ("context", {"file_scope": [1]}, "file_scope.0"),
        ("context", {"preferred_edges": [1]}, "preferred_edges.0"),
        ("context", {"include_tests": True}, "include_tests"),
        ("context", {"session_id": 7}, "session_id"),
        ("prompt", {"history_tokens": "10"}, "history_tokens"),
        ("events", {"at": 1_700_000_000}, "at"),
        ("events", {"at": "1700000000"}, "at"),
        ("events", {"payload_version": "1"}, "payload_version"),
        ("events", {"id": 5}, "id"),
    ],
)
async def test_a_value_of_another_type_is_refused_and_never_converted(
    place: Place, endpoint: str, body: dict[str, Any], field: str
) -> None:
    event = {"id": "typed", "type": "edit", "at": "2026-01-01T00:00:00Z"}
    good = event if endpoint == "events" else {"query": "parse_invoice"}
    assert f"body.{field}: " in await place.refusal(422, endpoint, good | body)


async def test_values_of_the_right_type_are_taken_as_json_writes_them(place: Place) -> None:
    asked = {
        "query": "parse_invoice",
        "limit": 3,
        "relevance_threshold": 0,
        "explain": True,
        "file_scope": ["app/parser.py"],
        "preferred_edges": ["calls", "imports"],
        "recency_decay": "none",
        "include_tests": "yes",
        "fusion": "rrf",
        "session_id": None,
    }
    answer = await place.stack.client.post(f"{place.base}/context", json=asked)
    assert answer.status_code == 200, answer.text
    for at in ("2026-01-01T00:00:00Z", "2026-01-01 02:00:00.5+02:00"):
        event = {"id": f"written {at}", "type": "edit", "at": at, "payload_version": 2}
        accepted = await place.stack.client.post(f"{place.base}/events", json=event)
        assert accepted.status_code == 202, accepted.text


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"type": "invented"}, "body.type"),
        ({"at": "2026-01-01T00:00:00"}, "body.at"),
        ({"at": "2126-01-01T00:00:00Z"}, "lies in the future"),
        ({"at": "0001-01-01T00:00:00+23:59"}, "is before 1970"),
        ({"payload_version": 10**20}, "body.payload_version"),
        ({"id": ""}, "body.id"),
        ({"payload": {"x": "é" * 200_000}}, "larger than"),
        ({"payload": [1]}, "body.payload"),
    ],
)
async def test_a_bad_event_is_refused_and_not_stored(place: Place, event: dict[str, Any], said: str) -> None:
    good = {"id": "bad-one", "type": "edit", "at": "2026-01-01T00:00:00Z", "payload": {}}
    assert said in await place.refusal(422, "events", good | event)
    assert "bad-one" not in (await place.stack.client.get(f"{place.base}/events")).text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_a_number_that_json_can_not_say_is_refused(place: Place, number: str) -> None:
    body = f'{{"id": "n", "type": "edit", "at": "2026-01-01T00:00:00Z", "payload": {{"x": {number}}}}}'
    response = await place.stack.client.post(
        f"{place.base}/events", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == 422
    assert (await place.stack.client.get(f"{place.base}/events")).status_code == 200


async def test_a_wrong_key_is_refused_although_none_is_needed(place: Place) -> None:
    for headers in ({"authorization": "Bearer tnr_wrong"}, {"x-api-key": "tnr_wrong"}):
        response = await place.stack.client.get("/v1/workspaces", headers=headers)
        assert response.status_code == 401
        assert "not known or was revoked" in response.json()["detail"]
    await place.still_whole()


async def test_a_name_that_is_taken_is_a_conflict_that_says_what_to_do(place: Place) -> None:
    response = await place.stack.client.post("/v1/workspaces", json={"name": "team"})
    assert response.status_code == 409
    assert response.json()["detail"] == "the workspace name 'team' is taken; choose another one"


@pytest.mark.parametrize("name", ["", " ", "a\nb", " a", "a ", "x" * 201, "a\0"])
async def test_a_name_that_nobody_could_type_is_refused(place: Place, name: str) -> None:
    response = await place.stack.client.post("/v1/workspaces", json={"name": name})
    assert response.status_code == 422
    assert "body.name" in response.json()["detail"]


async def test_a_path_outside_the_allowed_roots_is_403_and_names_the_setting(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (inside / "way_out").symlink_to(outside)
    (tmp_path / "insider").mkdir()
    async with embedded(tmp_path, indexing__allowed_roots=str(inside)) as stack:
        workspace = await stack.workspace()
        for path in (outside, inside / "way_out", inside / ".." / "outside", tmp_path / "insider", Path("/")):
            response = await stack.client.post(f"/v1/workspaces/{workspace}/repositories", json={"path": str(path)})
            assert response.status_code == 403, path
            assert "indexing.allowed_roots" in response.json()["detail"]
        allowed = await stack.client.post(f"/v1/workspaces/{workspace}/repositories", json={"path": str(inside)})
        assert allowed.status_code == 201


async def test_beyond_loopback_no_path_is_allowed_until_one_is_set(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    async with embedded(tmp_path, server__host="0.0.0.0") as stack:
        workspace = await stack.workspace()
        with pytest.raises(Exception, match=r"indexing\.allowed_roots"):
            await stack.tenure.ingestion.add_repository(workspace, str(tmp_path / "tree"))
