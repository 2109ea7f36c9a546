"""One process per home: by a lock that dies with its holder, and by an address that can't be taken for another's."""

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tenure.core.errors import InvalidInput, RecordConflict, StoreUnavailable
from tenure.runtime.home import prepare_home
from tenure.workspace.home_lock import Holder, exclusive, holder, refuse_if_open, serving, starting
from tenure.workspace.local_server import stop
from tenure.workspace.server_address import ServerAddress, address_path, answers, read_address, write_address

_HOLD = """
import sys, time
from pathlib import Path
from tenure.workspace import home_lock
with getattr(home_lock, sys.argv[2])(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def _hold(home: Path, how: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(home), how], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_nobody_holds_a_home_that_was_never_used(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert stop(tmp_path) is False
    refuse_if_open(tmp_path)


def test_the_holder_is_told_and_gone_when_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path):
        assert holder(tmp_path) == Holder(os.getpid(), is_server=True)
        with pytest.raises(RecordConflict, match="runs already"), serving(tmp_path):
            pass
        with pytest.raises(StoreUnavailable, match="tenure stop"), exclusive(tmp_path):
            pass
        with pytest.raises(StoreUnavailable, match="tenure stop"):
            refuse_if_open(tmp_path)
    assert holder(tmp_path) is None


def test_an_offline_command_is_waited_for_not_stopped(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        assert stop(tmp_path) is False
        with pytest.raises(StoreUnavailable, match=r"an offline command has the stores .* wait"), exclusive(tmp_path):
            pass


def test_a_killed_server_leaves_no_lock_behind(tmp_path: Path) -> None:
    process = _hold(tmp_path, "serving")
    assert holder(tmp_path) == Holder(process.pid, is_server=True)
    process.kill()
    process.wait()
    assert holder(tmp_path) is None
    with serving(tmp_path):
        pass


def test_stop_signals_the_holder_and_never_who_stands_in_an_old_address(tmp_path: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process = _hold(tmp_path, "serving")
    try:
        write_address(tmp_path, ServerAddress("http://127.0.0.1:1", bystander.pid, "old"))
        assert stop(tmp_path) is True
        assert process.wait() == -signal.SIGTERM
        assert stop(tmp_path) is False
        assert bystander.poll() is None
    finally:
        for one in (bystander, process):
            one.kill()
            one.wait()


def test_one_client_at_a_time_may_start_a_server(tmp_path: Path) -> None:
    with starting(tmp_path) as first, starting(tmp_path) as second:
        assert (first, second) == (True, False)
    with starting(tmp_path) as again:
        assert again


def test_a_server_starts_although_clients_keep_looking_whether_one_runs(tmp_path: Path) -> None:
    with serving(tmp_path):
        pass
    ends = threading.Event()

    def look() -> None:
        while not ends.is_set():
            holder(tmp_path)

    looking = [threading.Thread(target=look) for _ in range(4)]
    for thread in looking:
        thread.start()
    try:
        for _ in range(20):
            with serving(tmp_path):
                pass
    finally:
        ends.set()
        for thread in looking:
            thread.join()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"url": "http://x"}', '{"url": 1, "pid": "x", "instance": 2}', "\0"]
)
def test_an_address_that_is_broken_counts_as_none(tmp_path: Path, text: str) -> None:
    address_path(tmp_path).write_text(text)
    assert read_address(tmp_path) is None


def test_another_server_on_the_same_port_is_not_taken_for_this_homes() -> None:
    class Live(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"status": "live", "instance": "theirs"}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Live)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        assert answers(ServerAddress(url, 1, "theirs"))
        assert not answers(ServerAddress(url, 1, "ours"))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not answers(ServerAddress(url, 1, "theirs"))


def test_a_home_that_is_a_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidInput, match="set TENURE_HOME"):
            prepare_home(home)


def test_a_new_home_is_for_its_user_only(tmp_path: Path) -> None:
    prepare_home(tmp_path / "a" / "home")
    assert (tmp_path / "a" / "home").stat().st_mode & 0o777 == 0o700
