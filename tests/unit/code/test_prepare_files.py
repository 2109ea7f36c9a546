"""Files become rows: symbols, chunks, edges, and a status for whatever is odd about them."""

import argparse
import inspect
import json
import json.decoder
import os
import textwrap
import uuid
from pathlib import Path
from types import ModuleType

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.adapters.tokenizer import token_counter
from tenure.code.chunk import embedding_text
from tenure.code.model import Candidate, PreparedFile, PrepareRequest
from tenure.code.prepare import prepare_file, prepare_many
from tenure.core.ids import chunk_id, content_hash, file_id
from tenure.core.memory import EdgeType, FileRole, NodeType, ParseStatus
from tenure.core.sparse import term_index, unpack

WORKSPACE = "7b0c8a52-2f7e-4f0e-9a5b-0d7d0a1f2c3d"
REPOSITORY = "1f0c8a52-2f7e-4f0e-9a5b-0d7d0a1f2c3e"


def prepare(content: str | bytes, path: str = "pkg/brakes.py") -> PreparedFile:
    raw = content.encode() if isinstance(content, str) else content
    return prepare_file(PrepareRequest(WORKSPACE, REPOSITORY, Candidate(path, "s", len(raw)), 3, raw))


def text_of(prepared: PreparedFile) -> str:
    assert prepared.file is not None
    return zstandard.ZstdDecompressor().decompress(prepared.file.text).decode()


def names(prepared: PreparedFile) -> dict[str, int]:
    return {str(node.source.qualified_name): node.metadata["line"] for node in prepared.nodes[1:]}


def status(prepared: PreparedFile) -> tuple[ParseStatus, str]:
    assert prepared.file is not None
    return prepared.file.status, prepared.file.reason


BRAKES = '''"""How trains stop."""
import math


class Brake:
    """A disc.

    Longer.
    """

    force = 3

    @property
    def heat(self):
        return self.force

    @heat.setter
    def heat(self, value):
        def check(x):
            return x

        self.force = check(value)


def stop(
    speed: float,
) -> float:
    return math.sqrt(speed)
'''


def test_nested_and_equal_names_are_nodes_of_their_own_with_the_line_of_their_name():
    prepared = prepare(BRAKES)

    found = [(n.source.qualified_name, n.metadata["form"], n.metadata["line"]) for n in prepared.nodes[1:]]

    assert found == [
        ("Brake", "class", 5),
        ("Brake.heat", "property", 14),
        ("Brake.heat", "setter", 18),
        ("Brake.heat.check", "function", 19),
        ("stop", "function", 25),
    ]
    assert len({node.id for node in prepared.nodes}) == 6


def test_a_symbol_spans_its_decorators_and_says_its_signature_and_doc():
    heat, stop = prepare(BRAKES).nodes[2], prepare(BRAKES).nodes[5]

    assert (heat.source.start_line, heat.source.end_line) == (13, 15)
    assert stop.metadata["signature"] == "def stop( speed: float, ) -> float"
    assert prepare(BRAKES).nodes[1].metadata["doc"] == "A disc."


def test_the_file_node_knows_its_doc_its_names_and_a_summary():
    node = prepare(BRAKES).nodes[0]

    assert (node.id, node.type) == (file_id(WORKSPACE, REPOSITORY, "pkg/brakes.py"), NodeType.FILE)
    assert node.metadata["exports"] == ["Brake", "stop"]
    assert node.metadata["summary"] == "How trains stop. Defines Brake, stop."


def test_contains_edges_follow_the_nesting():
    prepared = prepare(BRAKES)
    title = {node.id: node.title for node in prepared.nodes}

    assert {(title[e.source_id], title[e.target_id]) for e in prepared.contains} == {
        ("pkg/brakes.py", "Brake"),
        ("Brake", "Brake.heat"),
        ("Brake.heat", "Brake.heat.check"),
        ("pkg/brakes.py", "stop"),
    }
    assert {edge.type for edge in prepared.contains} == {EdgeType.CONTAINS}


def test_every_line_with_text_stands_in_one_chunk_of_the_innermost_symbol():
    prepared = prepare(BRAKES)
    lines = text_of(prepared).split("\n")
    covered = [line for chunk in prepared.chunks for line in range(chunk.start_line, chunk.end_line + 1)]
    owner = {chunk.start_line: chunk.node_id for chunk in prepared.chunks}

    assert len(covered) == len(set(covered))
    assert set(covered) >= {number for number, line in enumerate(lines, 1) if line.strip()}
    assert owner[19] == prepared.nodes[4].id


