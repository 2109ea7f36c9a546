"""Every endpoint against two tenants with three workspaces: nothing crosses, foreign ids are 404, roles hold."""

import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tenure.core import sparse
from tenure.ports.records import Member, Role
from tenure.ports.vector_store import Point, PointFilterFields, Space
from tenure.runtime.auth import issue_key
from tests.support.embedded import ANY_TIME, write_tree
from tests.support.tenants import Tenancy, Tenants, symbol_of, tenants

pytestmark = pytest.mark.asyncio(loop_scope="module")

W = "/v1/workspaces/{workspace_id}"
Body = Callable[[Tenancy], Any]
QUESTION = "Which quokka posts an entry to the shared ledger?"


@dataclass(frozen=True)
class Row:
    """How an endpoint is called. `role` None: any caller; `is_open`: without a key as well. `foreign` are bodies of
    the caller's own workspace that name things of another one.
    """

    role: Role | None = None
    body: Body = lambda _: None
    query: str = ""
    is_open: bool = False
    is_destructive: bool = False
    foreign: tuple[Body, ...] = ()


def _event(tenancy: Tenancy, **more: Any) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "type": "edit", "at": ANY_TIME.isoformat(), "payload": {"path": "a.py"}, **more}


def _ask(**more: Any) -> Body:
    return lambda _: {"query": QUESTION, **more}


_RETRIEVE = Row(
    Role.VIEWER,
    _ask(limit=50, graph_depth=3, explain=True),
    foreign=(
        lambda t: {"query": QUESTION, "repository_ids": [t.repository_id]},
        lambda t: {"query": QUESTION, "session_id": t.session_id},
    ),
)
MATRIX: dict[tuple[str, str], Row] = {
    ("GET", "/health/live"): Row(is_open=True),
    ("GET", "/health/ready"): Row(is_open=True),
    ("GET", "/metrics"): Row(),
    ("GET", "/openapi.json"): Row(is_open=True),
    ("GET", "/v1/locate"): Row(query="?path=/"),
    ("GET", "/v1/workspaces"): Row(),
    ("POST", "/v1/workspaces"): Row(body=lambda _: {"name": str(uuid.uuid4())}),
    ("DELETE", W): Row(Role.OWNER, is_destructive=True),
    ("GET", W + "/members"): Row(Role.VIEWER),
    ("PUT", W + "/members"): Row(
        Role.OWNER,
        lambda _: {"name": "new", "role": "viewer"},
        foreign=(lambda t: {"name": "x", "role": "owner", "principal_id": t.member_id},),
    ),
    ("DELETE", W + "/members/{principal_id}"): Row(Role.OWNER, is_destructive=True),
    ("GET", W + "/keys"): Row(Role.OWNER),
    ("POST", W + "/keys"): Row(
        Role.OWNER, lambda t: {"principal_id": t.member_id}, foreign=(lambda t: {"principal_id": t.member_id},)
    ),
    ("DELETE", W + "/keys/{key_id}"): Row(Role.OWNER, is_destructive=True),
    ("GET", W + "/repositories"): Row(Role.VIEWER),
    ("POST", W + "/repositories"): Row(Role.EDITOR, lambda t: {"path": t.root}),
    ("DELETE", W + "/repositories/{repository_id}"): Row(Role.EDITOR, is_destructive=True),
    ("POST", W + "/repositories/{repository_id}/index"): Row(Role.EDITOR, lambda _: {}),
    ("POST", W + "/repositories/{repository_id}/embed"): Row(Role.EDITOR),
    ("GET", W + "/repositories/{repository_id}/status"): Row(Role.VIEWER),
    ("GET", W + "/index/status"): Row(Role.VIEWER),
    ("GET", W + "/jobs"): Row(Role.VIEWER),
    ("GET", W + "/verify"): Row(Role.VIEWER),
    ("POST", W + "/repair"): Row(Role.OWNER),
    ("POST", W + "/rebuild"): Row(Role.OWNER),
    ("POST", W + "/context"): _RETRIEVE,
    ("POST", W + "/search"): _RETRIEVE,
    ("POST", W + "/prompt"): Row(
        Role.VIEWER,
        _ask(graph_depth=3),
        foreign=_RETRIEVE.foreign,
    ),
    ("POST", W + "/impact"): Row(
        Role.VIEWER,
        lambda t: {"repository_id": t.repository_id, "paths": [f"{t.name}/ledger.py"]},
        foreign=(lambda t: {"repository_id": t.repository_id, "paths": [f"{t.name}/ledger.py"]},),
    ),
    ("POST", W + "/events"): Row(Role.EDITOR, _event),
    ("POST", W + "/events/batch"): Row(Role.EDITOR, lambda t: {"events": [_event(t), _event(t)]}),
    ("GET", W + "/events"): Row(Role.VIEWER),
    ("GET", W + "/timeline"): Row(Role.VIEWER),
    ("POST", W + "/sessions"): Row(Role.EDITOR, lambda _: {"task": "something"}),
    ("POST", W + "/sessions/{session_id}/commit"): Row(Role.EDITOR),
    ("POST", W + "/sessions/{session_id}/resume"): Row(Role.VIEWER),
}
SCOPED = [key for key in MATRIX if "{workspace_id}" in key[1]]
WITH_IDS = [key for key in SCOPED if key[1].count("{") > 1]
WITH_BODY = [key for key, row in MATRIX.items() if row.body(Tenancy("any", "any")) is not None]
FOREIGN_BODIES = [(*key, body) for key in MATRIX for body in MATRIX[key].foreign]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tenants]:
    async with tenants(tmp_path_factory.mktemp("tenants")) as world:
        yield world


