"""What the question names, as evidence for files and nodes. Pure.

A name shared by many definitions says little about each, so its weight is divided among them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tenure.code.roles import is_test_path
from tenure.core.context import IncludeTests, RetrieveOptions
from tenure.core.memory import NodeType
from tenure.ports.records import NodePlace
from tenure.retrieval.question import Question
from tenure.retrieval.sources import DEFINITIONS_READ, Named

MAX_DEFINING_FILES = 20
"""A name that more files define (`get`, `run`) names none of them."""
MAX_MODULE_FILES = 3
"""A dotted name that more files could be is no module."""
FRAME_DECAY = 0.85
"""A stack frame counts this much of the frame below it: the last frame is nearest to the fault."""
MODULE_SHARE = 0.5
"""A module that is named without anything in it counts half: it is often only where something was imported."""
MIN_NAME_CHARS = 3
"""Shorter names are words."""
MAX_NAMES = 300
"""Names of one question that are looked up."""
MAX_DOTTED_PARTS = 16
"""Parts of a dotted name that is looked up; what is longer is data."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"\b[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_BACK_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_CALLED = re.compile(r"\b([^\W\d]\w*)\(")
_ATTRIBUTE = re.compile(r"\.([^\W\d]\w*)")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")


@dataclass(slots=True)
class NameEvidence:
    """Scores by file id and by node id; `exact` are nodes that the question names, by how unambiguous the name is."""

    paths: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    frames: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    dotted: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    identifiers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    qualified: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    exact: dict[str, float] = field(default_factory=dict)
    framed_functions: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedNames:
    """The names that are looked up: `code_like` are written as code is, `words` are all identifiers of the text,
    `dotted` the dotted names of its prose.
    """

    code_like: tuple[str, ...]
    words: frozenset[str]
    dotted: tuple[str, ...]


def asked_names(question: Question) -> AskedNames:
    """The names in a question, without repeats in the order of the text."""
    text, parts = question.text, question.parts
    written_as_code = {
        *(name for match in _BACK_QUOTED.finditer(text) for name in _IDENTIFIER.findall(match[1])),
        *_CALLED.findall(text),
        *_ATTRIBUTE.findall(text),
    }
    words = list(dict.fromkeys(_IDENTIFIER.findall(text)))
    names = words[-1:]
    if not question.one_name:
        names = [word for word in words if word in written_as_code or looks_like_code(word)]
        names = [name for name in names if len(name) >= MIN_NAME_CHARS and not name.startswith("__")]
    dotted = tuple(dict.fromkeys(_DOTTED.findall(f"{parts.title}\n{parts.prose}")))
    dotted = tuple(name for name in dotted if name.count(".") < MAX_DOTTED_PARTS)
    return AskedNames(tuple(names[:MAX_NAMES]), frozenset(words), dotted[:MAX_NAMES])


def looks_like_code(word: str) -> bool:
    """`snake_case`, `camelCase`, or a capitalised word: none of them is common in prose as a name."""
    has_snake = "_" in word.strip("_") and len(word) >= MIN_NAME_CHARS + 2
    is_capitalised = word[0].isupper() and len(word) > MIN_NAME_CHARS
    return has_snake or is_capitalised or _CAMEL.search(word) is not None


def name_evidence(question: Question, asked: AskedNames, named: Named) -> NameEvidence:
    """What the names in the question say for files and nodes."""
    evidence = NameEvidence()
    files = [(found, path) for found, _, path, is_test in named.files if question.wants_tests or not is_test]
    _paths(question, files, evidence)
    _dotted(asked, files, named.definitions, evidence)
    _identifiers(asked, named.definitions, evidence)
    # Whoever asks for nothing but a name wants its definitions, however many there are.
    asked_for = named.definitions.get(question.one_name.rpartition(".")[2], ())
    evidence.exact.update((node.id, 1.0) for node in asked_for if is_asked_for(question, node))
    # The node of a file has the file's id.
    evidence.exact.update((found, 1.0) for found, path in files if _is_path(question.one_path, path))
    return evidence


def is_asked_for(question: Question, node: NodePlace) -> bool:
    """Whether the question is nothing but the name of the definition, or nothing but the path of the file or its end."""
    if node.type is NodeType.FILE:
        return _is_path(question.one_path, node.path or "")
    is_definition = node.type in {NodeType.CLASS, NodeType.FUNCTION}
    return is_definition and bool(question.one_name) and _is_named_by(question.one_name, node)


def _is_path(asked: str, path: str) -> bool:
    return bool(asked) and f"/{path}".endswith(f"/{asked}")


def _is_named_by(name: str, node: NodePlace) -> bool:
    """Whether a name means the definition: it ends as the definition's does, and what stands before that are modules or packages
    above it, not necessarily the nearest (`package.Name` for one that `package/module.py` defines).
    """
    asked, own = name.split("."), (node.qualified_name or "").split(".")
    shared = min(len(asked), len(own))
    if asked[-shared:] != own[-shared:]:
        return False
    modules = "/".join(asked[:-shared])
    folders = f"/{PurePosixPath(node.path or '').with_suffix('')}/"
    return not modules or f"/{modules}/" in folders


def wants_tests(question: Question, asked: AskedNames, named: Named, options: RetrieveOptions) -> bool:
    """Whether tests are searched: because the options or the question say so, or because it names one."""
    is_open = options.include_tests is IncludeTests.AUTO
    return question.wants_tests or (is_open and names_a_test(question, asked, named))


def names_a_test(question: Question, asked: AskedNames, named: Named) -> bool:
    """Whether the first line names a file or module of the tests, or what only tests define in a way that is no common word."""
    title = question.title
    tests = {found for found, _, _, is_test in named.files if is_test}
    files = [(found, path) for found, _, path, _ in named.files]
    meant = [matching_files(mention.path, files) for mention in question.mentions.paths if mention.path in title]
    meant += [module_files(dotted.split("."), files) for dotted in asked.dotted if dotted in title]
    if any(found and tests.issuperset(found) for found in meant):
        return True
    words = set(_IDENTIFIER.findall(title))
    return any(
        _are_tests(named.definitions.get(name, ()))
        for name in asked.code_like
        if name in words and (question.one_name or _is_unmistakable(name, title))
    )


def _are_tests(nodes: Sequence[NodePlace]) -> bool:
    """Whether all definitions of a name are known, and stand in tests."""
    return 0 < len(nodes) < DEFINITIONS_READ and all(is_test_path(node.path or "") for node in nodes)


def _is_unmistakable(name: str, text: str) -> bool:
    is_marked = f"`{name}`" in text or f"{name}(" in text
    return is_marked or "_" in name.strip("_") or _CAMEL.search(name) is not None


def _paths(question: Question, files: Sequence[tuple[str, str]], evidence: NameEvidence) -> None:
    framed = {frame.path for frame in question.mentions.frames}
    for distance, frame in enumerate(reversed(question.mentions.frames)):
        matches = matching_files(frame.path, files)
        for found in matches:
            evidence.frames[found] = max(evidence.frames[found], FRAME_DECAY**distance / len(matches))
        if frame.function:
            name = frame.function.rsplit(".", 1)[-1]
            evidence.framed_functions.setdefault(name, FRAME_DECAY**distance)
    for mention in question.mentions.paths:
        matches = [] if mention.path in framed else matching_files(mention.path, files)
        for found in matches:
            evidence.paths[found] += 1 / len(matches)


def _dotted(
    asked: AskedNames,
    files: Sequence[tuple[str, str]],
    definitions: Mapping[str, Sequence[NodePlace]],
    evidence: NameEvidence,
) -> None:
    """`package.module.name`: the longest beginning that is a module, and what follows defined in it."""
    for dotted in asked.dotted:
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            modules = module_files(parts[:count], files)
            if not modules or len(modules) > MAX_MODULE_FILES:
                continue
            owners = {node.owner_id for node in definitions.get(parts[count], ())} if count < len(parts) else set()
            targets = [found for found in modules if found in owners]
            if targets:
                share = 1 / len(targets)
            else:
                targets, share = (modules, MODULE_SHARE / len(modules)) if count > 1 else ([], 0.0)
            for found in targets:
                evidence.dotted[found] += share
            break


def _identifiers(asked: AskedNames, definitions: Mapping[str, Sequence[NodePlace]], evidence: NameEvidence) -> None:
    whole_names = set(asked.dotted)
    for name in asked.code_like:
        nodes = definitions.get(name, ())
        owners = {node.owner_id for node in nodes if node.owner_id is not None}
        if not owners or len(owners) > MAX_DEFINING_FILES:
            continue
        inside = set()
        for node in nodes:
            whole = node.qualified_name or name
            outer = whole.rpartition(".")[0].rpartition(".")[2]
            is_whole = whole in whole_names or any(dotted.endswith(f".{whole}") for dotted in whole_names)
            if outer and outer in asked.words:
                inside.add(node.owner_id)
                is_whole = True
            evidence.exact[node.id] = 1.0 if is_whole else max(evidence.exact.get(node.id, 0.0), len(owners) ** -0.5)
        for owner in owners:
            evidence.identifiers[owner] += 1 / len(owners)
        for owner in owners & inside:
            evidence.qualified[owner] += 1 / len(owners)


def matching_files(path: str, files: Iterable[tuple[str, str]]) -> list[str]:
    """Files that share the longest tail of path parts with `path`."""
    parts = PurePosixPath(path).parts
    best, matches = 0, list[str]()
    for found, candidate in files:
        shared = _shared_tail(parts, PurePosixPath(candidate).parts)
        if shared > best:
            best, matches = shared, [found]
        elif shared == best and best:
            matches.append(found)
    return matches


def module_files(parts: Sequence[str], files: Iterable[tuple[str, str]]) -> list[str]:
    """Files that these dotted parts can mean, as module or package, below any source root."""
    whole = "/".join(parts)
    tails = (f"/{whole}.py", f"/{whole}/__init__.py")
    return [found for found, path in files if f"/{path}".endswith(tails)]


def _shared_tail(one: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        shared += 1
    return shared