def test_a_chunk_can_be_made_again_from_the_rows():
    prepared = prepare(BRAKES)
    nodes = {node.id: node for node in prepared.nodes}
    for chunk in prepared.chunks:
        text = text_of(prepared)[chunk.start_offset : chunk.end_offset]
        assert content_hash(embedding_text(nodes[chunk.node_id], text).encode()) == chunk.content_hash
        assert chunk.id == chunk_id(chunk.node_id, chunk.number)


@pytest.mark.parametrize("module", [argparse, textwrap, json.decoder])
def test_tokens_are_estimated_near_their_real_number(module: ModuleType):
    prepared = prepare(inspect.getsource(module))
    real = token_counter("o200k_base").count(text_of(prepared))

    assert prepared.nodes[0].token_count == pytest.approx(real, rel=0.2)


def test_the_pieces_of_a_giant_line_share_its_tokens():
    line = " ".join(inspect.getsource(textwrap).split())
    prepared = prepare(f"x = 1\n{line}\n", "notes.txt")

    assert len(prepared.chunks) > 5
    assert prepared.nodes[0].token_count == pytest.approx(token_counter("o200k_base").count(line), rel=0.2)


def test_the_tokens_of_a_node_are_those_of_all_chunks_in_its_span():
    prepared = prepare(BRAKES)
    by_title = {node.title: node.token_count for node in prepared.nodes if node.metadata["form"] != "property"}

    assert by_title["pkg/brakes.py"] == sum(chunk.token_count for chunk in prepared.chunks)
    assert by_title["Brake"] > by_title["Brake.heat"] > by_title["Brake.heat.check"] > 0


def test_ids_survive_an_edit_elsewhere_and_text_of_removed_symbols_is_gone():
    before, after = prepare(BRAKES), prepare("\n# a comment\n" + BRAKES.replace("def stop(", "def halt("))

    assert [n.id for n in before.nodes[:5]] == [n.id for n in after.nodes[:5]]
    assert {c.id for c in before.chunks} - {c.id for c in after.chunks} == {chunk_id(before.nodes[5].id, 0)}
    assert "stop(" not in text_of(after)


def test_equal_texts_in_two_files_share_an_embedding_but_no_id():
    one, two = prepare(BRAKES, "a/b.py"), prepare(BRAKES, "a_b.py")

    assert [c.content_hash for c in one.chunks] == [c.content_hash for c in two.chunks]
    assert not {c.id for c in one.chunks} & {c.id for c in two.chunks}


def test_the_path_is_part_of_the_sparse_vectors():
    one, two = prepare(BRAKES, "a/wheel.py"), prepare(BRAKES, "a/axle.py")
    assert one.file is not None
    assert two.file is not None
    assert set(unpack(one.file.sparse).indices) != set(unpack(two.file.sparse).indices)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\xef\xbb\xbfclass Caf\xc3\xa9:\n    def m(self): pass\n", {"Café": 1, "Café.m": 2}),
        (b"x = 1\r\n\r\ndef f():\r\n    return 1\r\n", {"f": 3}),
        (b"def a():\r    return 1\r\rdef b(): pass\r", {"a": 1, "b": 4}),
        (b"def a(): pass\r\n\ndef b(): pass\n\rdef c(): pass", {"a": 1, "b": 3, "c": 5}),
        (b"def a(): pass\n\x0c\ndef b(): pass\n", {"a": 1, "b": 3}),
        ("def breit(): pass\n".encode("utf-16"), {"breit": 1}),
        (b"# -*- coding: latin-1 -*-\ndef gr\xfc\xdfe(): pass\n", {"grüße": 2}),
    ],
)
def test_marks_line_ends_and_declared_encodings_change_neither_names_nor_lines(raw: bytes, expected: dict[str, int]):
    prepared = prepare(raw)

    assert names(prepared) == expected
    assert status(prepared) == (ParseStatus.OK, "")
    assert not any("\ufeff" in name for name in names(prepared))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"def f(): pass\n\0\n", "NUL characters removed"),
        (b"X = 'na\xefve'\ndef f(): pass\n", "encoding guessed: cp1252"),
        (b"# coding: klingon\ndef f(): pass\n", "unknown encoding 'klingon' declared"),
        (b"# coding: idna\ndef f(): pass\n", "unknown encoding 'idna' declared"),
        (b"def f(): pass\nX = 'caf\xc3", "encoding guessed: UTF-8 with broken bytes replaced, first at line 2"),
    ],
)
def test_odd_bytes_leave_the_symbols_and_are_named(raw: bytes, reason: str):
    prepared = prepare(raw)

    assert "f" in names(prepared)
    assert status(prepared)[0] is ParseStatus.PARTIAL
    assert reason in status(prepared)[1]