async def _call(
    world: Tenants, person: str | None, method: str, template: str, tenancy: Tenancy, body: Any = None
) -> httpx.Response:
    row = MATRIX[method, template]
    async with world.as_(person) as client:
        sent = row.body(tenancy) if body is None else body
        return await client.request(method, tenancy.path(template) + row.query, json=sent)


def _without_echo(response: httpx.Response) -> str:
    """What was answered, without the question that was asked."""
    return response.text.replace(QUESTION, "")


async def test_the_matrix_has_a_row_for_every_route_of_the_app(world: Tenants) -> None:
    routes = {
        (method, path) for path, methods in _routes(world.stack.app.routes) for method in methods - {"HEAD", "OPTIONS"}
    }
    assert routes == set(MATRIX), "a new endpoint needs a row here"


async def test_the_api_page_names_every_endpoint_with_its_role() -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    for (method, template), row in MATRIX.items():
        call = f"{method} {template.removeprefix(W)}".strip()
        role = row.role.value if row.role else "all" if row.is_open else "any key"
        assert re.search(rf"^\| `{re.escape(call)}(\?[^`]*)?` \| {role} \|", page, re.MULTILINE), call


def _routes(routes: Iterable[Any]) -> Iterator[tuple[str, set[str]]]:
    """Paths and methods; what a router brought along is found inside of it."""
    for route in routes:
        inside = getattr(route, "effective_route_contexts", None)
        if inside is not None:
            yield from _routes(inside())
        else:
            yield route.path, set(route.methods)


@pytest.mark.parametrize(("method", "template"), MATRIX)
async def test_without_a_key_nothing_but_the_open_endpoints_answers(world: Tenants, method: str, template: str) -> None:
    response = await _call(world, None, method, template, world.red)
    expected = {True: {200}, False: {401}}[MATRIX[method, template].is_open]
    assert response.status_code in expected, response.text
    assert world.red.root not in response.text


