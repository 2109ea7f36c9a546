"""A tree of any size that reads like a real one: made by a seeded generator from the words of real sources.

Each made file is about one real file, its topic: names, sentences and the order of neighbouring words come from there.
So terms are as rare, and stand together as often, as in code that people wrote.
"""

import keyword
import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tenure.core.errors import InvalidInput

MAX_TOPICS = 2_000
"""Real files that are read: enough for 100,000 definitions, read in a few seconds."""
HELD_OUT = 10
"""Every so manyth sentence is kept for questions and never written into the tree."""
MIN_WORDS, MIN_SENTENCES = 80, 3
"""Of a real file, to be a topic: fewer say the same thing over and over."""
FOREIGN_SHARE = 0.1
"""Names of a made file that come from any topic instead of its own."""
PYTHON_SHARE, DOCUMENT_SHARE, DATA_SHARE = 2753 / 49473, 984 / 49473, 1606 / 49473
"""Files of each sort for one node without commits, as in Django's index: 5,343 files, 10,058 classes, 28,254 functions,
5,818 sections of documents.
"""
TEST_SHARE = 1884 / 2753
CLASSES, METHODS, FUNCTIONS = 3.65, 2.3, 1.86
"""Means of one Python file: classes, methods of one class, functions beside them."""
SECTIONS, ENTRIES = 5.9, 70
"""Means of one document and of one catalogue of translations."""
IMPORTED = 4
"""Names that one file imports from others."""
FILES_PER_FOLDER = 12
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,40}")
_DOCSTRING = re.compile(r'"""\s*([A-Z][^"\\]{20,400}?[.])\s', re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][^.\n]{20,140}[.]")
_NOT_NAMES = frozenset(keyword.kwlist) | {"self", "cls", "None", "True", "False"}


@dataclass(frozen=True, slots=True)
class Topic:
    """What one real file talks about: its names in their order, and sentences of its docstrings."""

    words: Sequence[str]
    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class Words:
    """The topics, and the sentences that no tree holds."""

    topics: Sequence[Topic]
    held_out: Sequence[str]


@dataclass(slots=True)
class MadeTree:
    """Files by path, and the definitions (module, name) that stand in them."""

    files: dict[str, str] = field(default_factory=dict)
    definitions: list[tuple[str, str]] = field(default_factory=list)


