"""Errors as problem+json (RFC 9457)."""

import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tenure.code.masking import mask_free_text
from tenure.core.errors import TenureError
from tenure.core.surrogates import REFUSAL
from tenure.runtime.http_errors import status_of

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "2"


def problem(status: int, title: str, detail: str, **more: Any) -> Response:
    """A problem's response, secrets masked. ASCII only, so that any text that was refused can stand in it."""
    headers = {"Retry-After": RETRY_AFTER_SECONDS} if status == 503 else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"type": "about:blank", "title": title, "status": status, "detail": mask_free_text(detail), **more}
    return Response(json.dumps(body), status_code=status, media_type=PROBLEM_TYPE, headers=headers)


async def on_tenure_error(_: Request, error: Exception) -> Response:
    """An error of ours, by its class."""
    if not isinstance(error, TenureError):
        raise error
    status, title = status_of(error)
    return problem(status, title, str(error))


async def on_validation_error(_: Request, error: Exception) -> Response:
    """Input that does not fit its model: where and why, never the value."""
    if not isinstance(error, RequestValidationError):
        raise error
    found = [
        {"at": mask_free_text(".".join(str(part) for part in entry["loc"])), "message": mask_free_text(_reason(entry))}
        for entry in error.errors()
    ]
    detail = "; ".join(f"{item['at']}: {item['message']}" for item in found)
    return problem(422, "invalid input", detail, errors=found)


async def on_http_error(_: Request, error: Exception) -> Response:
    """What the framework refuses: no such route or method, an unreadable body."""
    if not isinstance(error, HTTPException):
        raise error
    response = problem(error.status_code, "error", str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def on_unexpected(_: Request, error: Exception) -> Response:  # noqa: ARG001  its text is for the log alone
    """A bug. The framework logs it; the caller learns no more than that it happened."""
    return problem(500, "internal error", "the server met an unexpected error; its log says more")


def _reason(entry: Any) -> str:
    if entry["type"] == "json_invalid":
        return f"{entry['msg']}: {entry['ctx']['error']}"
    if entry["type"] == "string_unicode":
        return f"it {REFUSAL}"
    return str(entry["msg"]).removeprefix("Value error, ")
