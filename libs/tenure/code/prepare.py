"""One file from bytes to rows: decode, mask, parse, cut into chunks, weigh. Runs in worker processes."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import zstandard

from tenure.code import documents, generated, notebook
from tenure.code.admission import MAX_SOURCE_BYTES, reason_to_leave_out
from tenure.code.chunk import Header, Lines, Ranks, line_count
from tenure.code.decode import decode
from tenure.code.identifiers import term_counts
from tenure.code.languages.python_references import extract
from tenure.code.languages.registry import NOTEBOOK, PYTHON, language_of
from tenure.code.masking import mask_text
from tenure.code.model import PreparedFile, PrepareRequest, Symbol
from tenure.code.parse import Owner, Parsed, SymbolNames, parse_python
from tenure.code.roles import role_of
from tenure.code.rows import Part, rows_of
from tenure.core.ids import content_hash, file_id
from tenure.core.memory import FileRecord, NodeType, ParseStatus
from tenure.core.sparse import FILE_AVERAGE_LENGTH, FILE_K1, bm25_weights, pack
from tenure.ports.records import LeftOut

PARSER_VERSION = "7"
"""Grows with every change that makes a file's rows differ: files of another version are prepared again."""

COMPRESSION_LEVEL = 3

TRANSLATIONS, TRANSLATION_ROWS = "po", 30
"""The language of translation catalogues, and how many of their first lines are nodes and chunks."""
_MAX_EXPORTED_NAMES = 50
_SUMMARY_CHARS = 300
_TRANSLATION_COST_FACTOR = 1.25
"""Translations cost more embedding tokens than the estimate says, for the model's words are English."""


@dataclass(frozen=True, slots=True)
class _Contents:
    """What parsing made of a text; `factor` and `ranks` are for cutting it."""

    text: str
    status: ParseStatus
    reason: str
    parts: list[Part]
    ranks: Ranks
    exports: bytes = b""
    references: bytes = b""


def prepare_many(requests: Sequence[PrepareRequest]) -> list[PreparedFile]:
    """`prepare_file` for each, in order: the task of a spawned worker."""
    return [prepare_file(request) for request in requests]


def prepare_file(request: PrepareRequest) -> PreparedFile:
    """The rows of one file, or why it is left out; whatever is in the file, this does not raise.

    Pure but for reading the file when the request does not bring its bytes.
    """
    candidate = request.candidate
    reason = reason_to_leave_out(candidate.path, candidate.size) or generated.reason_by_name(candidate.path)
    if reason:
        return _left_out(request, reason)
    try:
        raw = _read(candidate.real_path) if request.raw is None else request.raw
    except OSError as error:
        return _left_out(request, f"unreadable: {error.strerror or error}")
    language = language_of(candidate.path, raw)
    decoded = decode(raw, honours_cookie=language == PYTHON)
    reason = (
        reason_to_leave_out(candidate.path, len(raw))
        or decoded.refusal
        or generated.reason_by_text(language, decoded.text)
    )
    if reason:
        return _left_out(request, reason)
    return _prepared(request, raw, decoded.text, decoded.reason, language)


def _left_out(request: PrepareRequest, reason: str) -> PreparedFile:
    path = request.candidate.path
    return PreparedFile(path=path, file=None, left_out=LeftOut(path, reason))


