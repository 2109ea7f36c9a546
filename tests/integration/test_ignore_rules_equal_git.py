"""Lines of ignore files mean to us what they mean to the installed git, over generated patterns and paths (case 01)."""

import random
import subprocess
from pathlib import Path

import pytest

from tenure.code.ignore import MAX_STARS, IgnoreRules
from tests.support.git_sandbox import Sandbox, git_environment

PIECES = [
    *("a", "b", "ab", "1", "é", "Ω", ".", "-", "!", "#", "$", "(", "+", "|", "^", "{a,b}", "\t", "\f"),
    *("?", "?", "*", "*", "**", "***", "/", "/", "**/", "/**", "/**/", "**\\/", "\\*", "\\?", "\\[", "\\a", "\\", " ", "\\ "),
    *("[ab]", "[!a]", "[^a]", "[a-c]", "[c-a]", "[é]", "[à-é]", "[]a]", "[!]a]", "[a-]", "[-a]", "[--0]", "[\\]a]", "[a\\-c]"),
    *("[a-\\c]", "[\\\\]", "[/]", "[a/b]", "[", "]", "[a", "[[:digit:]]", "[[:alpha:]_]", "[![:space:]]", "[[:upper:]b]"),
    *("[[:punct:]]", "[[:digit:]-z]", "[a-[:digit:]]", "[[:foo:]]", "[[:alnum:]", "[[:]", "[[::]]", "[[.a.]]", "[^[:alnum:]-]"),
    *("[[:xdigit:]]", "[[:lower:]]", "[[:graph:]]", "[[:cntrl:]]", "[[:blank:]]", "[[:print:]]"),
]  # fmt: skip
NAMES = ["a", "b", "ab", "1", "a1", "é", "éa", "Ω", "A", "Ab", "a b", "a ", "[", "]", "a]", "-", "a-b", "\\", "*", "?", "#", "!a", "x.y", "z", "\t", "\f", "{a,b}", "$", "(", "+", "|", "^", "_"]  # fmt: skip
FOLDERS = ["d", "d/d", "d/a", "d/é", "e/x/y"]
_WISHED = [*NAMES, *(f"{folder}/{name}" for folder in FOLDERS for name in NAMES[:7]), "e/x/y/b/é/z"]
PATHS = [path for path in _WISHED if not any(other.startswith(f"{path}/") for other in _WISHED)]


def generated(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    lines = ["".join(source.choices(PIECES, k=source.randint(1, 5))) for _ in range(count)]
    return [line for line in lines if max(part.count("*") for part in line.split("/")) <= MAX_STARS]


def by_git(root: Path, lines: list[str]) -> list[set[str]]:
    """What git ignores of `PATHS` by each line; the tree is the same for all."""
    box = Sandbox(root)
    for path in PATHS:
        box.put(path)
    asked = "\0".join(PATHS).encode() + b"\0"
    found = []
    for line in lines:
        box.put(".git/info/exclude", f"{line}\n")
        command = ["git", "check-ignore", "-z", "--no-index", "--stdin", "-v", "-n"]
        # Not through the sandbox: git exits with 1 where nothing is ignored.
        done = subprocess.run(command, cwd=root, env=git_environment(), input=asked, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        told = done.stdout.decode().split("\0")[:-1]
        fields = zip(told[2::4], told[3::4], strict=True)
        found.append({path for pattern, path in fields if pattern and not pattern.startswith("!")})
    return found


@pytest.mark.parametrize("seed", [11, 12])
def test_generated_lines_ignore_what_git_ignores(seed: int, tmp_path: Path) -> None:
    lines = generated(seed, 250)
    assert len(lines) > 200
    assert len(PATHS) > 60
    for line, expected in zip(lines, by_git(tmp_path / "t", lines), strict=True):
        rules = IgnoreRules({"": f"{line}\n"}.get)
        assert {path for path in PATHS if rules.ignores(path)} == expected, line
