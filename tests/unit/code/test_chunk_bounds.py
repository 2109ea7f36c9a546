"""Chunks fit the embedding model and are cut where it does least harm."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.chunk import Header, Lines, embedded, spans
from tenure.code.embedding_cost import CHUNK_COST, cost


def cut(text: str, ranks: dict[int, int] | None = None, header: Header | None = None) -> list[tuple[int, int]]:
    lines = Lines.of(text)
    found = spans(lines, 0, lines.count - 1, header or Header(), 1.0, ranks or {})
    return [(span.first_row, span.last_row) for span in found]


def test_a_short_text_is_one_span_without_blank_edges():
    assert cut("\n\na\n\nb\n\n") == [(2, 4)]


def test_a_long_text_is_cut_at_the_best_statement_in_reach():
    text = "".join(f"value_{number} = compute(number)\n" for number in range(60))
    first = cut(text, dict.fromkeys(range(60), 8) | {12: 4})[0]
    assert first == (0, 11)


def test_a_long_text_without_statements_is_cut_between_lines():
    found = cut("some words on a line\n" * 200)
    assert found[0][0] == 0
    assert [last + 1 for _, last in found[:-1]] == [first for first, _ in found[1:]]


@given(st.lists(st.text(alphabet="ab_ (.é漢한9\t", max_size=400), max_size=30), st.text(max_size=300))
@settings(max_examples=60)
def test_no_chunk_costs_more_than_the_model_reads_and_no_line_is_lost(rows: list[str], name: str):
    text = "\n".join(rows)
    lines, header = Lines.of(text), Header(name, "def f(a, b)", "doc " * 60)
    found = spans(lines, 0, lines.count - 1, header, 1.0, {})
    covered = {row for span in found for row in range(span.first_row, span.last_row + 1)}

    for span in found:
        assert text[span.start : span.end].strip()
        assert cost(embedded(header, text[span.start : span.end])) <= CHUNK_COST + 2
    assert covered >= {row for row, line in enumerate(rows) if line.strip()}


def test_signature_and_doc_stand_above_only_where_the_text_does_not_show_them():
    header = Header("A.f", "def f(self)", "What it does.")

    assert embedded(header, "    return 1") == "A.f\ndef f(self)\nWhat it does.\n    return 1"
    assert embedded(header, 'def f(self):\n    """What it does."""') == 'A.f\ndef f(self):\n    """What it does."""'


def test_lines_are_counted_as_an_editor_does():
    assert [Lines.of(text).count for text in ("", "a", "a\n", "a\n\nb")] == [0, 1, 1, 3]
