"""Scopes are read as people write them, and an empty answer says which option made it empty."""

import pytest

from tenure.core.context import RetrieveOptions
from tenure.retrieval.admission import in_tree, scope_hints

ROOTS = ["/home/ada/garden", "/"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("src/soil.py", "src/soil.py"),
        ("./src//soil.py", "src/soil.py"),
        ("src/../src/soil.py", "src/soil.py"),
        ("/home/ada/garden/src/soil.py", "src/soil.py"),
        ("/src/soil.py", "src/soil.py"),
        ("src/", "src"),
        (".", ""),
        ("/home/ada/garden", ""),
        ("/home/ada/gardener/x.py", "home/ada/gardener/x.py"),
        ("odd name ", "odd name "),
    ],
)
def test_a_path_is_read_as_the_index_spells_it(written: str, read: str) -> None:
    options = in_tree(RetrieveOptions(file_scope=(written,), directory_scope=(written,)), ROOTS[:1])
    assert (options.file_scope, options.directory_scope) == ((read,), (read,))
    assert in_tree(options, ROOTS[:1]) == options


def test_languages_are_lower_case() -> None:
    assert in_tree(RetrieveOptions(languages=("Python",)), []).languages == ("python",)


def test_an_empty_answer_names_the_option_that_made_it_empty() -> None:
    scoped = RetrieveOptions(directory_scope=("src",), max_tokens=7)
    assert scope_hints(scoped, found=3, shown=1) == []
    assert "max_tokens 7 holds none of the 3 items" in scope_hints(scoped, found=3, shown=0)[0]
    assert "in this scope" in scope_hints(scoped, found=0, shown=0)[0]
    assert scope_hints(RetrieveOptions(), found=0, shown=0) == []
