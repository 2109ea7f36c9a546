import os
from pathlib import Path

import pytest

from tenure.code.admission import (
    CLOCK_SLACK_NS,
    COARSE_SLACK_NS,
    MAX_SOURCE_BYTES,
    MAX_TEXT_BYTES,
    is_racy,
    reason_to_leave_out,
    signature_of,
)
from tenure.code.disk import is_unsafe


@pytest.mark.parametrize(
    ("path", "size", "reason"),
    [
        ("a.py", MAX_SOURCE_BYTES, ""),
        ("a.PY", MAX_SOURCE_BYTES + 1, "source over 8 MB"),
        ("a.json", MAX_TEXT_BYTES, ""),
        ("a.json", MAX_TEXT_BYTES + 1, "generated data over 1 MB"),
        ("README", MAX_TEXT_BYTES + 1, "generated data over 1 MB"),
        ("deploy/.env", 10, "key file"),
    ],
)
def test_a_file_is_left_out_by_its_path_and_size(path: str, size: int, reason: str) -> None:
    assert reason_to_leave_out(path, size) == reason


def test_a_rewrite_that_keeps_size_and_mtime_changes_the_signature(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one")
    before = file.stat()
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert signature_of(after) != signature_of(before) or is_racy(signature_of(before), before.st_ctime_ns)


def test_a_file_that_was_read_right_after_its_change_is_racy() -> None:
    at = 1_700_000_000_123_456_789
    signature = f"3:{at}:{at}:7"
    assert is_racy(signature, at)
    assert is_racy(signature, at + CLOCK_SLACK_NS)
    assert not is_racy(signature, at + CLOCK_SLACK_NS + 1)


def test_time_stamps_of_whole_seconds_are_given_two_seconds() -> None:
    at = 1_700_000_000 * 10**9
    assert is_racy(f"3:{at}:{at}:7", at + COARSE_SLACK_NS)
    assert not is_racy(f"3:{at}:{at}:7", at + COARSE_SLACK_NS + 1)


def test_a_change_of_the_status_alone_counts_too() -> None:
    assert is_racy("3:1000000001:1700000000123456789:7", 1_700_000_000_123_456_789)


def test_a_blob_is_never_racy() -> None:
    assert not is_racy("0" * 40, 0)


@pytest.mark.parametrize(
    "path", ["../x", "a/../x", "/etc/passwd", "a//b", ".git/config", "a/.GIT/config", ".", "a/.git"]
)
def test_a_path_that_leads_out_or_into_git_is_unsafe(path: str) -> None:
    assert is_unsafe(path)


@pytest.mark.parametrize("path", ["...", "a/..b", ".gitignore", "a/.github/x", "x.git", "a b\n"])
def test_an_odd_but_honest_path_is_safe(path: str) -> None:
    assert not is_unsafe(path)