@pytest.mark.parametrize(
    ("source", "good", "reason"),
    [
        ("def f():\n    print 'x', 1\n", ["f"], "Python 2 syntax at line 2"),
        ("try:\n    f()\nexcept IOError, error:\n    pass\n", [], "Python 2 syntax at line 3"),
        ("def f(): pass\nx = `f`\n", ["f"], "Python 2 syntax at line 2"),
        ("x = 0777\n", [], "Python 2 syntax at line 1"),
        ("x = 10L\n", [], "Python 2 syntax at line 1"),
        ("if a <> b: pass\n", [], "Python 2 syntax at line 1"),
        ("x = ur'a'\n", [], "Python 2 syntax at line 1"),
        ("raise E, 'text'\n", [], "Python 2 syntax at line 1"),
        ("exec 'x = 1'\n", [], "Python 2 syntax at line 1"),
        ("def f(a, (b, c)): pass\n", ["f"], "Python 2 syntax at line 1"),
        ("def a(): pass\n\ndef b(:\n    pass\n\ndef c(): pass\n", ["a", "c"], "syntax error at line 3"),
        (
            "def a():\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> b\n\ndef c(): pass\n",
            ["a", "c"],
            "merge conflict at line 2",
        ),
    ],
)
def test_old_and_broken_syntax_is_partial_with_its_line_and_the_good_symbols(source: str, good: list[str], reason: str):
    prepared = prepare(source)

    assert status(prepared) == (ParseStatus.PARTIAL, reason)
    assert set(good) <= set(names(prepared))


def test_a_name_behind_a_quote_that_is_never_closed_is_no_symbol():
    prepared = prepare('def open_one():\n    """no end\n    return 1\n\n    def text(): pass\n')

    assert list(names(prepared)) == ["open_one"]
    assert "no end" in text_of(prepared)


@pytest.mark.parametrize(
    "source",
    [
        "type Pair[T] = tuple[T, T]\n",
        "class Box[T: (int, str) = int]:\n    pass\n",
        'def f(d):\n    return f"{d["a"]} {f"{d!r:>{10}}"}"\n',
        "try:\n    f()\nexcept OSError, TypeError:\n    pass\n",
        't = t"hello {name}"\n',
        "match x:\n    case [a, *b] if a: f(a)\n",
        'X = """a `b` <> 0777 10L ur\'x\' """  # `c` <> 010\n',
        "x = 0o777 + 0x10 + 00 + 1_005 + 101 + 1.05 + L + URL\n",
    ],
)
def test_syntax_newer_than_the_service_and_old_looking_text_is_fine(source: str):
    assert status(prepare(source)) == (ParseStatus.OK, "")


@pytest.mark.parametrize(
    ("path", "raw", "reason"),
    [
        ("a.py", b"\0" * 64, "binary"),
        ("a.py", b"\x7fELF\x02\x01\x01" + bytes(range(64)), "binary"),
        ("poetry.lock", b"x = 1\n", "lock file"),
        ("web/app.min.js", b"var a;", "minified"),
        ("web/app.js", b"var a=1;" * 2000, "minified file (a line of 16,000 characters)"),
        ("data.json", b'{"a": 1}\n' * 200_000, "generated data over 1 MB"),
        ("deploy/id_rsa", b"text", "key file"),
    ],
)
def test_what_is_no_source_is_left_out_with_a_reason(path: str, raw: bytes, reason: str):
    prepared = prepare(raw, path)

    assert prepared.file is None
    assert prepared.left_out is not None
    assert reason in prepared.left_out.reason


def test_a_python_file_of_one_giant_line_keeps_its_symbols_and_its_chunks_stay_bounded():
    prepared = prepare("DATA = '" + "aGVsbG8gd29ybGQ" * 10_000 + "'\ndef behind(): pass\n")

    assert names(prepared) == {"behind": 2}
    assert 2 < len(prepared.chunks) <= 34
    assert max(chunk.end_offset - chunk.start_offset for chunk in prepared.chunks) < 1000


@pytest.mark.parametrize("source", ["", "\n\n\n", "   \n\t\n"])
def test_an_empty_or_blank_file_is_indexed_without_a_chunk(source: str):
    prepared = prepare(source)

    assert status(prepared) == (ParseStatus.OK, "")
    assert (len(prepared.nodes), prepared.chunks) == (1, [])