def harvest(seed: int, folders: Sequence[Path] | None = None, limit: int = MAX_TOPICS) -> Words:
    """The topics of the Python sources in these folders, of the standard library and what is installed by default.

    `InvalidInput` if they hold none.
    """
    where = folders or [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = sorted({file for folder in where for file in folder.rglob("*.py")})
    random.Random(seed).shuffle(files)  # noqa: S311  a repeatable draw is wanted, not a secret one
    topics, held_out = list[Topic](), dict[str, None]()
    for file in files:
        words, sentences = _read(file)
        if len(words) < MIN_WORDS or len(sentences) < MIN_SENTENCES:
            continue
        held_out.update(dict.fromkeys(sentences[::HELD_OUT]))
        topics.append(Topic(words, sentences))
        if len(topics) == limit:
            break
    known_sentences = [[one for one in topic.sentences if one not in held_out] for topic in topics]
    kept = [Topic(topic.words, known) for topic, known in zip(topics, known_sentences, strict=True) if known]
    if not kept:
        raise InvalidInput(f"no Python source with enough words in {', '.join(map(str, where))}; name other folders")
    return Words(kept, list(held_out))


def make_tree(words: Words, nodes: int, seed: int) -> MadeTree:
    """A tree whose index has about `nodes` nodes beside its commits. Equal arguments make equal trees."""
    tree = MadeTree()
    writer = _Writer(words, random.Random(seed), tree)  # noqa: S311  a repeatable draw is wanted, not a secret one
    for number in range(round(nodes * PYTHON_SHARE)):
        writer.python_file(number)
    for number in range(round(nodes * DOCUMENT_SHARE)):
        writer.document(number)
    for number in range(round(nodes * DATA_SHARE)):
        writer.catalogue(number)
    return tree


def questions(words: Words, tree: MadeTree, number: int, seed: int) -> list[str]:
    """Questions of three sorts in turn: a sentence that the tree does not hold, an issue, a name that it defines."""
    chance = random.Random(seed)  # noqa: S311  a repeatable draw is wanted, not a secret one
    return [_question(place, words, tree, chance) for place in range(number)]


def _question(place: int, words: Words, tree: MadeTree, chance: random.Random) -> str:
    sentences = chance.sample(words.held_out, 4)
    module, name = chance.choice(tree.definitions)
    match place % 3:
        case 0:
            return sentences[0]
        case 1:
            call = f">>> from {module} import {name}\n>>> {name}()\nTypeError: {sentences[3]}"
            return f"{sentences[0][:-1]} in {name}\n\n{sentences[1]} {sentences[2]}\n\n```\n{call}\n```\n"
        case _:
            return name


def _read(file: Path) -> tuple[list[str], list[str]]:
    """(names and words in their order, sentences) of a source; nothing of one that can't be read."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return [], []
    docs = [" ".join(found.split()) for found in _DOCSTRING.findall(text)]
    sentences = [one for doc in docs for one in _SENTENCE.findall(doc) if "\\" not in one]
    names = [name for name in _WORD.findall(text) if name not in _NOT_NAMES and name.lower() not in _NOT_NAMES]
    return names, list(dict.fromkeys(sentences))


class _Writer:
    """Writes files into a tree, one after the other."""

    def __init__(self, words: Words, chance: random.Random, tree: MadeTree) -> None:
        self._words = words
        self._chance = chance
        self._tree = tree
        self._folder = ""
        self._topic = words.topics[0]

    def python_file(self, number: int) -> None:
        """A module or a test module, with imports of names that earlier ones define."""
        self._turn(number)
        path = self._place(number, is_test=self._chance.random() < TEST_SHARE)
        module = path.removesuffix(".py").replace("/", ".")
        known = self._tree.definitions
        imported = self._chance.sample(known, min(IMPORTED, len(known)))
        lines = [f'"""{self._sentence()}"""', "", *(f"from {where} import {name}" for where, name in imported)]
        classes = [name for _, name in imported if name[0].isupper()]
        calls = [name for _, name in imported if not name[0].isupper()]
        own = list[str]()
        for _ in range(self._about(FUNCTIONS)):
            name = self._name().lower()
            lines += ["", "", *self._function(name, "", calls)]
            calls.append(name)
            own.append(name)
        for _ in range(self._about(CLASSES)):
            name = self._class_name()
            lines += ["", "", f"class {name}({', '.join(classes[-1:])}):", f'    """{self._sentence()}"""']
            for _ in range(max(1, self._about(METHODS))):
                lines += ["", *self._function(self._name().lower(), "    ", calls)]
            classes.append(name)
            own.append(name)
        self._tree.files[path] = "\n".join(lines) + "\n"
        known.extend((module, name) for name in own)

    def document(self, number: int) -> None:
        """A text in reStructuredText, with headings."""
        self._turn(number)
        lines = list[str]()
        for _ in range(max(1, self._about(SECTIONS))):
            title = f"{self._name()} {self._name()}".replace("_", " ")
            lines += [title, "=" * len(title), ""]
            for _ in range(self._about(6)):
                lines += [self._sentence(), f"``{self._name()}.{self._name()}`` {self._sentence()}", ""]
        self._tree.files[f"docs/{self._folder}/{self._name().lower()}_{number}.rst"] = "\n".join(lines) + "\n"

    def catalogue(self, number: int) -> None:
        """Translations, as many files of a real tree are."""
        self._turn(number)
        lines = list[str]()
        for _ in range(self._about(ENTRIES)):
            text = self._sentence().replace('"', "'")
            lines += [f"#: {self._name().lower()}.py", f'msgid "{text}"', f'msgstr "{self._name()} {text}"', ""]
        self._tree.files[f"{self._folder}/locale/{number:05}/LC_MESSAGES/messages.po"] = "\n".join(lines) + "\n"

    def _turn(self, number: int) -> None:
        self._topic = self._chance.choice(self._words.topics)
        if number % FILES_PER_FOLDER == 0 or not self._folder:
            self._folder = f"{self._name().lower()}/{self._name().lower()}"

    def _place(self, number: int, *, is_test: bool) -> str:
        name = f"{self._name().lower()}_{number}.py"
        return f"tests/{self._folder}/test_{name}" if is_test else f"{self._folder}/{name}"

    def _function(self, name: str, indent: str, calls: Sequence[str]) -> Iterator[str]:
        arguments = list(dict.fromkeys(self._name().lower() for _ in range(self._about(2))))
        yield f"{indent}def {name}({', '.join(['self', *arguments] if indent else arguments)}):"
        inside = indent + "    "
        yield f'{inside}"""{self._sentence()}"""'
        for _ in range(2 + self._about(2)):
            for line in self._statement(calls):
                yield inside + line
        yield f"{inside}return {self._name()}"

    def _statement(self, calls: Sequence[str]) -> list[str]:
        one, two, three, four = (self._name() for _ in range(4))
        called = self._chance.choice(calls) if calls else three
        match self._chance.randrange(5):
            case 0:
                return [f"{one} = {two}.{three}({four})"]
            case 1:
                return [f"if {one}.{two} is None:", f"    return {called}({three}, {four})"]
            case 2:
                return [f"for {one} in {two}.{three}({four}):", f"    {called}({one})"]
            case 3:
                return [f"if not {one}:", f"    raise {self._class_name()}({self._sentence()!r})"]
            case _:
                return [f"{one} = {called}({two})", f"{three}.{four} = {one}"]

    def _name(self) -> str:
        is_foreign = self._chance.random() < FOREIGN_SHARE
        topic = self._chance.choice(self._words.topics) if is_foreign else self._topic
        return self._chance.choice(topic.words)

    def _class_name(self) -> str:
        return "".join(part[:1].upper() + part[1:] for part in f"{self._name()}_{self._name()}".split("_"))

    def _sentence(self) -> str:
        return self._chance.choice(self._topic.sentences)

    def _about(self, mean: float) -> int:
        """A number of things with this mean, unequally spread as in real files."""
        return round(self._chance.expovariate(1 / mean))
