"""`JustStored`: what was stored a moment ago is given back once, and only while SQL still says the same."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.model import PreparedFile
from tenure.ingestion.just_stored import JustStored
from tenure.ports.records import FileState, LeftOut, Repository, RepositoryKind
from tests.support.sql_rows import NOW, file_rows

GARDEN = Repository(
    "1b0a5d34-93a4-4a55-8a53-2f9a86c1d002",
    "6f1d2c1e-52f0-4b0e-9d8a-0d5f2f1c7a11",
    "garden",
    "/srv/garden",
    RepositoryKind.FOLDER,
    NOW,
)


def prepared(path: str, chunks: int = 1, revision: int = 1) -> PreparedFile:
    rows = file_rows(GARDEN, path, [f"dig_{number}" for number in range(chunks)], revision=revision)
    return PreparedFile(path, rows.file, rows.nodes, rows.chunks, rows.contains)


def states(*paths: str, revision: int = 1) -> dict[str, FileState]:
    """As SQL has these files."""
    found = (file_rows(GARDEN, path, [], revision=revision).file for path in paths)
    return {
        file.id: FileState(
            id=file.id,
            path=file.path,
            content_hash=file.content_hash,
            signature=file.signature,
            parser_version=file.parser_version,
            is_resolved=file.is_resolved,
            language=file.language,
            reason=file.reason,
            revision=file.revision,
            role=file.role,
            status=file.status,
        )
        for file in found
    }


def paths_of(known: JustStored, asked: Iterable[str], revision: int = 1) -> list[str]:
    return [file.path for file, _ in known.take(states(*asked, revision=revision)).values()]


def test_a_file_comes_with_its_chunks_and_all_that_its_points_need() -> None:
    known, soil = JustStored(), prepared("soil.py", 2)
    known.add([soil])
    ((file, chunks),) = known.take(states("soil.py")).values()
    assert chunks == soil.chunks
    assert soil.file is not None
    kept = ("id", "repository_id", "path", "language", "role", "revision", "sparse")
    assert [getattr(file, name) for name in kept] == [getattr(soil.file, name) for name in kept]


def test_text_exports_and_references_are_not_kept() -> None:
    known, soil = JustStored(), prepared("soil.py")
    known.add([soil])
    ((file, _),) = known.take(states("soil.py")).values()
    assert (file.text, file.exports, file.references) == (b"", b"", b"")
    assert soil.file is not None
    assert all((soil.file.text, soil.file.exports, soil.file.references))


def test_a_file_is_given_once() -> None:
    known = JustStored()
    known.add([prepared("soil.py")])
    assert paths_of(known, ["soil.py"]) == ["soil.py"]
    assert paths_of(known, ["soil.py"]) == []


def test_only_what_is_asked_for_is_given_and_the_rest_stays() -> None:
    known = JustStored()
    known.add([prepared("soil.py"), prepared("rake.py")])
    assert paths_of(known, ["rake.py", "never_stored.py"]) == ["rake.py"]
    assert paths_of(known, ["soil.py"]) == ["soil.py"]


def test_another_revision_than_that_of_sql_is_not_given_and_not_kept() -> None:
    known = JustStored()
    for of_sql in (1, 3):
        known.add([prepared("soil.py", revision=2)])
        assert paths_of(known, ["soil.py"], revision=of_sql) == []
        assert paths_of(known, ["soil.py"], revision=2) == []


def test_a_file_that_is_left_out_after_all_is_nothing_to_keep() -> None:
    known = JustStored()
    known.add([PreparedFile("seed.bin", None, left_out=LeftOut("seed.bin", "binary"))])
    assert known.take(states("seed.bin")) == {}


def test_the_oldest_go_when_there_are_too_many_chunks() -> None:
    known = JustStored(most_chunks=5)
    known.add([prepared("first.py", 2), prepared("second.py", 2)])
    known.add([prepared("third.py", 2)])
    assert paths_of(known, ["first.py", "second.py", "third.py"]) == ["second.py", "third.py"]


def test_a_file_with_more_chunks_than_may_be_kept_is_not_kept() -> None:
    known = JustStored(most_chunks=3)
    known.add([prepared("huge.py", 4)])
    known.add([prepared("small.py", 3)])
    assert paths_of(known, ["huge.py", "small.py"]) == ["small.py"]


def test_adding_a_file_again_keeps_its_newest_rows() -> None:
    known = JustStored()
    known.add([prepared("soil.py", 2), prepared("soil.py", 3, revision=2)])
    ((file, chunks),) = known.take(states("soil.py", revision=2)).values()
    assert (file.revision, len(chunks)) == (2, 3)


def test_rows_that_newer_ones_replaced_are_not_counted() -> None:
    known = JustStored(most_chunks=5)
    known.add([prepared("rake.py", 1), prepared("soil.py", 3), prepared("soil.py", 4)])
    assert paths_of(known, ["rake.py", "soil.py"]) == ["rake.py", "soil.py"]


def test_adding_a_file_again_makes_it_the_newest() -> None:
    known = JustStored(most_chunks=5)
    known.add([prepared("soil.py", 2), prepared("rake.py", 2), prepared("soil.py", 2), prepared("hoe.py", 2)])
    assert paths_of(known, ["soil.py", "rake.py", "hoe.py"]) == ["soil.py", "hoe.py"]


def test_what_was_given_is_not_counted() -> None:
    known = JustStored(most_chunks=5)
    known.add([prepared("soil.py", 4)])
    paths_of(known, ["soil.py"])
    known.add([prepared("rake.py", 3), prepared("hoe.py", 2)])
    assert paths_of(known, ["rake.py", "hoe.py"]) == ["rake.py", "hoe.py"]


PATHS = [f"bed_{number}.py" for number in range(5)]
STEPS = st.lists(st.tuples(st.sampled_from(PATHS), st.integers(0, 4), st.booleans()), max_size=25)


@settings(max_examples=60)
@given(STEPS)
def test_what_is_kept_is_always_the_newest_that_fits(steps: list[tuple[str, int, bool]]) -> None:
    most = 6
    known, expected = JustStored(most), dict[str, int]()
    for path, chunks, is_taken in steps:
        if is_taken:
            assert paths_of(known, [path]) == [path] * (path in expected)
            expected.pop(path, None)
            continue
        known.add([prepared(path, chunks)])
        expected.pop(path, None)
        expected[path] = chunks
        while sum(expected.values()) > most:
            expected.pop(next(iter(expected)))
    given_back = known.take(states(*PATHS))
    assert {file.path: len(chunks) for file, chunks in given_back.values()} == expected