@pytest.mark.parametrize(("method", "template"), WITH_BODY)
async def test_no_endpoint_takes_a_body_with_a_key_twice(world: Tenants, method: str, template: str) -> None:
    twice = f'{{"name": "a", "n\\u0061me": "b", "rest": {json.dumps(MATRIX[method, template].body(world.red))}}}'
    async with world.as_("ada") as client:
        headers = {"content-type": "application/json"}
        response = await client.request(method, world.red.path(template), content=twice, headers=headers)
    assert response.status_code == 422, response.text
    assert response.json()["detail"] == "the body holds the key 'name' twice in one object; send it once"


@pytest.mark.parametrize(("method", "template"), SCOPED)
@pytest.mark.parametrize("stranger", ["bob"])
async def test_a_workspace_of_another_tenant_is_404_whatever_is_asked_of_it(
    world: Tenants, stranger: str, method: str, template: str
) -> None:
    response = await _call(world, stranger, method, template, world.red)
    assert response.status_code == 404, response.text
    assert world.red.marker not in response.text


@pytest.mark.parametrize(("method", "template"), SCOPED)
@pytest.mark.parametrize("person", ["viewer", "editor"])
async def test_a_role_opens_what_it_may_and_nothing_more(
    world: Tenants, person: str, method: str, template: str
) -> None:
    row = MATRIX[method, template]
    assert row.role is not None
    if Role(person).rank >= row.role.rank and (row.is_destructive or "{session_id}" in template):
        return  # done to the things of others in other tests
    response = await _call(world, person, method, template, world.red)
    if Role(person).rank < row.role.rank:
        assert response.status_code == 403, response.text
        assert f"needs the role {row.role.value}; you are {person}" in response.json()["detail"]
    else:
        assert response.is_success, response.text


@pytest.mark.parametrize(("method", "template"), [key for key in MATRIX if not MATRIX[key].is_destructive])
@pytest.mark.parametrize("mine", ["red", "green", "blue"])
async def test_no_answer_holds_anything_of_another_workspace(
    world: Tenants, mine: str, method: str, template: str
) -> None:
    tenancy: Tenancy = getattr(world, mine)
    response = await _call(world, "bob" if mine == "blue" else "ada", method, template, tenancy)
    assert response.is_success, response.text
    others = [world.red, world.green, world.blue]
    hidden = [other for other in others if other is not tenancy and ("{workspace_id}" in template or mine == "blue")]
    if "{workspace_id}" not in template and mine != "blue":
        hidden = [world.blue]
    for other in hidden:
        assert other.marker not in _without_echo(response)
        assert other.repository_id not in response.text


@pytest.mark.parametrize(("method", "template"), WITH_IDS)
@pytest.mark.parametrize("theirs", ["green", "blue"])
async def test_an_id_of_another_workspace_is_404_in_ones_own_even_for_the_owner_of_both(
    world: Tenants, theirs: str, method: str, template: str
) -> None:
    other: Tenancy = getattr(world, theirs)
    mixed = template.replace("{workspace_id}", world.red.workspace_id)
    async with world.as_("ada") as client:
        response = await client.request(method, other.path(mixed), json=MATRIX[method, template].body(other))
    assert response.status_code == 404, response.text


@pytest.mark.parametrize(("method", "template"), WITH_IDS)
@pytest.mark.parametrize("odd", ["nothing", "00000000-0000-0000-0000-000000000000", "%00", "..%2F..", "%F0%9F%92%A9"])
async def test_an_id_that_never_was_is_refused_and_never_a_crash(
    world: Tenants, odd: str, method: str, template: str
) -> None:
    path = template.replace("{workspace_id}", world.red.workspace_id)
    for placeholder in ("{repository_id}", "{session_id}", "{principal_id}", "{key_id}"):
        path = path.replace(placeholder, odd)
    async with world.as_("ada") as client:
        response = await client.request(method, path, json=MATRIX[method, template].body(world.red))
    assert response.status_code in {404, 405, 422}, response.text


