"""Trees and blobs as git's plumbing prints them."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace

from tenure.adapters.git.process import Invocation, refusal, start
from tenure.ports.source_tree import TreeEntry

ABSENT_SIZE = -1
"""Stands for the size of what is not a blob or is not there."""

_SUBMODULE_MODE = b"160000 "
_BATCH_FIELDS = 3  # object id, type and size; a missing object has two


def parse_tree(output: bytes, has_sizes: bool) -> list[TreeEntry]:
    """The entries that `git ls-tree -r -z` (with `-l` if `has_sizes`) printed, by path."""
    entries = (_entry(line, has_sizes) for line in output.split(b"\0") if line)
    return sorted(entries, key=lambda entry: entry.path)


def _entry(line: bytes, has_sizes: bool) -> TreeEntry:
    head, _, path = line.partition(b"\t")
    mode, _, object_id, *size = head.decode("ascii").split()
    is_known = has_sizes and size[0].isdigit()
    return TreeEntry(mode, object_id, os.fsdecode(path), int(size[0]) if is_known else ABSENT_SIZE)


def submodule_paths(output: bytes) -> list[bytes]:
    """The paths of the submodules among the entries that `git ls-files -s -z` printed."""
    return [line.partition(b"\t")[2] for line in output.split(b"\0") if line.startswith(_SUBMODULE_MODE)]


def present_in(output: bytes, object_ids: Sequence[str]) -> list[str]:
    """Those of `object_ids` that `git rev-list --objects` printed, in their order."""
    present = {line.partition(b" ")[0].decode("ascii", "replace") for line in output.splitlines()}
    return [name for name in object_ids if name in present]


async def read_batch(invocation: Invocation, object_ids: Sequence[str]) -> dict[str, bytes]:
    """The blobs among the objects, by `git cat-file --batch`; what is missing or no blob is left out."""
    blobs: dict[str, bytes] = {}
    async with start(invocation, id_lines(object_ids)) as git:
        try:
            for name in object_ids:
                fields = (await git.read_line()).split()
                if len(fields) == _BATCH_FIELDS:
                    content = await git.read_exactly(int(fields[2]))
                    await git.read_exactly(1)
                    if fields[1] == b"blob":
                        blobs[name] = content
        except asyncio.IncompleteReadError as error:
            raise refusal("read a blob", (await git.finish())[1]) from error
        code, complaint = await git.finish()
    if code != 0:
        raise refusal("read blobs", complaint)
    return blobs


def with_sizes(entries: Sequence[TreeEntry], output: bytes) -> list[TreeEntry]:
    """The entries with the sizes that `git cat-file --batch-check` printed."""
    lines = (line.split() for line in output.decode("ascii", "replace").splitlines())
    sizes = {fields[0]: int(fields[2]) for fields in lines if len(fields) == _BATCH_FIELDS}
    return [replace(entry, size=sizes.get(entry.object_id, ABSENT_SIZE)) for entry in entries]


def id_lines(object_ids: Sequence[str]) -> bytes:
    """Ids as git's commands take them from stdin."""
    return "".join(f"{name}\n" for name in object_ids).encode("ascii")
