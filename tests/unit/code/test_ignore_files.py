import pytest

from tenure.code.ignore import MAX_IGNORE_LINES, IgnoreFile, IgnoreRules
from tenure.core.errors import InvalidInput


def rules(**files: str) -> IgnoreRules:
    texts = {folder.replace("__", "/").removeprefix("root"): text for folder, text in files.items()}
    return IgnoreRules(texts.get)


@pytest.mark.parametrize(
    ("text", "path", "is_ignored"),
    [
        ("*.log", "deep/in/a.log", True),
        ("*.log\n!keep.log", "keep.log", False),
        ("build/", "build/out.py", True),
        ("build/", "build", False),
        ("/build", "pkg/build/x.py", False),
        ("docs/*\n!docs/keep.md", "docs/keep.md", False),
        ("docs\n!docs/keep.md", "docs/keep.md", True),
        ("*\n!*/\n!*.py", "a/b/c.py", False),
        ("*\n!*/\n!*.py", "a/b/c.txt", True),
        ("foo/**\n!foo/keep", "foo/keep", False),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/z", "a/z", True),
        ("\ufeff*.md\r\n", "x.md", True),
        ("# *.md", "x.md", False),
        ("\\#x", "#x", True),
        ("[z-a]\n*.md", "x.md", True),
        ("caf\udce9", "caf\udce9", True),
        ("[[:digit:]]*", "7up", True),
        ("[[:digit:]]*", "up7", False),
        ("[[:nonsense:]]", "n", False),
        ("caf?", "café", False),
        ("caf??", "café", True),
        ("[é]", "é", False),
        ("a\\", "a", False),
        ("a\\ ", "a ", True),
        ("a  ", "a", True),
        ("a/**/b/**/c", "a/x/b/y/b/z/c", True),
    ],
)
def test_a_line_means_what_it_means_to_git(text: str, path: str, is_ignored: bool) -> None:
    assert rules(root=text).ignores(path) is is_ignored


def test_the_deeper_ignore_file_has_the_last_word() -> None:
    both = rules(root="*.txt", pkg="!notes.txt")
    assert not both.ignores("pkg/notes.txt")
    assert both.ignores("pkg/other.txt")
    assert both.ignores("notes.txt")


def test_an_ignored_folder_s_own_ignore_file_is_never_asked_for() -> None:
    asked: list[str] = []

    def load(folder: str) -> str | None:
        asked.append(folder)
        return "skipped/" if folder == "" else "!*"

    assert IgnoreRules(load).ignores("skipped/deep/x.py")
    assert asked == [""]


def test_a_path_of_two_thousand_folders_is_judged_without_recursion() -> None:
    assert rules(root="last").ignores("/".join(["d"] * 2_000) + "/last")


def test_a_line_that_would_take_for_ever_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 4 wildcards"):
        IgnoreFile("*a*a*a*a*a*b")


def test_a_line_of_many_folders_costs_no_more_than_one_look_at_a_path() -> None:
    """Ends at once; trying every way to spread the folders over the stars would take for ever."""
    assert not IgnoreFile("**/a/" * 40 + "b").verdict("a/" * 500 + "c", is_folder=False)


def test_an_endless_ignore_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match=f"at most {MAX_IGNORE_LINES}"):
        IgnoreFile("x\n" * (MAX_IGNORE_LINES + 1))
