"""The made tree of `tenure bench retrieve`: repeatable, valid, and as large as asked for."""

import ast
import asyncio
from pathlib import Path

import numpy as np
import pytest

from tenure.workspace.bench.corpus import MadeTree, Words, harvest, make_tree, questions
from tenure.workspace.bench.corpus_store import COSINE, around_vectors
from tenure.workspace.bench.retrieve import measure, shares

NODES = 1_500
SENTENCES = (
    "Reads the ledger of {0} and sums its pages.",
    "Every entry in {0} has a date and an amount.",
    "Amounts in other currencies of {0} are converted.",
    "The sum of {0} is kept beside its page.",
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Words:
    folder = tmp_path_factory.mktemp("sources")
    for number in range(6):
        names = "\n".join(f"return_{number} = entry_{step}.amountOf(return_{step}, Class)" for step in range(60))
        docs = [f'"""{sentence.format(f"wing {number}")} More of it."""' for sentence in SENTENCES]
        (folder / f"module_{number}.py").write_text("\n".join([*docs, names]))
    (folder / "short.py").write_text("x = 1\n")
    return harvest(3, [folder])


@pytest.fixture(scope="module")
def tree(words: Words) -> MadeTree:
    return make_tree(words, NODES, 3)


def test_a_source_with_few_words_is_no_topic(words: Words) -> None:
    assert len(words.topics) == 6


def test_equal_seeds_make_equal_trees_and_other_seeds_other_ones(words: Words, tree: MadeTree) -> None:
    assert make_tree(words, NODES, 3) == tree
    assert make_tree(words, NODES, 4).files != tree.files


def test_every_made_python_file_is_valid_python(tree: MadeTree) -> None:
    sources = [text for path, text in tree.files.items() if path.endswith(".py")]
    assert len(sources) > 50
    for text in sources:
        ast.parse(text)


def test_a_tree_has_about_the_definitions_that_were_asked_for(tree: MadeTree) -> None:
    sources = [ast.parse(text) for path, text in tree.files.items() if path.endswith(".py")]
    kinds = ast.ClassDef | ast.FunctionDef
    definitions = sum(isinstance(node, kinds) for source in sources for node in ast.walk(source))
    assert definitions == pytest.approx(NODES * (10058 + 28254) / 49473, rel=0.3)


def test_no_held_out_sentence_stands_in_the_tree(words: Words, tree: MadeTree) -> None:
    assert words.held_out
    everything = "\n".join(tree.files.values())
    assert not [sentence for sentence in words.held_out if sentence in everything]


def test_questions_are_sentences_issues_and_names_in_turn(tmp_path: Path) -> None:
    words = Words([], [f"Sentence number {number} says so." for number in range(9)])
    tree = MadeTree({}, [("package.module", "Ledger")])
    sentence, issue, name = questions(words, tree, 3, 1)
    assert sentence in words.held_out
    assert "in Ledger\n" in issue
    assert "from package.module import Ledger" in issue
    assert name == "Ledger"


def test_made_vectors_lie_at_the_promised_angle_around_a_real_one() -> None:
    real = np.eye(4, 384, dtype=np.float32)
    made = around_vectors(real, 200, 5)
    nearest = (made @ real.T).max(axis=1)
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.ones(200), abs=1e-5)
    assert nearest.mean() == pytest.approx(COSINE, abs=0.02)


async def test_clients_ask_side_by_side_and_every_question_once() -> None:
    seen, at_once, most = [], 0, 0

    async def call(number: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        seen.append(number)

    measured = await measure(call, range(10), 3)
    assert sorted(seen) == list(range(10))
    assert most == 3
    assert len(measured.each_ms) == 10


def test_shares_of_the_stages_add_up_to_one_without_the_total() -> None:
    by = shares([{"rank": 1.0, "rows": 3.0, "total": 4.0}, {"rank": 3.0, "rows": 1.0, "total": 4.0}])
    assert by == {"rank": {"mean_ms": 2.0, "share": 0.5}, "rows": {"mean_ms": 2.0, "share": 0.5}}
