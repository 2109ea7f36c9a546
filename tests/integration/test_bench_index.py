"""`bench index` on a generated repository, through all stores."""

from pathlib import Path

from tenure.workspace.bench.index import bench_index
from tests.support.git_sandbox import Sandbox

FIGURES = {
    "files",
    "lines",
    "nodes",
    "edges",
    "unresolved_rate",
    "searchable_s",
    "dense_s",
    "chunks_per_s",
    "peak_rss_mb",
    "one_file_ms",
    "hundred_files_ms",
}


async def test_all_figures_come_from_a_copy_of_the_tree(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "tree")
    sandbox.put("pkg/__init__.py")
    sandbox.put("pkg/one.py", "def first():\n    return 1\n")
    sandbox.put("pkg/two.py", "from pkg.one import first\n\n\ndef second(x):\n    return first() + x.lost()\n")
    sandbox.commit("Begin")
    before = sandbox.git("status", "--porcelain") + (sandbox.root / "pkg/one.py").read_text()
    report = await bench_index("test", {"indexing.workers": 0}, sandbox.root, dense=False)
    assert set(report.figures) == FIGURES
    assert (report.n, report.figures["files"]) == (3, 3)
    assert report.by["status"] == {"ok": 3}
    assert report.by["references"] == {"call": 1, "resolved": 2}
    assert report.figures["unresolved_rate"] == 1 / 3
    assert report.by["history"] == {"commits": 1}
    answers = report.by["answers"]
    assert (answers["names"], answers["names_hit"], answers["names_first"]) == (1, 1, 1)
    assert answers["foreign"] == 50
    assert int(answers["foreign_missed"] or 0) >= 45
    assert report.figures["dense_s"] is None
    assert report.figures["hundred_files_ms"] is None
    low, high = report.interval["one_file_ms"]
    assert 0 < low <= float(report.figures["one_file_ms"] or 0) <= high
    assert sandbox.git("status", "--porcelain") + (sandbox.root / "pkg/one.py").read_text() == before
