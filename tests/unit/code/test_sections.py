"""Headings of documents, and what a path tells."""

import pytest

from tenure.code.documents import sections
from tenure.code.languages.registry import TextKind, kind_of, language_of
from tenure.code.roles import is_test_path, role_of
from tenure.core.memory import FileRole


def found(language: str, text: str) -> list[tuple[str, int, int]]:
    return [(s.qualified_name, s.first_line, s.last_line) for s in sections(language, text.split("\n"))]


def test_markdown_headings_of_both_kinds_outside_code_and_front_matter():
    text = "---\ntitle: x\n---\n# A #\n```\n# no\n```\n\nSub\n---\ntext\n### Deep\n- item\n---\n"
    assert found("markdown", text) == [("A", 4, 8), ("A > Sub", 9, 11), ("A > Sub > Deep", 12, 15)]


def test_restructured_levels_follow_the_order_of_their_marks():
    text = "=====\nTitle\n=====\n\nPart\n====\n\ntext\n\nSub\n---\n\nNext\n====\n"
    assert found("rst", text) == [
        ("Title", 1, 4),
        ("Title > Part", 5, 9),
        ("Title > Part > Sub", 10, 12),
        ("Title > Next", 13, 15),
    ]


def test_other_texts_have_no_sections():
    assert found("yaml", "# not a heading\na: 1\n") == []


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/a.py", True),
        ("pkg/tests/data.py", True),
        ("test/a.py", True),
        ("test_a.py", True),
        ("a_test.py", True),
        ("pkg/conftest.py", True),
        ("web/a.spec.ts", True),
        ("django/test/client.py", False),
        ("testing/a.py", False),
        ("src/attest.py", False),
        ("contest.py", False),
    ],
)
def test_tests_are_told_by_their_path(path: str, is_test: bool):
    assert is_test_path(path) is is_test


def test_roles_follow_path_and_language():
    assert role_of("tests/a.py", "python") is FileRole.TEST
    assert role_of("a.py", "python") is FileRole.CODE
    assert role_of("a.toml", "toml") is FileRole.CONFIG
    assert role_of("tests/README.md", "markdown") is FileRole.DOCUMENT


def test_languages_are_told_by_name_suffix_and_first_line():
    assert language_of("A/B.PYI") == "python"
    assert language_of("bin/tool", b"#!/usr/bin/env python3\n") == "python"
    assert language_of("bin/tool", b"\xef\xbb\xbf#!/bin/sh -e\n") == "shell"
    assert language_of("Makefile") == "make"
    assert language_of("x.unknown") == "other"
    assert kind_of("other") is TextKind.DATA
