"""`bench fit` from records and bare clones to what is pasted into the code, through all stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from tenure.core.relevance import FEATURES, RelevanceModel
from tenure.retrieval.evidence import AUXILIARY_PENALTY
from tenure.retrieval.tuning import Tuning
from tenure.workspace.bench.fit import FOREIGN_QUESTIONS, collect, fit, fitted
from tenure.workspace.bench.localize import Outcome
from tests.support.git_sandbox import Sandbox

KEYS = {"n", "weights", "in_use", "left_out", "relevance", "judged_in_use", "judged_fitted", "judged_left_out"}
FIGURES = {"acc@1", "acc@3", "acc@5", "acc@10", "mrr"}
FEW_CHUNKS = 2
"""More than the bakery has, fewer than the kiln."""
GLAZE = 'def mix_glaze(ash, clay):\n    """Mix a glaze of ash and clay."""\n    return ash + clay\n'
KILN = (
    'class KilnOven:\n    """Fires pots."""\n\n    def raise_temperature(self, degrees):\n'
    '        """Heat the kiln slowly."""\n        return degrees\n'
)
DOUGH = 'def knead_dough(flour):\n    """Knead flour to dough."""\n    return flour\n'


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing in a thread: what is measured is no matter here."""
    monkeypatch.setenv("TENURE_INDEXING__WORKERS", "0")


def clone(sandbox: Sandbox, clones: Path, name: str) -> None:
    sandbox.git("clone", "-q", "--bare", str(sandbox.root), str(clones / name / "repo"))


def kiln(folder: Path) -> list[dict[str, Any]]:
    """A clone with two commits, and an instance of each, the later one first."""
    sandbox = Sandbox(folder / "kiln")
    sandbox.put("pottery/__init__.py")
    sandbox.put("pottery/glaze.py", GLAZE)
    first = sandbox.commit("Mix glazes")
    sandbox.put("pottery/kiln.py", KILN)
    second = sandbox.commit("Fire pots in a kiln")
    clone(sandbox, folder / "clones", "ann+kiln")
    later = {
        "id": "later",
        "repo": "ann/kiln",
        "base_commit": second,
        "issue": "The kiln heats too fast\n\nKilnOven.raise_temperature cracks pots.",
        "gold_files": ["pottery/kiln.py"],
    }
    earlier = {
        "id": "earlier",
        "repo": "ann/kiln",
        "base_commit": first,
        "issue": "mix_glaze ignores the ash\n\nThe glaze has no ash in it.",
        "gold_files": ["pottery/glaze.py"],
    }
    return [later, earlier]


def bakery(folder: Path) -> list[dict[str, Any]]:
    """A clone of one chunk with an instance that asks for a file that is not there."""
    sandbox = Sandbox(folder / "bakery")
    sandbox.put("dough.py", DOUGH)
    only = sandbox.commit("Knead")
    clone(sandbox, folder / "clones", "bob+bakery")
    issue = "knead_dough forgets the mix_glaze\n\nThe dough is dry."
    return [{"id": "lost", "repo": "bob/bakery", "base_commit": only, "issue": issue, "gold_files": ["water.py"]}]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


async def test_one_repository_gives_all_that_is_pasted_and_each_instance_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, kiln(tmp_path))
    told: list[Outcome] = []
    made = await fit(file, tmp_path / "clones", told.append, dense_chunks=0)
    assert [(one.instance.id, one.rank) for one in told] == [("earlier", 1), ("later", 1)]
    assert (set(made), made["n"]) == (KEYS, 2)
    tuning = Tuning()
    assert isinstance(made["weights"], dict)
    assert list(made["weights"]) == [*tuning.weights, AUXILIARY_PENALTY]
    assert made["in_use"] == made["left_out"] == {**dict.fromkeys(FIGURES, 100.0), "mrr": 1.0}
    assert isinstance(made["relevance"], dict)
    assert RelevanceModel.from_mapping({**made["relevance"], "version": "fitted"}).version == "fitted"
    in_use = made["judged_in_use"]
    assert isinstance(in_use, dict)
    assert {part: of for part, (_, of) in in_use.items() if part != "foreign"} == {
        "first lines": 2,
        "issues": 2,
        "names": 3,
    }
    assert 0 < in_use["foreign"][1] <= FOREIGN_QUESTIONS
    assert made["judged_left_out"] == in_use, "no other repository is there to fit another model on"
    assert json.loads(json.dumps(made))["n"] == 2


async def test_small_trees_are_judged_again_with_dense_vectors(tmp_path: Path) -> None:
    file = written(tmp_path, [*bakery(tmp_path), *kiln(tmp_path)])
    told: list[str] = []
    done, judged = await collect(
        file, tmp_path / "clones", lambda one: told.append(one.instance.id), dense_chunks=FEW_CHUNKS
    )
    assert told == [one.instance.id for one in done] == ["earlier", "later", "lost"]
    cosines: dict[tuple[str, bool], list[float]] = {}
    for one in judged:
        assert one.evidence.shape[1] == len(FEATURES)
        found = float(one.evidence[:, FEATURES.index("cosine")].max())
        cosines.setdefault((one.repo, one.part.endswith(", dense")), []).append(found)
    assert set(cosines) == {("ann/kiln", False), ("bob/bakery", False), ("bob/bakery", True)}
    assert max(cosines["bob/bakery", True]) > 0.3
    assert {*cosines["ann/kiln", False], *cosines["bob/bakery", False]} == {0.0}
    parts = {one.part: one.is_about for one in judged if one.repo == "bob/bakery"}
    assert parts.items() >= {"names, dense": True, "issues, dense": True, "foreign, dense": False}.items()
    assert {one.is_about for one in judged if one.part.startswith("first lines of others")} == {False}
    made = fitted(done, judged)
    assert made["in_use"] == {**dict.fromkeys(FIGURES, 66.7), "mrr": 0.667}, "the lost file is nowhere"
    assert isinstance(made["judged_left_out"], dict)
    assert made["judged_left_out"].keys() == {one.part for one in judged}
