"""A real HTTP server on loopback that answers `/v1/embeddings`, as scripted."""

import json
import math
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 16


@dataclass
class Reply:
    """One scripted answer. `body` None is a good answer; `hold` waits for the endpoint's `release` first."""

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hold: bool = False


class EmbeddingEndpoint:
    """Answers the scripted replies in turn, then good ones. Vectors count hashed words, at any length but 1."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.looked_at: list[str] = []
        self.refused_word = ""
        self.dimension = DIMENSION
        self.release = threading.Event()

    def answer(self, body: dict[str, Any], authorization: str | None) -> Reply:
        """The reply to one request, which is noted."""
        self.requests.append(body)
        self.authorizations.append(authorization)
        reply = self.script.pop(0) if self.script else Reply()
        if self.refused_word and any(self.refused_word in text for text in body["input"]):
            return Reply(400, json.dumps({"error": {"message": "this text can't be embedded"}}).encode())
        if reply.hold:
            self.release.wait(20)
        if reply.body is None:
            rows = [{"index": at, "embedding": self.vector(text)} for at, text in enumerate(body["input"])]
            reply.body = json.dumps({"data": list(reversed(rows)), "model": body["model"]}).encode()
        return reply

    def vector(self, text: str) -> list[float]:
        """Counts of words by hash, never all zero."""
        counts = [0.0] * self.dimension
        counts[0] = 0.5
        for word in text.split():
            counts[zlib.crc32(word.encode()) % self.dimension] += 1.0
        return counts


@contextmanager
def embedding_endpoint() -> Iterator[EmbeddingEndpoint]:
    """A server on a free port of loopback, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = endpoint.answer(body, self.headers.get("Authorization"))
            if self.path != "/v1/embeddings":
                reply = Reply(404, b"no such page")
            assert reply.body is not None
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                pass  # the client gave up, as a test of timeouts wants it to

        def do_GET(self) -> None:
            reply = endpoint.script.pop(0) if endpoint.script else Reply(200, b'{"data": []}')
            endpoint.looked_at.append(self.path)
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.body or b"")))
            self.end_headers()
            self.wfile.write(reply.body or b"")

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    endpoint = EmbeddingEndpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


def cosine(left: Any, right: Any) -> float:
    """The cosine of two vectors."""
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    return float(dot / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right)))
