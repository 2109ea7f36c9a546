"""Which language a file is in, by its name, its suffix or its first line, and what kind of text that is."""

import re
from enum import StrEnum
from pathlib import PurePosixPath


class TextKind(StrEnum):
    """What a language is for: `source` is written by hand to run, `data` may be generated, `prose` is read by people."""

    SOURCE = "source"
    CONFIG = "config"
    DATA = "data"
    PROSE = "prose"


PYTHON = "python"
NOTEBOOK = "notebook"
OTHER = "other"
"""A text whose name says nothing."""

PARSED_LANGUAGES = frozenset({PYTHON, NOTEBOOK})
"""Languages whose symbols are read; every other text is a document."""

_KINDS: dict[TextKind, str] = {
    TextKind.SOURCE: """
        python=.py .pyi .pyw .wsgi  notebook=.ipynb  cython=.pyx .pxd .pxi  javascript=.js .mjs .cjs .jsx
        typescript=.ts .mts .cts .tsx  go=.go  java=.java  rust=.rs  c=.c .h  cpp=.cc .cpp .cxx .hh .hpp .hxx .inl
        csharp=.cs  ruby=.rb .rake .gemspec  php=.php  kotlin=.kt .kts  scala=.scala  swift=.swift  dart=.dart
        shell=.sh .bash .zsh .ksh .fish  powershell=.ps1 .psm1  batch=.bat .cmd  perl=.pl .pm  lua=.lua  r=.r
        julia=.jl  haskell=.hs  elixir=.ex .exs  erlang=.erl  clojure=.clj .cljs  fortran=.f .f90 .f95  objc=.m .mm
        css=.css .scss .sass .less  vue=.vue  svelte=.svelte  graphql=.graphql .gql  protobuf=.proto
        starlark=.bzl .bazel  terraform=.tf  cmake=.cmake  make=.mk  assembly=.s .asm  template=.j2 .jinja .jinja2
        zig=.zig  nim=.nim  ocaml=.ml .mli  fsharp=.fs  groovy=.groovy .gradle  sql=.sql
    """,
    TextKind.CONFIG: """
        toml=.toml  ini=.ini .cfg .conf .properties .editorconfig  yaml=.yaml .yml  env=.env
    """,
    TextKind.DATA: """
        json=.json .jsonl .ndjson .geojson .json5 .jsonc .webmanifest  csv=.csv .tsv  xml=.xml .xsd .xsl .xslt .plist
        svg=.svg  po=.po .pot  log=.log  diff=.diff .patch  sourcemap=.map
    """,
    TextKind.PROSE: """
        markdown=.md .markdown .mdx .mkd  rst=.rst .rest  text=.txt .text  asciidoc=.adoc .asciidoc  org=.org
        tex=.tex .bib  html=.html .htm .xhtml
    """,
}

_BY_NAME = {
    "sconstruct": PYTHON,
    "sconscript": PYTHON,
    "wscript": PYTHON,
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "jenkinsfile": "groovy",
    "build": "starlark",
    "workspace": "starlark",
    "readme": "text",
    "license": "text",
    "licence": "text",
    "copying": "text",
    "authors": "text",
    "changelog": "text",
    "changes": "text",
    "news": "text",
    "todo": "text",
    "notice": "text",
    "pipfile": "toml",
    ".gitignore": "ini",
    ".gitattributes": "ini",
    ".editorconfig": "ini",
    ".pylintrc": "ini",
    ".coveragerc": "ini",
}

_SHEBANG = re.compile(rb"#![^\n]*?(?:/|\s)(python|pypy|bash|zsh|ksh|sh|node|ruby|perl|php)[\d.]*(?:\s|$)")
_INTERPRETERS = {
    b"python": PYTHON,
    b"pypy": PYTHON,
    b"bash": "shell",
    b"zsh": "shell",
    b"ksh": "shell",
    b"sh": "shell",
    b"node": "javascript",
    b"ruby": "ruby",
    b"perl": "perl",
    b"php": "php",
}
_SHEBANG_BYTES = 256
"""A kernel reads no more of the first line."""


def _tables() -> tuple[dict[str, str], dict[str, TextKind]]:
    suffixes: dict[str, str] = {}
    kinds = {OTHER: TextKind.DATA, "dockerfile": TextKind.CONFIG}
    for kind, listing in _KINDS.items():
        language = ""
        for word in listing.split():
            name, _, suffix = word.rpartition("=")
            language = name or language
            suffixes[suffix] = language
            kinds[language] = kind
    return suffixes, kinds


_BY_SUFFIX, _KIND_OF = _tables()

SUFFIXES = frozenset(_BY_SUFFIX)
"""All suffixes that name a language, lower-case with the dot."""


def language_of(path: str, head: bytes = b"") -> str:
    """The language of a file, `other` if nothing tells; `head` is the beginning of its bytes, read for a shebang."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    found = _BY_NAME.get(name) or _BY_SUFFIX.get(PurePosixPath(name).suffix)
    if found is not None:
        return found
    start = head[:_SHEBANG_BYTES].removeprefix(b"\xef\xbb\xbf")
    if start.startswith(b"#!"):
        match = _SHEBANG.match(start)
        if match is not None:
            return _INTERPRETERS[match[1]]
    if name.startswith("dockerfile."):
        return "dockerfile"
    return OTHER


def kind_of(language: str) -> TextKind:
    """What texts of a language are for; `data` for an unknown one."""
    return _KIND_OF.get(language, TextKind.DATA)
