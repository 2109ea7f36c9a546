"""The contract of `ports.repositories`: repositories, files, nodes, edges, chunks."""

from collections import Counter
from dataclasses import replace

import pytest

from tenure.adapters.sql import chunks as sql_chunks
from tenure.adapters.sql.database import SqlDatabase
from tenure.core import ids
from tenure.core.errors import InvalidInput, NotAllowed, RecordConflict, RecordNotFound
from tenure.core.memory import Edge, EdgeType, FileRole, NodeType, ParseStatus
from tenure.core.sparse import unpack
from tenure.ports.records import LeftOut, OutboxKind, Repository, Unresolved
from tests.support.sql_rows import (
    DIMENSION,
    HOUR,
    MODEL,
    NOW,
    calls,
    commit_node,
    file_rows,
    fill,
    new_id,
    new_repository,
    new_workspace,
    resolve,
    store,
)


async def edges_of(database: SqlDatabase, workspace_id: str, repository_id: str) -> set[tuple[str, str, str]]:
    async with database.reading(workspace_id) as unit:
        return {(e.source_id, e.type.value, e.target_id) async for e in unit.edges.export(repository_id)}


async def outbox(database: SqlDatabase, workspace_id: str) -> list[tuple[str, str, int]]:
    async with database.reading(workspace_id) as unit:
        return [(entry.kind.value, entry.subject_id, entry.revision) for entry in await unit.outbox.take(1_000)]


async def drain(database: SqlDatabase, workspace_id: str) -> None:
    async with database.writing(workspace_id) as unit:
        await unit.outbox.done([entry.position for entry in await unit.outbox.take(1_000)])


async def delete_and_fail(database: SqlDatabase, repository: Repository) -> None:
    async with database.writing(repository.workspace_id) as unit:
        await unit.repositories.delete(repository.id)
        raise ZeroDivisionError


