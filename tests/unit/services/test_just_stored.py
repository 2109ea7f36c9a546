"""What was stored a moment ago is projected from memory: only in the revision that SQL has, and never twice."""

import uuid
from dataclasses import replace

from tenure.code.model import Candidate, PreparedFile, PrepareRequest
from tenure.code.prepare import prepare_file
from tenure.ingestion.just_stored import JustStored
from tenure.ports.records import FileState

WORKSPACE, REPOSITORY = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
SOURCE = b"def open_valve(amount):\n    return amount\n\n\ndef close_valve():\n    return 0\n"


def prepared(path: str, revision: int = 1) -> PreparedFile:
    return prepare_file(
        PrepareRequest(WORKSPACE, REPOSITORY, Candidate(path, "s", len(SOURCE)), revision=revision, raw=SOURCE)
    )


def state(of: PreparedFile, revision: int | None = None) -> dict[str, FileState]:
    file = of.file
    assert file is not None
    seen = FileState(
        id=file.id,
        path=file.path,
        content_hash=file.content_hash,
        signature=file.signature,
        parser_version=file.parser_version,
        is_resolved=False,
        language=file.language,
        reason="",
        revision=file.revision if revision is None else revision,
        role=file.role,
        status=file.status,
    )
    return {file.id: seen}


def test_a_file_is_given_once_with_its_chunks_and_without_what_search_does_not_need() -> None:
    stored, valve = JustStored(), prepared("valve.py")
    stored.add([valve])

    ((file, chunks),) = stored.take(state(valve)).values()

    assert valve.file is not None
    assert file == replace(valve.file, text=b"", exports=b"", references=b"")
    assert chunks == valve.chunks
    assert stored.take(state(valve)) == {}


def test_another_revision_than_that_of_sql_is_never_given() -> None:
    stored, valve = JustStored(), prepared("valve.py", revision=3)
    stored.add([valve])

    assert stored.take(state(valve, revision=4)) == {}
    assert stored.take(state(valve, revision=3)) == {}, "what was out of date once is forgotten"


def test_a_file_stored_again_replaces_what_was_there() -> None:
    stored = JustStored(most_chunks=2 * len(prepared("valve.py").chunks))
    stored.add([prepared("valve.py", revision=1), prepared("pipe.py")])
    stored.add([prepared("valve.py", revision=2)])

    assert stored.take(state(prepared("valve.py", revision=2)))
    assert stored.take(state(prepared("pipe.py"))), "the older rows of the same file took no room"


def test_what_was_stored_first_goes_first_and_what_is_left_out_is_passed_over() -> None:
    files = [prepared(f"valve_{number}.py") for number in range(4)]
    stored = JustStored(most_chunks=2 * len(files[0].chunks))
    stored.add([*files, PreparedFile("blob.bin", None)])

    assert [bool(stored.take(state(file))) for file in files] == [False, False, True, True]