def _read(real_path: str) -> bytes:
    """At most one byte more than is ever admitted; no link is followed and nothing but a regular file is read."""
    descriptor = os.open(real_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(MAX_SOURCE_BYTES + 1)


def _prepared(request: PrepareRequest, raw: bytes, text: str, decoding: str, language: str) -> PreparedFile:
    path = request.candidate.path
    role = role_of(path, language)
    contents = _contents(request, mask_text(text, path, role) if language != NOTEBOOK else text, language)
    lines = Lines.of(_shown(contents.text, language))
    digest = content_hash(raw)
    factor = _TRANSLATION_COST_FACTOR if language == TRANSLATIONS else 1.0
    rows = rows_of(request, lines, contents.parts, digest, factor, contents.ranks)
    status = ParseStatus.PARTIAL if decoding and contents.status is ParseStatus.OK else contents.status
    file = FileRecord(
        id=rows.nodes[0].id,
        repository_id=request.repository_id,
        path=path,
        language=language,
        role=role,
        content_hash=digest,
        signature=request.candidate.signature,
        parser_version=PARSER_VERSION,
        size=len(raw),
        lines=line_count(contents.text),
        status=status,
        reason="; ".join(part for part in (decoding, contents.reason) if part),
        text=zstandard.ZstdCompressor(level=COMPRESSION_LEVEL).compress(contents.text.encode()),
        sparse=pack(bm25_weights(term_counts(contents.text, term_counts(path)), FILE_AVERAGE_LENGTH, FILE_K1)),
        exports=contents.exports,
        references=contents.references,
        revision=request.revision,
    )
    return PreparedFile(path=path, file=file, nodes=rows.nodes, chunks=rows.chunks, contains=rows.contains)


def _contents(request: PrepareRequest, text: str, language: str) -> _Contents:
    if language == PYTHON:
        return _python(request, text, language)
    if language == NOTEBOOK:
        return _notebook(request, text)
    return _document(request, text, language)


def _notebook(request: PrepareRequest, text: str) -> _Contents:
    path = request.candidate.path
    found = notebook.read(text)
    if found is None:
        masked = mask_text(text, path, role_of(path, NOTEBOOK))
        return _document(request, masked, NOTEBOOK, ParseStatus.FAILED, "not a notebook: its JSON has no cells")
    masked = mask_text(found.text, path, role_of(path, NOTEBOOK))
    if found.is_python:
        return _python(request, masked, NOTEBOOK)
    return _document(request, masked, NOTEBOOK)


def _python(request: PrepareRequest, text: str, language: str) -> _Contents:
    owner = Owner(request.workspace_id, request.repository_id, request.candidate.path)
    source = text.encode()
    parsed = parse_python(source, owner)
    if parsed.tree is None:
        return _document(request, text, language, parsed.status, parsed.reason)
    file = _file_part(request, text, language, parsed.doc, _public_names(parsed.symbols))
    exports, references = b"", b""
    if not parsed.is_wrecked:
        root = parsed.tree.root_node
        exports, references = extract(root, source, owner.path, parsed.symbols, file.id, parsed.pieces)
    return _Contents(
        text=text,
        status=parsed.status,
        reason=parsed.reason,
        parts=[file, *_symbol_parts(parsed, language)],
        ranks=_ranks(parsed, text, language),
        exports=exports,
        references=references,
    )


def _ranks(parsed: Parsed, text: str, language: str) -> Ranks:
    """Notebooks are best cut at cells, else code at statements, where none is known at blank lines."""
    if language == NOTEBOOK:
        cells = notebook.cell_rows(text.split("\n"))
        return {**parsed.statements, **dict.fromkeys(cells, -1)}
    return parsed.statements or documents.block_rows(text.split("\n"))


def _symbol_parts(parsed: Parsed, language: str) -> list[Part]:
    return [
        Part(
            id=symbol.node_id,
            type=symbol.type,
            title=symbol.qualified_name,
            qualified_name=symbol.qualified_name,
            first_row=symbol.start_line - 1,
            last_row=symbol.end_line - 1,
            header=Header(symbol.qualified_name, symbol.signature, symbol.doc),
            parent=symbol.parent + 1,
            metadata={
                "form": symbol.form,
                "signature": symbol.signature,
                "doc": symbol.doc,
                "language": language,
                "line": name_row + 1,
            },
        )
        for symbol, name_row in zip(parsed.symbols, parsed.name_rows, strict=True)
    ]


def _public_names(symbols: Sequence[Symbol]) -> list[str]:
    names = (symbol.name for symbol in symbols if symbol.parent < 0 and not symbol.name.startswith("_"))
    return list(dict.fromkeys(names))[:_MAX_EXPORTED_NAMES]


def _file_part(request: PrepareRequest, text: str, language: str, doc: str, exported: Sequence[str]) -> Part:
    path = request.candidate.path
    metadata: dict[str, Any] = {"form": "file", "language": language, "doc": doc, "exports": list(exported)}
    metadata["summary"] = " ".join(part for part in (doc, _defines(exported)) if part) or _beginning(text)
    return Part(
        id=file_id(request.workspace_id, request.repository_id, path),
        type=NodeType.FILE,
        title=path,
        qualified_name=path,
        first_row=0,
        last_row=max(0, line_count(text) - 1),
        header=Header(doc=doc),
        metadata=metadata,
    )


def _defines(exported: Sequence[str]) -> str:
    return f"Defines {', '.join(exported)}."[:_SUMMARY_CHARS] if exported else ""


def _beginning(text: str) -> str:
    """The first paragraph of a text, on one line."""
    paragraph = text[: 4 * _SUMMARY_CHARS].strip().split("\n\n", 1)[0]
    return " ".join(paragraph.split())[:_SUMMARY_CHARS]


def _document(
    request: PrepareRequest,
    text: str,
    language: str,
    status: ParseStatus = ParseStatus.OK,
    reason: str = "",
) -> _Contents:
    path = request.candidate.path
    shown = _shown(text, language)
    rows = shown.split("\n")
    names = SymbolNames(Owner(request.workspace_id, request.repository_id, path))
    parts = [_file_part(request, shown, language, "", ())]
    parts += [_section_part(section, names, language) for section in documents.sections(language, rows)]
    ranks = documents.block_rows(rows)
    return _Contents(text=text, status=status, reason=reason, parts=parts, ranks=ranks)


def _shown(text: str, language: str) -> str:
    """The text that becomes nodes and chunks. A catalogue of translations says the product's strings again in another
    language: its beginning tells which one, and the rest is found by the terms of the whole file.
    """
    return "\n".join(text.split("\n", TRANSLATION_ROWS)[:TRANSLATION_ROWS]) if language == TRANSLATIONS else text


def _section_part(section: documents.Section, names: SymbolNames, language: str) -> Part:
    return Part(
        id=names.next(NodeType.DOCUMENT, section.qualified_name)[0],
        type=NodeType.DOCUMENT,
        title=section.title,
        qualified_name=section.qualified_name,
        first_row=section.first_line - 1,
        last_row=section.last_line - 1,
        header=Header(section.qualified_name),
        metadata={"form": "section", "language": language},
    )