async def test_a_repository_comes_back_as_it_was_stored(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    stored = await new_repository(database, workspace)
    changed = replace(
        stored, branch="main", commit="abc", revision=7, indexed_at=NOW + HOUR, is_stale=False, detail="ok"
    )
    async with database.writing(workspace) as unit:
        await unit.repositories.update(changed)
    async with database.reading(workspace) as unit:
        assert await unit.repositories.get(stored.id) == changed
        assert await unit.repositories.find(stored.root) == changed
        assert await unit.repositories.find(stored.root, "v1") is None


async def test_two_repositories_of_one_root_conflict_unless_their_trees_differ(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    first = await new_repository(database, workspace)
    async with database.writing(workspace) as unit:
        await unit.repositories.add(replace(first, id=new_id(), tree="v1"))
    with pytest.raises(RecordConflict):
        async with database.writing(workspace) as unit:
            await unit.repositories.add(replace(first, id=new_id()))
    async with database.reading(workspace) as unit:
        assert len(await unit.repositories.list()) == 2


async def test_a_missing_repository_is_not_found_by_get_and_update(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    stored = await new_repository(database, workspace)
    async with database.writing(workspace) as unit:
        with pytest.raises(RecordNotFound):
            await unit.repositories.get(new_id())
        with pytest.raises(RecordNotFound):
            await unit.repositories.update(replace(stored, id=new_id()))


async def test_an_id_that_is_no_uuid_is_refused_by_name(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    async with database.reading(workspace) as unit:
        with pytest.raises(InvalidInput, match="'garden' is not an id"):
            await unit.repositories.get("garden")


async def test_deleting_a_repository_leaves_cached_vectors_and_one_outbox_entry(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    await drain(database, filled.workspace_id)
    content = filled.files[0].chunks[0].content_hash
    async with database.writing(filled.workspace_id) as unit:
        await unit.repositories.delete(filled.repository.id)
    async with database.reading(filled.workspace_id) as unit:
        counts = await unit.counts(filled.repository.id, MODEL, DIMENSION)
        assert (counts.files, counts.nodes, counts.edges, counts.unresolved, counts.chunks, counts.left_out) == (0,) * 6
        assert await unit.chunks.embeddings(MODEL, DIMENSION, [content]) == {content: b"v" * 16}
    assert await outbox(database, filled.workspace_id) == [("repository_gone", filled.repository.id, 0)]


async def test_rows_of_a_deleted_repository_cannot_come_back(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    async with database.writing(filled.workspace_id) as unit:
        await unit.repositories.delete(filled.repository.id)
    with pytest.raises(RecordConflict, match="does not exist"):
        await store(database, filled.files[0])


async def test_a_file_comes_back_whole(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "garden/soil.py", ["dig", "water"])
    await store(database, rows)
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.files.get_many([rows.file.id, new_id()]) == {rows.file.id: rows.file}
        assert await unit.files.texts([rows.file.id]) == {rows.file.id: rows.text}
        assert await unit.files.exports(repository.id) == {"garden/soil.py": rows.file.exports}
        assert await unit.files.references([rows.file.id]) == {rows.file.id: ("garden/soil.py", rows.file.references)}
        assert await unit.files.find_paths(["soil.py", "Soil.py"]) == [
            (rows.file.id, repository.id, "garden/soil.py", False)
        ]
        assert [state.path for state in await unit.files.states(repository.id)] == ["garden/soil.py"]
        assert await unit.chunks.of_owners([rows.file.id]) == {rows.file.id: rows.chunks}
        assert await unit.chunks.get_many([rows.chunks[1].id]) == {rows.chunks[1].id: rows.chunks[1]}


async def test_undecodable_path_bytes_and_any_script_come_back_as_they_went_in(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    paths = ["caf\udce9.py", "日本/ä.py", "plain.py"]
    await store(database, *[file_rows(repository, path, ["dig"]) for path in paths])
    async with database.reading(repository.workspace_id) as unit:
        assert {state.path for state in await unit.files.states(repository.id)} == set(paths)
        assert [found[2] for found in await unit.files.find_paths(["caf\udce9.py"])] == ["caf\udce9.py"]


async def test_replacing_a_file_twice_with_the_same_rows_changes_nothing(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "water"])
    await store(database, rows)
    async with database.reading(repository.workspace_id) as unit:
        before = [node async for node in unit.nodes.export(repository.id)]
    later = file_rows(repository, "a.py", ["dig", "water"], at=NOW + HOUR)
    await store(database, later)
    async with database.reading(repository.workspace_id) as unit:
        assert [node async for node in unit.nodes.export(repository.id)] == before


async def test_a_changed_node_keeps_when_it_was_first_seen(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    await store(database, file_rows(repository, "a.py", ["dig", "water"]))
    later = file_rows(repository, "a.py", ["rake", "dig"], at=NOW + HOUR)
    await store(database, later)
    async with database.reading(repository.workspace_id) as unit:
        found = await unit.nodes.get_many([node.id for node in later.nodes])
    dig, rake = found[later.node("dig").id], found[later.node("rake").id]
    assert (dig.created_at, dig.updated_at, dig.source.start_line) == (NOW, NOW + HOUR, 3)
    assert rake.created_at == NOW + HOUR


async def test_replacing_a_file_leaves_nothing_of_what_it_no_longer_holds(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    soil, test = filled.files
    await drain(database, filled.workspace_id)
    await store(database, file_rows(filled.repository, "garden/soil.py", ["water"], revision=2))
    async with database.reading(filled.workspace_id) as unit:
        owned = await unit.nodes.of_owner([soil.file.id])
        assert [node.title for node in owned[soil.file.id]] == ["garden/soil.py", "water"]
        assert [chunk.node_id for chunk in (await unit.chunks.of_owners([soil.file.id]))[soil.file.id]] == [
            soil.node("water").id
        ]
    left = await edges_of(database, filled.workspace_id, filled.repository.id)
    assert left == {
        (soil.file.id, "contains", soil.node("water").id),
        (test.file.id, "contains", test.node("test_dig").id),
        (filled.commit.id, "touched", soil.file.id),
    }
    assert await outbox(database, filled.workspace_id) == [("file", soil.file.id, 2)]


async def test_replacing_a_file_forgets_its_resolution(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    test = filled.files[1]
    await store(database, test)
    async with database.reading(filled.workspace_id) as unit:
        assert await unit.edges.unresolved(["pull"]) == []
        assert await unit.edges.dependents(filled.repository.id, ["garden.soil"]) == []
    left = await edges_of(database, filled.workspace_id, filled.repository.id)
    assert not [edge for edge in left if edge[1] == "calls"]


async def test_rows_without_their_file_are_refused_and_nothing_is_stored(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    one, other = file_rows(repository, "a.py", ["dig"]), file_rows(repository, "b.py", ["dig"])
    for nodes, chunks, contains in (
        (other.nodes, [], []),
        ([], other.chunks, []),
        ([], [], other.contains),
    ):
        with pytest.raises(InvalidInput):
            async with database.writing(repository.workspace_id) as unit:
                await unit.files.replace([one.file], nodes, chunks, contains)
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.files.states(repository.id) == []


async def test_removing_a_file_takes_everything_it_owns_and_every_edge_to_it(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    soil, test = filled.files
    await drain(database, filled.workspace_id)
    async with database.writing(filled.workspace_id) as unit:
        await unit.files.remove([soil.file.id, new_id()])
    assert await edges_of(database, filled.workspace_id, filled.repository.id) == {
        (test.file.id, "contains", test.node("test_dig").id)
    }
    async with database.reading(filled.workspace_id) as unit:
        assert await unit.files.get_many([soil.file.id]) == {}
        assert await unit.nodes.get_many([node.id for node in soil.nodes]) == {}
        assert await unit.chunks.get_many([chunk.id for chunk in soil.chunks]) == {}
        assert await unit.chunks.profiles([soil.file.id]) == {}
    assert await outbox(database, filled.workspace_id) == [("file", soil.file.id, 2)]


async def test_touching_a_file_changes_its_signature_alone(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig"])
    await store(database, rows)
    async with database.writing(repository.workspace_id) as unit:
        await unit.files.touch({rows.file.id: "seen again"})
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.files.get_many([rows.file.id]) == {rows.file.id: replace(rows.file, signature="seen again")}


async def test_what_is_left_out_is_replaced_and_listed_by_path(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    async with database.writing(repository.workspace_id) as unit:
        await unit.files.set_left_out(repository.id, [LeftOut("z", "old")])
        await unit.files.set_left_out(repository.id, [LeftOut("b", "binary", "3:1:1:9"), LeftOut("a", "key file")])
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.files.left_out(repository.id) == [LeftOut("a", "key file"), LeftOut("b", "binary", "3:1:1:9")]
        assert await unit.files.left_out(repository.id, limit=1) == [LeftOut("a", "key file")]


async def test_problems_are_the_files_whose_status_is_not_ok(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    odd = file_rows(repository, "odd.py", [], status=ParseStatus.FAILED)
    await store(database, odd, file_rows(repository, "fine.py", []))
    async with database.reading(repository.workspace_id) as unit:
        found = await unit.files.problems(repository.id)
    assert [(state.path, state.status, state.reason) for state in found] == [("odd.py", ParseStatus.FAILED, "odd")]


async def test_a_code_nodes_content_is_its_lines_of_the_files_text(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "water"])
    await store(database, rows)
    ids = [node.id for node in rows.nodes]
    async with database.reading(repository.workspace_id) as unit:
        found = await unit.nodes.get_many(ids)
        bare = await unit.nodes.get_many(ids, with_content=False)
    lines = rows.text.split("\n")
    assert found[rows.node("water").id].content == "\n".join(lines[2:4])
    assert found[rows.file.id].content == rows.text.removesuffix("\n")
    assert {node.content for node in bare.values()} == {""}


async def test_definitions_are_found_by_their_simple_name_with_its_case(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    await store(database, *[file_rows(repository, path, ["Bed.dig", "Dig"]) for path in ("b.py", "a.py", "c.py")])
    async with database.reading(repository.workspace_id) as unit:
        found = await unit.nodes.named(["dig", "Dig", "a.py"], limit_per_name=2)
    owners = [ids.file_id(repository.workspace_id, repository.id, path) for path in ("a.py", "b.py")]
    assert {name: [(n.owner_id, n.qualified_name) for n in nodes] for name, nodes in found.items()} == {
        "dig": [(owner, "Bed.dig") for owner in owners],
        "Dig": [(owner, "Dig") for owner in owners],
    }


async def test_a_place_tells_what_the_node_tells(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    (rows, *_), commit = filled.files, filled.commit
    async with database.reading(filled.workspace_id) as unit:
        places = await unit.nodes.places([*(node.id for node in rows.nodes), commit.id])
    for node in (*rows.nodes, commit):
        place, source = places[node.id], node.source
        assert (place.type, place.qualified_name) == (node.type, source.qualified_name)
        assert (place.start_line, place.end_line) == (source.start_line, source.end_line)
        assert place.owner_id == (None if node is commit else rows.file.id)


async def test_the_terms_of_a_chunk_are_those_of_its_vector(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    chunks = filled.files[0].chunks
    async with database.reading(filled.workspace_id) as unit:
        found = await unit.chunks.terms([chunk.id for chunk in chunks])
    assert sorted(found) == sorted((chunk.owner_id, tuple(unpack(chunk.sparse).indices)) for chunk in chunks)


async def test_every_chunk_is_counted_once_however_many_are_read_at_a_time(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_chunks, "_COUNTED_PAGE", 2)
    filled = await fill(database, "one")
    chunks = [chunk for rows in filled.files for chunk in rows.chunks]
    assert len(chunks) > 2
    async with database.reading(filled.workspace_id) as unit:
        counted = await unit.chunks.document_frequencies()
    assert counted == (len(chunks), Counter(index for chunk in chunks for index in unpack(chunk.sparse).indices))


async def test_commits_keep_their_content_and_come_newest_first(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    old, new = commit_node(repository, "aaa"), commit_node(repository, "bbb", NOW + HOUR)
    async with database.writing(repository.workspace_id) as unit:
        await unit.nodes.put([old, new])
        await unit.nodes.put([old])
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.nodes.commits(repository.id) == [new, old]
        assert await unit.nodes.get_many([old.id]) == {old.id: old}
    assert {entry[:2] for entry in await outbox(database, repository.workspace_id)} == {
        ("commit", old.id),
        ("commit", new.id),
    }


async def test_removing_a_node_takes_the_edges_at_both_its_ends(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    async with database.writing(filled.workspace_id) as unit:
        await unit.nodes.remove([filled.commit.id])
    async with database.reading(filled.workspace_id) as unit:
        assert await unit.edges.touching([filled.files[0].file.id]) == []
        assert await unit.nodes.commits(filled.repository.id) == []


async def test_replacing_edges_keeps_contains_and_marks_the_owner_resolved(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "water"])
    await store(database, rows)
    twice = [calls(rows, "dig", rows.node("water"), 2), calls(rows, "dig", rows.node("water"), 9)]
    await resolve(database, rows, twice)
    await resolve(database, rows, twice)
    async with database.reading(repository.workspace_id) as unit:
        stored = [edge async for edge in unit.edges.export(repository.id)]
        assert [state.is_resolved for state in await unit.files.states(repository.id)] == [True]
        assert await unit.files.unresolved(repository.id) == []
        assert await unit.edges.dependents(repository.id, ["garden.soil", "other"]) == [rows.file.id]
    assert {edge for edge in stored if edge.type is EdgeType.CALLS} == {twice[0]}
    assert {edge for edge in stored if edge.type is EdgeType.CONTAINS} == set(rows.contains)
    await resolve(database, rows, [])
    assert len(await edges_of(database, repository.workspace_id, repository.id)) == 2
    async with database.writing(repository.workspace_id) as unit:
        await unit.edges.mark_unresolved([rows.file.id])
        assert [state.is_resolved for state in await unit.files.states(repository.id)] == [False]
        assert await unit.files.unresolved(repository.id) == [rows.file.id]


async def test_unresolved_references_are_found_by_their_last_name_part(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig"])
    await store(database, rows)
    missing = [Unresolved(rows.file.id, rows.file.id, "call", name, 1) for name in ("rake.pull", "pull", "push")]
    await resolve(database, rows, [], missing)
    async with database.reading(repository.workspace_id) as unit:
        assert {one.name for one in await unit.edges.unresolved(["pull"])} == {"rake.pull", "pull"}
        assert len(await unit.edges.unresolved(["pull", "push"], limit=2)) == 2


async def test_waiting_chunks_come_code_first_then_tests_then_documents_each_content_once(
    database: SqlDatabase,
) -> None:
    repository = await new_repository(database, await new_workspace(database))
    roles = {"doc.md": FileRole.DOCUMENT, "test_a.py": FileRole.TEST, "a.py": FileRole.CODE, "b.py": FileRole.CODE}
    rows = {path: file_rows(repository, path, ["dig", "rake"], role=role) for path, role in roles.items()}
    same = [replace(chunk, content_hash="same") for chunk in rows["a.py"].chunks]
    rows["a.py"].chunks[:] = same
    await store(database, *rows.values())
    async with database.reading(repository.workspace_id) as unit:
        found = await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 100)
        first = await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 2)
    code = sorted([min(same, key=lambda chunk: chunk.id), *rows["b.py"].chunks], key=lambda chunk: chunk.id)
    tests, documents = (sorted(rows[path].chunks, key=lambda chunk: chunk.id) for path in ("test_a.py", "doc.md"))
    assert found == [*code, *tests, *documents]
    assert first == found[:2]


async def test_embedded_and_refused_contents_no_longer_wait(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "rake", "pull"])
    await store(database, rows)
    await drain(database, repository.workspace_id)
    dig, rake, pull = rows.chunks
    async with database.writing(repository.workspace_id) as unit:
        await unit.chunks.put_embeddings(MODEL, DIMENSION, {dig.content_hash: b"d" * 16})
        await unit.chunks.put_refusals(MODEL, {rake.content_hash: "too long"})
    async with database.writing(repository.workspace_id) as unit:
        assert await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 9) == [pull]
        assert len(await unit.chunks.without_embedding(repository.id, "other", DIMENSION, 9)) == 3
        assert len(await unit.chunks.without_embedding(repository.id, MODEL, 8, 9)) == 2
        assert await unit.chunks.refusals(repository.id, MODEL) == [("a.py", "too long")]
        assert await unit.chunks.embedding_stamps() == [(MODEL, DIMENSION)]
        counts = await unit.counts(repository.id, MODEL, DIMENSION)
        assert (counts.chunks, counts.chunks_embedded, counts.chunks_failed) == (3, 1, 1)
        assert (await unit.gaps(repository.id, MODEL, DIMENSION)).without_vector == 2
        assert (await unit.gaps(repository.id, "other", DIMENSION)).without_vector == 3
        assert await unit.chunks.forget_refusals(repository.id, MODEL) == 1
        assert len(await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 9)) == 2
    assert [entry[:2] for entry in await outbox(database, repository.workspace_id)] == [("dense", dig.id)]


async def test_a_content_that_was_embedded_once_never_waits_again(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig"])
    await store(database, rows)
    async with database.writing(repository.workspace_id) as unit:
        await unit.chunks.put_embeddings(MODEL, DIMENSION, {rows.chunks[0].content_hash: b"d" * 16})
        await unit.files.remove([rows.file.id])
    await store(database, rows)
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 9) == []
        assert (await unit.counts(repository.id, MODEL, DIMENSION)).chunks_embedded == 1


async def test_changing_the_model_and_back_needs_no_second_embedding(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "rake"])
    await store(database, rows)
    vectors = {chunk.content_hash: b"d" * 16 for chunk in rows.chunks}
    async with database.writing(repository.workspace_id) as unit:
        for model in (MODEL, "other"):
            await unit.chunks.put_embeddings(model, DIMENSION, vectors)
        for model in (MODEL, "other"):
            assert await unit.chunks.without_embedding(repository.id, model, DIMENSION, 9) == []
            assert (await unit.counts(repository.id, model, DIMENSION)).chunks_embedded == 2
            assert (await unit.gaps(repository.id, model, DIMENSION)).without_vector == 0


async def test_dropping_one_models_vectors_leaves_those_of_the_other(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "rake"])
    await store(database, rows)
    vectors = {chunk.content_hash: b"d" * 16 for chunk in rows.chunks}
    async with database.writing(repository.workspace_id) as unit:
        for model in (MODEL, "other"):
            await unit.chunks.put_embeddings(model, DIMENSION, vectors)
        await unit.chunks.drop_embeddings("other", DIMENSION)
        assert await unit.chunks.embedding_stamps() == [(MODEL, DIMENSION)]
        assert len(await unit.chunks.without_embedding(repository.id, "other", DIMENSION, 9)) == 2
        assert await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 9) == []
        assert (await unit.counts(repository.id, MODEL, DIMENSION)).chunks_embedded == 2
        assert (await unit.counts(repository.id, "other", DIMENSION)).chunks_embedded == 0


async def test_a_changed_chunk_waits_again(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig"])
    await store(database, rows)
    async with database.writing(repository.workspace_id) as unit:
        await unit.chunks.put_embeddings(MODEL, DIMENSION, {rows.chunks[0].content_hash: b"d" * 16})
    rows.chunks[0] = replace(rows.chunks[0], content_hash="changed")
    await store(database, rows)
    async with database.reading(repository.workspace_id) as unit:
        assert await unit.chunks.without_embedding(repository.id, MODEL, DIMENSION, 9) == rows.chunks
        assert (await unit.counts(repository.id, MODEL, DIMENSION)).chunks_embedded == 0


async def test_profiles_and_priors_are_kept_side_by_side(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig"])
    await store(database, rows)
    await drain(database, repository.workspace_id)
    async with database.writing(repository.workspace_id) as unit:
        await unit.chunks.put_profiles({rows.file.id: b"words", new_id(): b"of nobody"})
        await unit.chunks.put_priors({rows.file.id: 1.5, new_id(): 9.0})
        await unit.chunks.put_profiles({rows.file.id: b"more words"})
        assert await unit.chunks.profiles([rows.file.id]) == {rows.file.id: b"more words"}
        assert await unit.chunks.prior([rows.file.id]) == {rows.file.id: 1.5}
    assert {entry[:2] for entry in await outbox(database, repository.workspace_id)} == {("profile", rows.file.id)}


async def test_chunks_are_exported_with_their_files_revision(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    rows = file_rows(repository, "a.py", ["dig", "rake"], revision=5)
    await store(database, rows)
    async with database.reading(repository.workspace_id) as unit:
        exported = [entry async for entry in unit.chunks.export(repository.id)]
    assert exported == sorted((chunk.id, rows.file.id, 5) for chunk in rows.chunks)


async def test_counts_are_those_of_the_rows(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    async with database.reading(filled.workspace_id) as unit:
        counts = await unit.counts(filled.repository.id, MODEL, DIMENSION)
        pending = await unit.outbox.count()
    assert counts.files_by_status == {"ok": 1, "partial": 1}
    assert (counts.files, counts.lines, counts.nodes, counts.commits) == (2, 8, 6, 1)
    assert (counts.edges, counts.unresolved, counts.files_unresolved, counts.left_out) == (5, 1, 1, 1)
    assert (counts.chunks, counts.chunks_embedded, counts.chunks_failed) == (3, 1, 1)
    assert counts.outbox_pending == pending > 0


async def test_outbox_positions_only_grow_and_entries_stay_until_done(database: SqlDatabase) -> None:
    repository = await new_repository(database, await new_workspace(database))
    subjects = [new_id() for _ in range(70)]
    async with database.writing(repository.workspace_id) as unit:
        await unit.outbox.add(OutboxKind.FILE, repository.id, dict.fromkeys(subjects, 1))
        first = await unit.outbox.take(100)
        await unit.outbox.failed([first[0].position])
        await unit.outbox.done([entry.position for entry in first[1:]])
        await unit.outbox.add(OutboxKind.FILE, repository.id, {subjects[0]: 2})
        second = await unit.outbox.take(100)
    assert [entry.subject_id for entry in first] == subjects
    assert [(entry.revision, entry.attempts) for entry in second] == [(1, 1), (2, 0)]
    assert second[1].position > first[-1].position


async def test_a_unit_of_work_that_fails_leaves_no_trace(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    repository = await new_repository(database, workspace)
    with pytest.raises(ZeroDivisionError):
        await delete_and_fail(database, repository)
    async with database.reading(workspace) as unit:
        assert await unit.repositories.list() == [repository]


async def test_a_reading_unit_of_work_refuses_to_write(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    repository = await new_repository(database, workspace)
    async with database.reading(workspace) as unit:
        with pytest.raises(NotAllowed, match="writing"):
            await unit.repositories.update(repository)


async def test_a_reading_unit_of_work_does_not_see_what_is_committed_meanwhile(database: SqlDatabase) -> None:
    workspace = await new_workspace(database)
    async with database.reading(workspace) as before:
        assert await before.repositories.list() == []
        await new_repository(database, workspace)
        assert await before.repositories.list() == []
    async with database.reading(workspace) as after:
        assert len(await after.repositories.list()) == 1


async def test_empty_lists_read_and_delete_nothing(database: SqlDatabase) -> None:
    filled = await fill(database, "one")
    async with database.writing(filled.workspace_id) as unit:
        await unit.files.remove([])
        await unit.nodes.remove([])
        await unit.edges.replace(
            [], [Edge(filled.commit.id, filled.commit.id, EdgeType.CALLS, filled.commit.id)], [], {}
        )
        await unit.files.replace([], [], [], [])
        await unit.outbox.done([])
        for read in (
            unit.files.get_many, unit.files.texts, unit.files.references, unit.files.find_paths, unit.nodes.get_many,
            unit.nodes.named, unit.nodes.of_owner, unit.edges.touching, unit.edges.unresolved, unit.chunks.get_many,
            unit.chunks.of_owners, unit.chunks.profiles, unit.chunks.prior,
        ):  # fmt: skip
            assert not await read([])
        counts = await unit.counts(filled.repository.id, MODEL, DIMENSION)
    assert (counts.files, counts.nodes, counts.edges) == (2, 6, 5)
    assert counts.commits == len([filled.commit]) == 1
    assert NodeType.COMMIT is filled.commit.type
