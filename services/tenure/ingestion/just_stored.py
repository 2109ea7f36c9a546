"""Files that this process stored a moment ago, so that projecting them need not read them back."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tenure.code.model import PreparedFile
from tenure.core.memory import Chunk, FileRecord
from tenure.ports.records import FileState

MOST_CHUNKS = 50_000
"""What is kept at most, some 30 MB; what was stored first goes first, and is then read from SQL as by any other process."""


class JustStored:
    """A cache of rows by file and revision. A revision belongs to one run of one job, so it tells one content of a file."""

    def __init__(self, most_chunks: int = MOST_CHUNKS) -> None:
        self._most = most_chunks
        self._files: dict[str, tuple[FileRecord, list[Chunk]]] = {}
        self._chunks = 0

    def add(self, written: Iterable[PreparedFile]) -> None:
        """Note what a transaction wrote, once it is committed."""
        for prepared in written:
            if prepared.file is not None:
                self._take(prepared.file.id)
                # Search needs neither text nor references, which are most of the memory.
                self._files[prepared.file.id] = (
                    replace(prepared.file, text=b"", exports=b"", references=b""),
                    prepared.chunks,
                )
                self._chunks += len(prepared.chunks)
        while self._chunks > self._most:
            self._take(next(iter(self._files)))

    def take(self, states: Mapping[str, FileState]) -> dict[str, tuple[FileRecord, list[Chunk]]]:
        """Those of these files that are here in the revision that SQL has, without text, exports and references; each is
        given once.
        """
        found = {file_id: self._take(file_id) for file_id in states}
        return {
            file_id: known
            for file_id, known in found.items()
            if known is not None and known[0].revision == states[file_id].revision
        }

    def _take(self, file_id: str) -> tuple[FileRecord, list[Chunk]] | None:
        known = self._files.pop(file_id, None)
        self._chunks -= len(known[1]) if known is not None else 0
        return known
