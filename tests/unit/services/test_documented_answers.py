"""`docs/api.md` names what the wire models hold: no field is missing there, and none is invented."""

import re
from pathlib import Path

from tenure.contracts.retrieval import FreshnessOut, SearchHit, SearchOut
from tenure.runtime.metrics import Metrics

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text("utf-8")


def _first_cells(section: str) -> set[str]:
    """What stands in backticks in the first cell of each row."""
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def _between(start: str, end: str) -> str:
    return PAGE.partition(start)[2].partition(end)[0]


def test_every_field_of_the_answer_of_search_is_documented() -> None:
    assert _first_cells(_between("The answer of `search`", "| field of a hit")) == set(SearchOut.model_fields)


def test_every_field_of_a_hit_is_documented() -> None:
    assert _first_cells(_between("| field of a hit", "## State of an index")) == set(SearchHit.model_fields)


def test_every_field_of_freshness_is_documented() -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| `freshness`")]
    assert set(re.findall(r"`([^`]+)`", row)) - {"freshness"} == set(FreshnessOut.model_fields)


def test_every_metric_is_documented_with_its_labels_and_none_is_invented() -> None:
    told = {
        cell.partition("{")[0]: cell.partition("{")[2].rstrip("}")
        for cell in _first_cells(_between("## Metrics", "\0"))
    }
    collectors = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name: collector
        for collector, names in Metrics().registry._collector_to_names.items()
        for metric in collector.describe()
    }
    assert told == {name: ",".join(collector._labelnames) for name, collector in collectors.items()}
