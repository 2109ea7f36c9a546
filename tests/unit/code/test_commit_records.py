from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.history import MAX_MESSAGE_CHARS, MAX_TOUCHED_FILES, Change, parse_record
from tenure.core.errors import InvalidInput

SHA = b"a" * 40


def record(
    message: bytes = b"Mend it", entries: bytes = b"", at: bytes = b"1700000000", author: bytes = b"Ada"
) -> bytes:
    return b"\0".join([SHA, b"P" + b"b" * 40, b"T" + at, b"N" + author, b"B" + message, b"", b""]) + entries


def test_a_record_gives_its_fields() -> None:
    commit = parse_record(record(b"Mend it\n\nWith care.\n", b"\nM\0a.py\0"))
    assert (commit.sha, commit.parents, commit.author) == ("a" * 40, ("b" * 40,), "Ada")
    assert (commit.subject, commit.message) == ("Mend it", "Mend it\n\nWith care.")
    assert commit.authored_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert commit.changes == (Change("M", "a.py"),)


def test_a_rename_names_both_paths_and_a_copy_is_a_new_file() -> None:
    commit = parse_record(record(entries=b"\nR097\0old name\0new\nname\0C050\0src\0copy\0D\0gone\0"))
    assert commit.changes == (Change("R", "new\nname", "old name"), Change("A", "copy"), Change("D", "gone"))


def test_a_path_that_looks_like_a_status_or_a_record_is_a_path() -> None:
    entries = b"\nM\0M\0A\0R100\0D\0" + SHA + b"\0"
    assert [change.path for change in parse_record(record(entries=entries)).changes] == ["M", "R100", "a" * 40]


def test_a_commit_without_message_files_or_parents_is_a_commit() -> None:
    commit = parse_record(b"\0".join([SHA, b"P", b"T0", b"N", b"B", b"", b""]))
    assert (commit.parents, commit.subject, commit.files, commit.changes) == ((), "", 0, ())


@pytest.mark.parametrize(("at", "year"), [(b"-5", 1970), (b"", 1970), (b"x", 1970), (b"9" * 30, 9999)])
def test_an_impossible_time_is_kept_within_what_a_date_can_hold(at: bytes, year: int) -> None:
    assert parse_record(record(at=at)).authored_at.year == year


def test_a_secret_in_a_message_is_masked_before_anything_sees_it() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    commit = parse_record(record(f"Use token {token}".encode()))
    assert token not in commit.message
    assert "Use token" in commit.message


def test_a_mass_commit_keeps_the_changes_of_names_only() -> None:
    entries = b"\n" + b"".join(b"M\0m%d\0" % n for n in range(MAX_TOUCHED_FILES)) + b"R100\0old\0new\0"
    commit = parse_record(record(entries=entries))
    assert (commit.files, commit.has_touched) == (MAX_TOUCHED_FILES + 1, False)
    assert commit.changes == (Change("R", "new", "old"),)


def test_a_commit_of_just_as_many_files_as_allowed_keeps_them_all() -> None:
    entries = b"\n" + b"".join(b"M\0m%d\0" % n for n in range(MAX_TOUCHED_FILES))
    commit = parse_record(record(entries=entries))
    assert commit.has_touched
    assert len(commit.changes) == MAX_TOUCHED_FILES


def test_a_long_message_is_cut() -> None:
    assert len(parse_record(record(b"word " * MAX_MESSAGE_CHARS)).message) == MAX_MESSAGE_CHARS


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not a record"):
        parse_record(b"fatal: something else")


@settings(max_examples=100)
@given(
    st.binary(max_size=200).filter(lambda message: b"\0" not in message),
    st.lists(st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path), max_size=5),
)
def test_any_bytes_in_messages_and_paths_are_taken(message: bytes, paths: list[bytes]) -> None:
    commit = parse_record(record(message, b"".join(b"M\0" + path + b"\0" for path in paths)))
    commit.message.encode("utf-8")
    assert [change.path.encode("utf-8", "surrogateescape") for change in commit.changes] == paths
