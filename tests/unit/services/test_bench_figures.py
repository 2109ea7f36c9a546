"""The figures that benchmarks report, and what they are read from."""

import io
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tenure.core.errors import InvalidInput
from tenure.workspace.bench.edits import letters
from tenure.workspace.bench.impact import Answered, figures_of, report
from tenure.workspace.bench.index import DensePhase, read_and_hash_seconds, unresolved_rate
from tenure.workspace.bench.inputs import clone_of, read_rows
from tenure.workspace.bench.memory_peak import MemoryPeak
from tenure.workspace.bench.report import BenchReport, this_machine
from tenure.workspace.bench.statistics import mean, paired_interval, percentile

VALUES = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=20)


def test_a_percentile_lies_between_its_neighbours() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([1, 2, 3], 1.0) == 3
    assert percentile([1, 2, 3], 7.0) == 3
    assert percentile([5], 0.95) == 5
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(mean([]))


@settings(max_examples=60)
@given(VALUES, st.floats(0, 1))
def test_a_percentile_is_within_the_values(values: list[float], share: float) -> None:
    assert min(values) <= percentile(values, share) <= max(values)


@settings(max_examples=30)
@given(VALUES)
def test_equal_answers_differ_by_nothing(values: list[float]) -> None:
    assert paired_interval(values, values, resamples=20) == (0.0, 0.0)


def test_an_interval_is_repeatable_and_holds_the_mean_difference() -> None:
    ours, theirs = [float(n % 5) for n in range(50)], [float(n % 3) for n in range(50)]
    low, high = paired_interval(ours, theirs)
    assert (low, high) == paired_interval(ours, theirs)
    assert low < mean(ours) - mean(theirs) < high


def test_what_was_drawn_together_counts_once() -> None:
    ours, theirs = [1.0, 0.0] * 40, [0.0] * 80
    low, high = paired_interval(ours, theirs)
    pairs = [place // 2 for place in range(80)]
    assert low < high
    assert paired_interval(ours, theirs, pairs) == (0.5, 0.5)


def test_numbers_in_letters_are_distinct_words() -> None:
    words = [letters(number) for number in range(1000)]
    assert (words[0], words[25], words[26]) == ("a", "z", "ba")
    assert len(set(words)) == 1000


def test_unpaired_data_are_refused() -> None:
    for ours, theirs, groups in (([], [], None), ([1.0], [], None), ([1.0], [1.0], [1, 2])):
        with pytest.raises(ValueError, match="paired"):
            paired_interval(ours, theirs, groups)


def test_recall_counts_the_first_ten_and_the_rank_the_whole_list() -> None:
    ranked = [f"f{number}" for number in range(20)]
    assert figures_of(ranked, ["f0", "f15"]) == (0.5, 1.0)
    assert figures_of(ranked, ["f15"]) == (0.0, 1 / 16)
    assert figures_of(ranked, ["gone"]) == (0.0, 0.0)


def test_the_impact_report_tells_repositories_apart() -> None:
    answered = [Answered("a/b", "c1", 1.0, 0.5, 0.0, 0.25), Answered("x/y", "c1", 0.0, 0.0, 0.0, 0.0)]
    made = report(answered, "abc").as_json()
    assert made["figures"] == {"r@10": 0.5, "mrr": 0.25}
    assert made["baseline"] == {"r@10": 0.0, "mrr": 0.125}
    assert made["interval"] == {"r@10 - baseline": [0.0, 1.0]}
    assert made["by"]["a/b"]["r@10"] == 1.0
    assert set(made) == {"bench", "n", "figures", "baseline", "interval", "by", "commit", "machine"}


def test_references_out_of_the_tree_are_not_counted_as_unresolved() -> None:
    assert unresolved_rate(Counter(resolved=6, external=90, call=3, dynamic=1)) == pytest.approx(0.4)
    assert unresolved_rate(Counter(external=3)) is None


def test_what_remains_of_the_dense_phase_follows_from_its_rate() -> None:
    assert DensePhase(chunks=100, embedded=30, refused=10, rate=20.0).remaining_seconds == 3
    assert DensePhase(chunks=100).remaining_seconds is None


def test_the_same_report_is_printed_as_json_and_as_a_table() -> None:
    made = BenchReport(
        "probe", 3, {"x": 1 / 3, "none": None, "nan": math.nan}, {"x": 0.25}, {"x": (0.1, 0.2)}, {"part": {"x": 1}}
    )
    printed, table = io.StringIO(), io.StringIO()
    made.show(Console(file=printed), is_json=True)
    made.show(Console(file=table, width=120), is_json=False)
    assert json.loads(printed.getvalue())["figures"] == {"x": 0.3333, "none": None, "nan": None}
    assert printed.getvalue().count("\n") == 1
    assert all(word in table.getvalue() for word in ("probe, n = 3", "0.3333", "0.25", "0.1 to 0.2", "part"))


def test_the_machine_is_told_with_its_cores_and_its_python() -> None:
    assert "cores" in this_machine()
    assert "Python 3" in this_machine()


def test_records_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1, "b": 2}\n\n{"a": 3, "b": 4}\n')
    assert [row["a"] for row in read_rows(file, ("a", "b"))] == [1, 3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"b": 1}\n', "line 2 lacks the fields a"),
        (b"[1]\n", "line 1 lacks the fields a"),
        (b"{\n", "line 1 is not JSON"),
        (b"\n", "holds no record"),
        (b"\xff\xfe\xff", "can't be read as UTF-8"),
    ],
)
def test_odd_records_are_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=said):
        read_rows(file, ("a",))


def test_a_missing_file_of_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be read"):
        read_rows(tmp_path / "none.jsonl", ())


def test_clones_are_found_under_both_names(tmp_path: Path) -> None:
    for name in ("ann+one", "swe-bench+bob__two"):
        (tmp_path / name / "repo").mkdir(parents=True)
        (tmp_path / name / "repo" / "HEAD").write_text("ref: refs/heads/main\n")
    assert clone_of(tmp_path, "ann/one").endswith("ann+one/repo")
    assert clone_of(tmp_path, "bob/two").endswith("swe-bench+bob__two/repo")
    with pytest.raises(InvalidInput, match="no bare clone of eve/three"):
        clone_of(tmp_path, "eve/three")


def test_reading_and_hashing_takes_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    assert read_and_hash_seconds(tmp_path, ["a"]) > 0


def test_the_peak_of_memory_is_that_of_its_block() -> None:
    with MemoryPeak() as peak:
        assert peak.megabytes > 1
