"""The order in which a class and its bases are asked for a member."""

from collections.abc import Sequence

from tenure.code.resolution.entities import BUILTIN, EXTERNAL, Entity, Lineage
from tenure.code.resolution.views import FileView

PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})
"""A class that names one of these as a base describes an interface."""

Member = tuple[FileView, int]


def linearise(own: Member, bases: Sequence[Entity], lines: Sequence[Lineage]) -> Lineage:
    """Python's order (C3) over the bases that the repository holds; depth first where C3 has no answer.

    `lines` are the lineages of those of `bases` that are classes of the repository.
    """
    merged = _order(lines)
    others = [base for base in bases if not base.is_class]
    return Lineage(
        classes=(own, *(member for member in merged if _identity(member) != _identity(own))),
        has_external=any(base.tag == EXTERNAL for base in others) or any(line.has_external for line in lines),
        has_builtin=any(_is_builtin(base) for base in others) or any(line.has_builtin for line in lines),
        has_unknown=any(base.tag not in {EXTERNAL, BUILTIN.tag} for base in others)
        or any(line.has_unknown for line in lines),
        is_protocol=any(base.tag == EXTERNAL and base.name in PROTOCOLS for base in others),
    )


def _order(lines: Sequence[Lineage]) -> Sequence[Member]:
    if len(lines) < 2:
        return [member for line in lines for member in line.classes]
    direct = [line.classes[0] for line in lines]
    return _merge([list(line.classes) for line in lines] + [direct]) or _depth_first(lines)


def _is_builtin(base: Entity) -> bool:
    return base.tag == BUILTIN.tag and base.name != "object"


def _identity(member: Member) -> tuple[str, int]:
    return member[0].path, member[1]


def _merge(lines: list[list[Member]]) -> list[Member]:
    """C3; empty if the orders contradict each other."""
    merged: list[Member] = []
    waiting = [line for line in lines if line]
    while waiting:
        tails = {_identity(member) for line in waiting for member in line[1:]}
        head = next((line[0] for line in waiting if _identity(line[0]) not in tails), None)
        if head is None:
            return []
        merged.append(head)
        taken = _identity(head)
        waiting = [rest for line in waiting if (rest := line[1:] if _identity(line[0]) == taken else line)]
    return merged


def _depth_first(lines: Sequence[Lineage]) -> list[Member]:
    found: dict[tuple[str, int], Member] = {}
    for line in lines:
        for member in line.classes:
            found.setdefault(_identity(member), member)
    return list(found.values())
