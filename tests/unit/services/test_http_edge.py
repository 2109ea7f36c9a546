"""What the HTTP edge does before and after a handler: problems, guards, limits, request ids."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tenure.contracts.wire import WireRequest
from tenure.core import errors
from tenure.runtime.auth import LOCAL_CALLER, Caller
from tenure.runtime.http_errors import STATUS, error_of, status_of
from tenure.runtime.loopback import is_loopback_name
from tenure.runtime.metrics import Metrics
from tenure.runtime.web import CurrentCaller, create_app

LIMIT = 1000


class _AnyKey:
    """Takes any key; the matrix of real keys is tested with the directory."""

    async def caller(self, key: str | None) -> Caller:
        return LOCAL_CALLER if key is None else Caller("p", key)


class Body(WireRequest):
    text: str
    more: Mapping[str, Any] = {}


def _app(*, is_loopback_only: bool = True) -> tuple[FastAPI, Metrics]:
    metrics = Metrics()
    app = create_app(_AnyKey(), metrics, LIMIT, is_loopback_only=is_loopback_only)  # type: ignore[arg-type]  # only `caller` is used

    @app.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise getattr(errors, name)(f"{name} \ud800 happened; do this")

    @app.get("/bug")
    async def bug() -> None:
        raise RuntimeError("canary in the traceback")

    @app.post("/echo")
    async def echo(body: Body) -> dict[str, str]:
        return {"text": body.text}

    @app.get("/me")
    async def me(caller: CurrentCaller) -> dict[str, str]:
        return {"name": caller.name}

    return app, metrics


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(_app()[0], raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7878") as client:
        yield client


def _problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["title"]
    return body


@pytest.mark.parametrize(("kind", "status", "title"), STATUS)
async def test_each_error_of_ours_becomes_a_problem_with_its_message(
    client: httpx.AsyncClient, kind: type[errors.TenureError], status: int, title: str
) -> None:
    response = await client.get(f"/raise/{kind.__name__}")
    problem = _problem(response, status)
    assert problem["title"] == title
    assert problem["detail"].startswith(kind.__name__)
    assert ("retry-after" in response.headers) == (status == 503)
    assert ("www-authenticate" in response.headers) == (status == 401)


def test_every_error_class_has_a_status_and_comes_back_as_itself() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind is not errors.TenureError]
    for kind in kinds:
        status, title = status_of(kind("x"))
        assert status != 500, kind
        assert type(error_of(status, title, "x")) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, errors.NotAuthenticated), (413, errors.InvalidInput), (418, errors.InvalidInput), (500, errors.StoreUnavailable), (502, errors.StoreUnavailable)],
)  # fmt: skip
def test_a_foreign_answer_is_told_by_its_status(status: int, kind: type[errors.TenureError]) -> None:
    assert type(error_of(status, "", "x")) is kind


async def test_a_bug_is_a_problem_that_tells_nothing_of_itself(client: httpx.AsyncClient) -> None:
    assert "canary" not in json.dumps(_problem(await client.get("/bug"), 500))


async def test_what_the_framework_refuses_is_a_problem_too(client: httpx.AsyncClient) -> None:
    _problem(await client.get("/nowhere"), 404)
    wrong_method = await client.get("/echo")
    _problem(wrong_method, 405)
    assert wrong_method.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"text": 3}', "body.text"),
        (b'{"text": "a", "txet": "b"}', "body.txet"),
        (b'{"text": "a", "\\ud800": "b"}', "no text"),
        (b'{"text": "a\\ud800"}', "body.text: it holds an unpaired surrogate"),
        (b'{"text": "a\xed\xa0\x80"}', "body.text: it holds an unpaired surrogate"),
        (b'{"text": "a", "more": {"k": ["b", "\\udc00"]}}', "body.more: `k.1` holds an unpaired surrogate"),
        (b'{"text": "a", "more": {"k\\ud800": 1}}', "holds an unpaired surrogate, which is no text; send valid"),
        (b"{", "JSON decode error: "),
        (b"", "body"),
        (b"[" * 900, "body"),
    ],
)
async def test_a_body_that_does_not_fit_is_told_by_place_and_reason(
    client: httpx.AsyncClient, body: bytes, said: str
) -> None:
    response = await client.post("/echo", content=body, headers={"content-type": "application/json"})
    assert response.status_code in {400, 422}
    assert said in _problem(response, response.status_code)["detail"]


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"text": "a", "text": "b"}', "text"),
        ('{"text": "a", "text": "a"}', "text"),
        ('{"text": "a", "more": {"x": [1, {"y": 1, "z": 2, "\\u0079": 3}]}}', "y"),
        ('{"text": "a", "more": {"": 1, "": 2}}', ""),
    ],
)
async def test_a_key_twice_in_one_object_is_refused_by_its_name(client: httpx.AsyncClient, body: str, key: str) -> None:
    response = await client.post("/echo", content=body, headers={"content-type": "application/json"})
    assert f"the body holds the key {key!r} twice in one object" in _problem(response, 422)["detail"]


async def test_a_secret_that_is_a_key_twice_is_not_repeated(client: httpx.AsyncClient) -> None:
    secret = "ghp_" + "b2C3" * 9
    body = f'{{"text": "a", "more": {{"{secret}": 1, "{secret}": 2}}}}'
    response = await client.post("/echo", content=body, headers={"content-type": "application/json"})
    assert secret not in _problem(response, 422)["detail"]


async def test_the_same_key_in_two_objects_is_no_double(client: httpx.AsyncClient) -> None:
    body = {"text": "a", "more": {"text": {"text": [{"text": 1}, {"text": 2}]}}}
    assert (await client.post("/echo", json=body)).json() == {"text": "a"}


async def test_a_body_of_bytes_that_are_no_text_is_refused_not_a_crash(client: httpx.AsyncClient) -> None:
    response = await client.post("/echo", content=b'{"text": "\xff\xfe"}', headers={"content-type": "application/json"})
    assert response.status_code in {400, 422}


async def test_a_validation_error_never_repeats_the_value(client: httpx.AsyncClient) -> None:
    response = await client.post("/echo", json={"text": ["canary"]})
    assert "canary" not in response.text


async def test_an_announced_body_over_the_limit_is_413(client: httpx.AsyncClient) -> None:
    problem = _problem(await client.post("/echo", json={"text": "x" * LIMIT}), 413)
    assert "server.max_body_bytes" in problem["detail"]


async def test_a_streamed_body_over_the_limit_is_413(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"text": "'
        for _ in range(20):
            yield b"x" * 100
        yield b'"}'

    response = await client.post("/echo", content=chunks(), headers={"content-type": "application/json"})
    _problem(response, 413)


async def test_a_streamed_body_under_the_limit_passes(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"text": '
        yield b'"abc"}'

    response = await client.post("/echo", content=chunks(), headers={"content-type": "application/json"})
    assert response.json() == {"text": "abc"}


@pytest.mark.parametrize("length", ["-1", "1e3", "٣", "x"])
async def test_a_content_length_that_is_no_number_is_413(client: httpx.AsyncClient, length: str) -> None:
    headers = [(b"content-length", length.encode()), (b"content-type", b"application/json")]
    _problem(await client.post("/echo", content=b"{}", headers=headers), 413)


@pytest.mark.parametrize(
    ("authority", "is_ours"),
    [
        ("localhost", True),
        ("LOCALHOST:7878", True),
        ("127.0.0.1:1", True),
        ("127.8.9.1", True),
        ("[::1]:7878", True),
        ("[::1]", True),
        ("", False),
        ("127.evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:7878", False),
        ("127.0.0.1.evil.example", False),
        ("[::1", False),
        ("[::1]x", False),
        ("::1", False),
        ("127.0.0.1:x", False),
        ("user@127.0.0.1", False),
        ("0.0.0.0", False),
        ("192.168.0.1", False),
    ],
)
def test_only_literal_loopback_names_mean_this_machine(authority: str, is_ours: bool) -> None:
    assert is_loopback_name(authority) is is_ours


async def test_a_rebound_host_name_is_refused_on_loopback(client: httpx.AsyncClient) -> None:
    assert "loopback" in _problem(await client.get("/me", headers={"host": "evil.example"}), 403)["detail"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "https://127.0.0.1:7878"])
async def test_a_foreign_origin_is_refused_even_from_another_port_of_this_machine(
    client: httpx.AsyncClient, origin: str
) -> None:
    _problem(await client.get("/me", headers={"origin": origin}), 403)


async def test_the_servers_own_origin_passes(client: httpx.AsyncClient) -> None:
    assert (await client.get("/me", headers={"origin": "http://127.0.0.1:7878"})).status_code == 200


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_only_json_bodies_are_taken_on_loopback(client: httpx.AsyncClient, media_type: str) -> None:
    headers = {"content-type": media_type} if media_type else {}
    _problem(await client.post("/echo", content=b'{"text": "a"}', headers=headers), 415)


async def test_json_with_a_charset_is_json(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    assert (await client.post("/echo", content=b'{"text": "a"}', headers=headers)).status_code == 200


async def test_no_page_of_ours_runs_scripts_of_another_site(client: httpx.AsyncClient) -> None:
    assert (await client.get("/docs")).status_code == 404
    assert (await client.get("/openapi.json")).status_code == 200
    answer = await client.options("/echo", headers={"access-control-request-method": "POST"})
    assert "access-control-allow-origin" not in answer.headers


async def test_beyond_loopback_the_host_may_be_any_name() -> None:
    transport = httpx.ASGITransport(_app(is_loopback_only=False)[0])
    async with httpx.AsyncClient(transport=transport, base_url="http://tenure.example") as client:
        assert (await client.get("/me")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({}, "local"),
        ({"authorization": "Bearer k1"}, "k1"),
        ({"authorization": "bearer  k1 "}, "k1"),
        ({"x-api-key": "k2"}, "k2"),
        ({"authorization": "Bearer k1", "x-api-key": "k2"}, "k1"),
    ],
)
async def test_a_key_comes_in_either_header(client: httpx.AsyncClient, headers: dict[str, str], name: str) -> None:
    assert (await client.get("/me", headers=headers)).json() == {"name": name}


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
        {"authorization": ""},
        {"authorization": "Basic YTpi"},
        {"authorization": "k1"},
        {"x-api-key": ""},
        {"x-api-key": " "},
        {"authorization": "Basic YTpi", "x-api-key": "k2"},
    ],
)
async def test_an_empty_or_odd_credential_is_never_taken_for_the_local_caller(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    _problem(await client.get("/me", headers=headers), 401)


async def test_every_answer_has_a_request_id_the_clients_own_if_it_is_fit(client: httpx.AsyncClient) -> None:
    assert (await client.get("/me", headers={"x-request-id": "abc-1_2"})).headers["x-request-id"] == "abc-1_2"
    for unfit in ("", "a b", "x" * 101, "a;b"):
        given = (await client.get("/me", headers={"x-request-id": unfit})).headers["x-request-id"]
        assert given != unfit
        assert len(given) == 32


async def test_requests_are_counted_by_route_template_never_by_path() -> None:
    app, metrics = _app()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get("/raise/NotAllowed")
        await client.get("/secret-path")
        await client.get("/me", headers={"host": "evil.example"})
    exposition = metrics.render().decode()
    assert 'route="/raise/{name}",status="403"' in exposition
    assert "secret-path" not in exposition
    assert 'route="unmatched",status="404"' in exposition
    assert 'route="unmatched",status="403"' in exposition
