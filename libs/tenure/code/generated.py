"""Texts that tools write: lock files and minified files, which no question is about."""

import re
from pathlib import PurePosixPath

from tenure.code.languages.registry import PARSED_LANGUAGES, TextKind, kind_of

LONG_LINE = 5_000
"""Characters from which a line was not typed by a person."""

LONG_LINE_SHARE = 0.5
"""A file is minified if lines that long hold at least this share of it."""

_LOCK_FILE_LIST = """
package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock poetry.lock uv.lock
pdm.lock pipfile.lock pixi.lock conda-lock.yml cargo.lock go.sum composer.lock gemfile.lock mix.lock flake.lock
pubspec.lock podfile.lock package.resolved packages.lock.json gradle.lockfile .terraform.lock.hcl chart.lock
"""
_LOCK_FILES = frozenset(_LOCK_FILE_LIST.split())
_MINIFIED_NAME = re.compile(r".*(?:[.-]min\.(?:[cm]?js|css|html)|\.bundle\.js|\.(?:js|css|mjs)\.map)")


def reason_by_name(path: str) -> str:
    """Why a tool wrote this file, by its name; '' if the name does not tell."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    if name in _LOCK_FILES:
        return "lock file"
    if _MINIFIED_NAME.fullmatch(name):
        return "minified file (by its name)"
    return ""


def reason_by_text(language: str, text: str) -> str:
    """Why a tool wrote this text: minified, by its line lengths. '' if not; never for parsed languages and prose."""
    if language in PARSED_LANGUAGES or kind_of(language) is TextKind.PROSE or len(text) < LONG_LINE:
        return ""
    longest = long = 0
    for line in text.split("\n"):
        if len(line) >= LONG_LINE:
            long += len(line)
            longest = max(longest, len(line))
    if long < LONG_LINE_SHARE * len(text):
        return ""
    return f"minified file (a line of {longest:,} characters)"
