"""`/health/live`, `/health/ready` and `/metrics` of the whole stack, well and with a store that fails."""

from collections.abc import AsyncIterator
from pathlib import Path

from tenure.adapters.onnx_embedder import OnnxEmbedder
from tenure.ports.repositories import UnitOfWork
from tenure.workspace.app import Activity
from tests.support.embedded import client_of, embedded, write_tree
from tests.support.troubled import WordEmbedder, troubled


async def test_a_well_server_is_live_ready_and_names_its_stores(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        live = await stack.client.get("/health/live")
        assert live.json() == {"status": "live", "instance": "test"}
        ready = await stack.client.get("/health/ready")
    assert ready.status_code == 200
    report = ready.json()
    assert (report["status"], report["failed"]) == ("ready", [])
    assert set(report["stores"]) == {"database", "vectors", "graph", "embedder", "queue"}
    assert all(entry["ok"] and entry["ms"] >= 0 for entry in report["stores"].values())
    assert "migration" in report["stores"]["database"]["detail"]


async def test_a_database_that_turned_to_garbage_makes_it_not_ready_by_name(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        for file in (tmp_path / "home").glob("tenure.sqlite3*"):
            file.write_bytes(b"garbage" * 1000)
        ready = await stack.client.get("/health/ready")
        answer = await stack.client.get("/v1/workspaces")
        live = await stack.client.get("/health/live")
    assert ready.status_code == 503
    assert "database" in ready.json()["failed"]
    assert ready.json()["stores"]["database"]["detail"]
    assert answer.status_code == 503
    assert "tenure.sqlite3" in answer.json()["detail"]
    assert live.status_code == 200


async def test_each_store_that_fails_is_named_and_the_others_are_still_asked(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        await stack.tenure.infrastructure.vectors.close()
        ready = await stack.client.get("/health/ready")
    assert ready.status_code == 503
    assert ready.json()["failed"] == ["vectors"]
    assert ready.json()["stores"]["database"]["ok"]


async def test_an_embedder_that_is_down_and_a_queue_that_delivers_nothing_are_named(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    embedder.is_down = True
    async with troubled(tmp_path, embedder=embedder, works=False) as stack:
        ready = await stack.client.get("/health/ready")
    assert ready.status_code == 503
    assert ready.json()["failed"] == ["embedder", "queue"]
    assert ready.json()["stores"]["embedder"]["detail"] == "the model server is down"


async def test_a_model_that_is_not_loaded_is_ready_and_stays_unloaded(tmp_path: Path) -> None:
    async with troubled(tmp_path, embedder=OnnxEmbedder()) as stack:
        for _ in range(2):
            told = (await stack.client.get("/health/ready")).json()["stores"]["embedder"]
            assert told["ok"]
            assert told["detail"].endswith("not loaded yet")


async def test_beyond_loopback_a_stranger_learns_that_a_store_fails_but_not_where_it_lies(tmp_path: Path) -> None:
    async with embedded(tmp_path, server__host="0.0.0.0") as stack, client_of(stack.app) as stranger:
        ready = await stranger.get("/health/ready")
        metrics = await stranger.get("/metrics")
    assert ready.status_code == 200
    assert str(tmp_path) not in ready.text
    assert metrics.status_code == 401


async def test_metrics_count_answers_and_jobs_without_names_of_people_paths_or_workspaces(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        workspace = await stack.workspace("canaryteam")
        tree = write_tree(tmp_path / "canarytree", {"canaryfile.py": "def canary_function():\n    return 1\n"})
        repository = await stack.index(workspace, tree.root)
        await stack.search(workspace, "canary_function")
        await stack.search(workspace, "the weather in Lisbon tomorrow")
        metrics = (await stack.client.get("/metrics")).text
    for line in (
        'tenure_queries_total{result="hit"} 1.0',
        'tenure_queries_total{result="miss"} 1.0',
        "tenure_retrieve_seconds_count 2.0",
        'tenure_job_seconds_count{kind="index",state="done"} 1.0',
        'tenure_http_request_seconds_count{method="POST",route="/v1/workspaces/{workspace_id}/search",status="200"} 2.0',
    ):
        assert line in metrics
    for name in ("canary", workspace, repository, str(tmp_path)):
        assert name not in metrics


async def test_metrics_tell_what_is_stored_how_the_stores_do_and_how_fast_texts_are_embedded(tmp_path: Path) -> None:
    async with troubled(tmp_path, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        tree = write_tree(tmp_path / "tree", {"a.py": "def f():\n    return 1\n", "b.md": "# Title\n\nText.\n"})
        await stack.index(workspace, tree.root)
        await stack.search(workspace, "what returns one")
        async with stack.tenure.infrastructure.database.reading(workspace) as work:
            chunks = [chunk async for repository in _ids(work) async for chunk in work.chunks.export(repository)]
        metrics = (await stack.client.get("/metrics")).text
    told = (line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    values = {name: float(value) for name, value in told}
    assert values['tenure_memory_items{kind="episodic",state="active"}'] == 1
    assert values['tenure_memory_items{kind="semantic",state="active"}'] >= 3
    assert values['tenure_embedded_texts_total{kind="chunk"}'] == len(chunks) > 0
    assert values['tenure_embedded_texts_total{kind="query"}'] >= 1
    assert values['tenure_embedding_seconds_total{kind="chunk"}'] > 0
    for queue in ("outbox", "jobs"):
        assert values[f'tenure_queue_depth{{queue="{queue}"}}'] == 0
        assert values[f'tenure_queue_oldest_seconds{{queue="{queue}"}}'] == 0
    for store in ("database", "vectors"):
        taken, capacity = (values[f'tenure_memory_{name}{{store="{store}"}}'] for name in ("bytes", "capacity_bytes"))
        assert 0 < taken < capacity
    for operation, store in (("read", "database"), ("write", "database"), ("search", "vectors"), ("upsert", "vectors")):
        assert values[f'tenure_store_seconds_count{{operation="{operation}",store="{store}"}}'] > 0


async def test_what_waits_is_told_and_a_failing_vector_store_is_counted_by_name(tmp_path: Path) -> None:
    async with troubled(tmp_path, failing={"upsert"}) as stack:
        workspace = await stack.workspace()
        tree = write_tree(tmp_path / "tree", {"a.py": "def f():\n    return 1\n"})
        await stack.index(workspace, tree.root)
        async with stack.tenure.infrastructure.database.reading(workspace) as work:
            due = await work.outbox.count()
        metrics = (await stack.client.get("/metrics")).text
    assert due > 0
    assert f'tenure_queue_depth{{queue="outbox"}} {due}.0' in metrics
    assert 'tenure_store_errors_total{error="StoreUnavailable",store="vectors"}' in metrics


async def test_metrics_answer_with_what_is_left_when_the_database_turned_to_garbage(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        for file in (tmp_path / "home").glob("tenure.sqlite3*"):
            file.write_bytes(b"garbage" * 1000)
        answer = await stack.client.get("/metrics")
    assert answer.status_code == 200
    assert "tenure_memory_items{" not in answer.text
    assert 'tenure_memory_bytes{store="vectors"}' in answer.text
    assert 'tenure_store_errors_total{error="StoreUnavailable",store="database"}' in answer.text


async def _ids(work: UnitOfWork) -> AsyncIterator[str]:
    for repository in await work.repositories.list():
        yield repository.id


def test_looking_whether_the_server_lives_keeps_no_server_alive() -> None:
    activity = Activity()
    begun = activity.idle_seconds()
    activity.requested("/health/live")
    assert activity.idle_seconds() >= begun
    activity.requested("/v1/workspaces")
    assert activity.idle_seconds() < 1