@pytest.mark.parametrize(
    "source",
    [
        "(" * 20_000,
        "{" * 20_000,
        "x = " + "[" * 20_000 + "]" * 20_000,
        "not " * 20_000 + "x",
        'f"{' * 5_000,
        "".join(" " * depth + "def f():\n" for depth in range(300)),
    ],
)
def test_deep_nesting_and_endless_errors_end_with_a_status(source: str):
    prepared = prepare(source)

    assert status(prepared)[0] in ParseStatus
    assert len(prepared.nodes) <= 101


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=100)
def test_any_bytes_give_rows_or_a_reason(raw: bytes):
    prepared = prepare(raw)

    if prepared.file is None:
        assert prepared.left_out is not None
        return
    text = text_of(prepared)
    assert "\0" not in text
    assert "\r" not in text
    assert all(text[c.start_offset : c.end_offset].strip() for c in prepared.chunks)
    assert len({c.id for c in prepared.chunks}) == len(prepared.chunks)


def test_secrets_are_masked_before_anything_is_made_of_the_text():
    key = "AKIA" + "Q3EGRIVE2YXEXAMX"
    prepared = prepare(f'KEY = "{key}"\n\ndef f(): pass\n')

    assert key not in text_of(prepared)
    assert names(prepared) == {"f": 3}


def notebook(cells: list[dict[str, object]], language: str = "python") -> str:
    return json.dumps({"nbformat": 4, "metadata": {"kernelspec": {"language": language}}, "cells": cells})


CELLS: list[dict[str, object]] = [
    {"cell_type": "markdown", "source": ["# Title\n", "About brakes."]},
    {
        "cell_type": "code",
        "source": "%matplotlib inline\n!ls\ndef slow(v):\n    return v",
        "outputs": [{"data": {"image/png": "iVBORw0KGgo" * 100}}],
    },
]


def test_a_notebook_gives_its_cells_and_symbols_but_no_output():
    prepared = prepare(notebook(CELLS), "note.ipynb")

    assert list(names(prepared)) == ["slow"]
    assert status(prepared) == (ParseStatus.OK, "")
    assert "iVBOR" not in text_of(prepared)
    assert "About brakes." in text_of(prepared)


def test_a_notebook_of_another_language_is_text_and_a_broken_one_has_failed():
    assert names_of_sections(prepare(notebook(CELLS, "R"), "note.ipynb")) == []
    assert status(prepare("{", "note.ipynb"))[0] is ParseStatus.FAILED
    assert text_of(prepare("{ some text", "note.ipynb")) == "{ some text"


def names_of_sections(prepared: PreparedFile) -> list[str]:
    return [str(node.source.qualified_name) for node in prepared.nodes[1:]]


def test_documents_are_nodes_by_heading_and_their_role_follows_the_path():
    prepared = prepare("intro\n\n# One\n\n## Two\n\n## Two\n\ntext\n", "docs/a.md")

    assert names_of_sections(prepared) == ["One", "One > Two", "One > Two"]
    assert {node.type for node in prepared.nodes[1:]} == {NodeType.DOCUMENT}
    assert len({node.id for node in prepared.nodes}) == 4
    assert prepared.file is not None
    assert prepared.file.role is FileRole.DOCUMENT


def on_disk(path: Path) -> PreparedFile:
    return prepare_file(PrepareRequest(WORKSPACE, REPOSITORY, Candidate("a.py", "s", 1, str(path)), 1))


def test_a_file_that_vanished_or_is_no_regular_file_is_left_out_not_an_error(tmp_path: Path):
    target = tmp_path / "real.py"
    target.write_text("x = 1\n")
    link, pipe = tmp_path / "link.py", tmp_path / "pipe.py"
    link.symlink_to(target)
    os.mkfifo(pipe)

    for path in (tmp_path / "gone.py", link, pipe, tmp_path):
        prepared = on_disk(path)
        assert prepared.file is None
        assert prepared.left_out is not None
        assert prepared.left_out.reason.startswith("unreadable: ")
    assert on_disk(target).file is not None


def test_many_are_prepared_in_order():
    requests = [
        PrepareRequest(WORKSPACE, REPOSITORY, Candidate(path, "s", 6), 1, b"x = 1\n") for path in ("b.py", "a.py")
    ]
    assert [item.path for item in prepare_many(requests)] == ["b.py", "a.py"]


def test_ids_are_uuids_of_version_five():
    identity = prepare(BRAKES).nodes[1].id
    assert str(uuid.UUID(identity)) == identity
    assert uuid.UUID(identity).version == 5


def test_a_translation_catalogue_is_cut_at_its_beginning_and_found_by_all_its_words():
    entries = "".join(f'msgid "word {n}"\nmsgstr "mot{n}"\n\n' for n in range(300))
    prepared = prepare(f'msgid ""\nmsgstr "Language: fr"\n\n{entries}', "locale/fr.po")
    assert prepared.file is not None
    assert max(chunk.end_line for chunk in prepared.chunks) <= 30
    assert prepared.file.lines == 3 + 3 * 300
    assert "mot299" in text_of(prepared)
    assert term_index("mot299") in unpack(prepared.file.sparse).indices