@pytest.mark.parametrize(("method", "template", "body"), FOREIGN_BODIES)
async def test_a_foreign_id_in_a_body_is_404(world: Tenants, method: str, template: str, body: Body) -> None:
    async with world.as_("bob") as client:
        response = await client.request(method, world.blue.path(template), json=body(world.red))
    assert response.status_code == 404, response.text
    assert world.red.marker not in _without_echo(response)


@pytest.mark.parametrize("endpoint", ["context", "search", "prompt"])
async def test_the_exact_name_of_a_foreign_symbol_finds_nothing_of_it(world: Tenants, endpoint: str) -> None:
    asked = symbol_of("red")
    async with world.as_("bob") as client:
        response = await client.post(
            world.blue.path(f"{W}/{endpoint}"), json={"query": asked, "limit": 200, "graph_depth": 3, "explain": True}
        )
    assert response.status_code == 200
    assert world.red.marker not in response.text
    assert world.red.repository_id not in response.text


async def test_the_owner_finds_the_canaries_so_that_the_matrix_can_fail(world: Tenants) -> None:
    async with world.as_("ada") as client:
        for endpoint in ("context", "prompt"):
            response = await client.post(world.red.path(f"{W}/{endpoint}"), json={"query": symbol_of("red")})
            assert world.red.marker in response.text
        assert world.red.marker in (await client.get(world.red.path(f"{W}/events"))).text


async def test_a_path_in_a_tree_of_another_tenant_is_located_nowhere(world: Tenants) -> None:
    async with world.as_("bob") as client:
        for path in (world.red.root, f"{world.red.root}/red/ledger.py", "/"):
            assert (await client.get("/v1/locate", params={"path": path})).json() == []
        mine = (await client.get("/v1/locate", params={"path": f"{world.blue.root}/x"})).json()
    assert [entry["repository_id"] for entry in mine] == [world.blue.repository_id]


async def test_a_sibling_whose_name_begins_alike_is_not_inside(world: Tenants) -> None:
    async with world.as_("bob") as client:
        assert (await client.get("/v1/locate", params={"path": world.blue.root + "ish/x"})).json() == []


@pytest.mark.parametrize("field", ["file_scope", "directory_scope", "repository_ids", "languages"])
@pytest.mark.parametrize("entries", [[""], [" "], ["/"], ["a", ""]])
async def test_an_empty_filter_is_refused_and_never_means_everything(
    world: Tenants, field: str, entries: list[str]
) -> None:
    async with world.as_("ada") as client:
        response = await client.post(world.red.path(W + "/context"), json={"query": QUESTION, field: entries})
    assert response.status_code == 422
    assert "never means everything" in response.json()["detail"]


async def test_a_body_can_not_choose_who_acts(world: Tenants) -> None:
    async with world.as_("editor") as client:
        event = _event(world.red, actor=world.callers["ada"].principal_id)
        assert (await client.post(world.red.path(W + "/events"), json=event)).status_code == 422
        event.pop("actor")
        assert (await client.post(world.red.path(W + "/events"), json=event)).status_code == 202
        found = (await client.get(world.red.path(W + "/timeline"))).json()
    assert next(e for e in found if e["id"] == event["id"])["actor"] == world.callers["editor"].principal_id


async def test_another_member_gets_neither_a_session_nor_its_text(world: Tenants) -> None:
    async with world.as_("editor") as client:
        for call in ("resume", "commit"):
            response = await client.post(world.red.path(W + "/sessions/{session_id}/" + call))
            assert response.status_code == 404
        body = {"query": QUESTION, "session_id": world.red.session_id}
        for question in ("/context", "/search", "/prompt"):
            response = await client.post(world.red.path(W + question), json=body)
            assert (response.status_code, response.json()["title"]) == (404, "not found"), question
        theirs = _event(world.red, session_id=world.red.session_id)
        assert (await client.post(world.red.path(W + "/events"), json=theirs)).status_code == 404
        events = (await client.get(world.red.path(W + "/events"))).json()
    begun = next(event for event in events if event["session_id"] == world.red.session_id)
    assert begun["payload"] == {}


async def test_an_owner_can_not_make_a_key_that_opens_another_tenants_workspace(world: Tenants) -> None:
    directory = world.stack.tenure.infrastructure.database.directory
    bob = world.callers["bob"].principal_id
    await directory.put_member(Member(world.red.workspace_id, bob, "bob", Role.VIEWER))
    stored, _ = await issue_key(directory, world.stack.tenure.infrastructure.clock, bob)
    try:
        async with world.as_("ada") as ada, world.as_("bob") as bobs:
            refused = await ada.post(world.red.path(W + "/keys"), json={"principal_id": bob})
            assert refused.status_code == 403
            assert (await ada.delete(world.red.path(W + "/keys/") + stored.id)).status_code == 403
            assert (await bobs.get(world.blue.path(W + "/repositories"))).status_code == 200
    finally:
        await directory.remove_member(world.red.workspace_id, bob)


async def test_a_thousand_points_of_another_workspace_change_no_score(world: Tenants, tmp_path: Any) -> None:
    async def scores() -> Any:
        async with world.as_("bob") as client:
            body = {"query": QUESTION, "limit": 50, "explain": True}
            bundle = (await client.post(world.blue.path(W + "/context"), json=body)).json()
        items = [(i["id"], i["score"], i["relevance"], i["parts"]) for i in bundle["items"]]
        return items, bundle["explanation"]["documents"]

    before = await scores()
    assert before[0]
    infrastructure = world.stack.tenure.infrastructure
    terms = sorted({sparse.term_index(word) for word in QUESTION.lower().replace("?", "").split()})
    vector = sparse.Sparse(terms, [1.0] * len(terms))
    for space in (Space.CHUNK, Space.FILE, Space.PROFILE, Space.EPISODE):
        points = [
            Point(
                str(uuid.uuid5(uuid.NAMESPACE_URL, f"{space}{number}")),
                {space: vector},
                PointFilterFields(world.green.repository_id, world.green.repository_id, 1),
                world.green.repository_id,
            )
            for number in range(1000)
        ]
        await infrastructure.vectors.upsert(world.green.workspace_id, points)
    crowd = {f"m{n}.py": f"def quokka_shared_ledger_entry_{n}(posts):\n    return {n}\n" for n in range(60)}
    await world.stack.index(world.green.workspace_id, write_tree(tmp_path / "crowd", crowd).root)
    assert await infrastructure.vectors.count(world.green.workspace_id) > 4000
    assert json.dumps(await scores()) == json.dumps(before)


ENDS = sorted((key for key in SCOPED if MATRIX[key].is_destructive), reverse=True)
"""The repository, the member and its key, the workspace: what would take another one with it comes later."""
ENDS.sort(key=lambda key: ("/keys" not in key[1], key[1] == W))


@pytest.mark.parametrize(("method", "template"), ENDS)
async def test_what_is_deleted_is_gone_in_its_own_workspace_only(world: Tenants, method: str, template: str) -> None:
    """Last in the file: it takes the red workspace apart."""
    async with world.as_("ada") as ada, world.as_("bob") as bob:
        watched = ("repositories", "members", "keys", "events", "index/status")
        before = [(await bob.get(world.blue.path(f"{W}/{name}"))).json() for name in watched]
        assert (await ada.request(method, world.red.path(template))).status_code == 204
        await world.stack.settled()
        assert (await ada.request(method, world.red.path(template))).status_code in {204, 404}
        after = [(await bob.get(world.blue.path(f"{W}/{name}"))).json() for name in watched]
        found = await bob.post(world.blue.path(W + "/search"), json={"query": symbol_of("blue")})
    assert after == before
    assert found.json()["hits"][0]["title"] == symbol_of("blue")
    vectors = world.stack.tenure.infrastructure.vectors
    if template == W:
        assert await vectors.count(world.red.workspace_id) == 0
    assert await vectors.count(world.blue.workspace_id) > 0
