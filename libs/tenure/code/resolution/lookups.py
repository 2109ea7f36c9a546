"""What names and expressions mean across the files of a repository, by Python's rules and never by name alone."""

from collections.abc import Sequence

from tenure.code.languages.python_expressions import CALL, ITEM
from tenure.code.languages.python_references import Kind
from tenure.code.languages.python_scopes import ALL_BINDINGS, MODULE_SCOPE, Tag
from tenure.code.resolution.entities import (
    BUILTIN,
    DEFINITION,
    EXTERNAL,
    INSTANCE,
    MISSING,
    MODULE,
    RECEIVER,
    SUPER,
    SURE,
    UNKNOWN,
    Entity,
    Lineage,
)
from tenure.code.resolution.lineage import linearise
from tenure.code.resolution.modules import Found
from tenure.code.resolution.python_names import BUILTIN_NAMES, OBJECT_MEMBERS, PASS_THROUGH, SELF_TYPES, STDLIB_MODULES
from tenure.code.resolution.questions import Questions
from tenure.code.resolution.table import ModuleTable
from tenure.code.resolution.views import Bound, FileView, Stored

_HEADS = {
    Tag.NAME: 4,
    Tag.DEFINITION: 2,
    Tag.INSTANCE: 2,
    Tag.CLASS: 2,
    Tag.SUPER: 2,
    Tag.MODULE: 2,
    Tag.MEMBER: 4,
    Tag.LITERAL: 1,
    Tag.RECEIVER: 1,
    Tag.UNKNOWN: 1,
}
"""Length of an expression's tag with its arguments."""

_DEFINED = Tag.DEFINITION + "\t"
_TYPE_VARIABLES = ("typing.TypeVar(", "typing_extensions.TypeVar(")
"""What the annotation of such a name says depends on the call."""
_PROPERTY_PARTS = frozenset({"setter", "getter", "deleter"})


class Lookups:
    """Answers for one table. The keys of everything that was looked at gather in `questions.keys`."""

    def __init__(self, table: ModuleTable, questions: Questions) -> None:
        self._table = table
        self._index = table.index
        self.questions = questions

    # -- expressions ---------------------------------------------------------------------------------------------------

    def evaluate(self, view: FileView, expression: Stored) -> Entity:
        """What the expression means in the file."""
        if isinstance(expression, str):
            parts = expression.split("\t")
            entity = self._head(view, parts)
            steps = parts[_HEADS[parts[0]] :]
        else:
            entity = self._best(view, expression[0])
            steps = expression[1:]
        owner = UNKNOWN
        for step in steps:
            told = self._step(entity, step)
            owner, entity = entity, (_instance_of(owner) if told is RECEIVER else told)
        return entity

    def _head(self, view: FileView, parts: list[str]) -> Entity:
        tag = parts[0]
        if tag == Tag.NAME:
            return self._scoped(view, int(parts[1]), int(parts[2]), parts[3])
        if tag in (Tag.DEFINITION, Tag.CLASS):
            return Entity(DEFINITION, view, int(parts[1]))
        if tag in (Tag.INSTANCE, Tag.SUPER):
            return Entity(INSTANCE if tag == Tag.INSTANCE else SUPER, view, int(parts[1]))
        if tag == Tag.MODULE:
            return self._module(self.absolute(view, parts[1]), parts[1])
        if tag == Tag.MEMBER:
            return self.member_of_module(view, int(parts[1]), parts[2], parts[3])
        if tag == Tag.RECEIVER:
            return RECEIVER
        return BUILTIN if tag == Tag.LITERAL else UNKNOWN

    def _scoped(self, view: FileView, scope: int, count: int, name: str) -> Entity:
        entity = self.name(view, scope, count, name)
        if entity is MISSING and scope != MODULE_SCOPE:
            entity = self.name(view, MODULE_SCOPE, ALL_BINDINGS, name)
        if entity is MISSING and name in BUILTIN_NAMES:
            return Entity(BUILTIN.tag, name=name)
        if entity is MISSING and count != ALL_BINDINGS:
            return self.name(view, scope, ALL_BINDINGS, name)
        return entity

    def _best(self, view: FileView, expressions: Sequence[Stored]) -> Entity:
        """The first inside the repository; else the first outside; else unknown."""
        if len(expressions) == 1:
            entity = self.evaluate(view, expressions[0])
            return UNKNOWN if entity is MISSING else entity
        outside = UNKNOWN
        for expression in expressions:
            entity = self.evaluate(view, expression)
            if entity.tag in SURE:
                return entity
            if outside is UNKNOWN and entity.tag in {EXTERNAL, BUILTIN.tag}:
                outside = entity
        return outside

    def _step(self, entity: Entity, step: str) -> Entity:
        tag = entity.tag
        if tag == DEFINITION:
            return self._step_definition(entity, step)
        if tag == EXTERNAL:
            return _step_outside(entity, step)
        if tag == BUILTIN.tag:
            return UNKNOWN if step == ITEM or (step == CALL and entity.name in PASS_THROUGH) else BUILTIN
        if step in (CALL, ITEM) or tag not in SURE:
            return UNKNOWN
        if tag == MODULE:
            return self.attribute(entity.name, step)
        if tag == INSTANCE and step == "__class__":
            return entity._replace(tag=DEFINITION)
        return self.member(entity, step)

    def _step_definition(self, entity: Entity, step: str) -> Entity:
        if entity.is_class:
            if step == CALL:
                return entity._replace(tag=INSTANCE)
            return entity if step == ITEM else self.member(entity, step)
        if step in _PROPERTY_PARTS and entity.kind == Kind.PROPERTY:
            return BUILTIN
        return self._returned(entity) if step == CALL else UNKNOWN

    def _returned(self, function: Entity) -> Entity:
        """What calling the function gives, as far as its annotation says."""
        view = function.view
        returns = view.definitions[function.number][5] if view is not None else None
        if view is None or returns is None:
            return UNKNOWN
        question = ("returns", view.path, function.number)
        return self.questions.ask(question, lambda: self._find_returned(view, returns), UNKNOWN, is_own=view.is_whole)

    def _find_returned(self, view: FileView, returns: Stored) -> Entity:
        entity = self.evaluate(view, returns)
        if entity.tag != EXTERNAL:
            return entity
        if entity.name in SELF_TYPES:
            return RECEIVER
        return UNKNOWN if entity.name.startswith(_TYPE_VARIABLES) else entity

    # -- names ---------------------------------------------------------------------------------------------------------

    def name(self, view: FileView, scope: int, count: int, name: str) -> Entity:
        """What the name is bound to in the module or class, by its first `count` bindings; `MISSING` if it is not."""
        bound = view.scope(scope).get(name)
        if bound is None and (scope != MODULE_SCOPE or not view.stars):
            return MISSING
        if bound is not None and len(bound) == 1 and count != 0:
            simple = _simple(view, bound[0].expression)
            if simple is not None:
                return simple
        question = ("name", view.path, scope, count, name)
        return self.questions.ask(
            question, lambda: self._find_name(view, scope, count, name), MISSING, is_own=view.is_whole
        )

    def _find_name(self, view: FileView, scope: int, count: int, name: str) -> Entity:
        bound = view.scope(scope).get(name, ())
        visible = bound if count == ALL_BINDINGS else bound[:count]
        if visible:
            return self._best(view, [binding.expression for binding in _standing(visible)])
        if scope != MODULE_SCOPE:
            return MISSING
        for level, module in reversed(view.stars):
            found = self.module_named(view, level, module)
            entity = self._public(found.stem, name) if found.stem is not None else MISSING
            if entity is not MISSING:
                return entity
        return MISSING

    def _public(self, stem: str, name: str) -> Entity:
        """What `from module import *` binds the name to."""
        question = ("public", stem, name)
        return self.questions.ask(question, lambda: self._find_public(stem, name), MISSING, is_own=False)

    def _find_public(self, stem: str, name: str) -> Entity:
        self.questions.keys.add(stem)
        for path in self._index.files(stem):
            view = self._table.view(path)
            if view.exported is not None:
                return self.attribute(stem, name) if name in view.exported else MISSING
            if not name.startswith("_"):
                entity = self.name(view, MODULE_SCOPE, ALL_BINDINGS, name)
                if entity is not MISSING:
                    return entity
        return MISSING

    # -- modules -------------------------------------------------------------------------------------------------------

    def absolute(self, view: FileView, dotted: str) -> Found:
        """The module that an absolute import in this file means."""
        return self._index.absolute(view.path, dotted, self.questions.keys)

    def module_named(self, view: FileView, level: int, module: str) -> Found:
        """The module of a `from … import` in this file."""
        if level == 0:
            return self.absolute(view, module)
        return self._index.relative(view.path, level, module, self.questions.keys)

    def _module(self, found: Found, dotted: str) -> Entity:
        if found.stem is not None:
            return Entity(MODULE, name=found.stem)
        return Entity(EXTERNAL, name=dotted) if found.is_external else UNKNOWN

    def member_of_module(self, view: FileView, level: int, module: str, name: str) -> Entity:
        """What `from <level dots><module> import <name>` binds in this file."""
        found = self.module_named(view, level, module)
        if found.stem is None:
            return Entity(EXTERNAL, name=f"{module}.{name}") if found.is_external else UNKNOWN
        if found.stem == view.stem:
            # A package that imports from itself means its submodule; its own binding is the one being made.
            inner = self._index.submodule(found.stem, name, self.questions.keys)
            if inner is not None:
                return Entity(MODULE, name=inner)
        return self.attribute(found.stem, name)

    def attribute(self, stem: str, name: str) -> Entity:
        """A name of a module as others see it: bound in its source, in its stub, or a submodule."""
        question = ("attribute", stem, name)
        return self.questions.ask(question, lambda: self._find_attribute(stem, name), MISSING, is_own=False)

    def _find_attribute(self, stem: str, name: str) -> Entity:
        entity = self.bound_in(stem, name)
        if entity.tag in SURE or entity.tag == EXTERNAL:
            return entity
        inner = self._index.submodule(stem, name, self.questions.keys)
        if entity is MISSING and inner is not None:
            return Entity(MODULE, name=inner)
        return entity

    def bound_in(self, stem: str, name: str) -> Entity:
        """What the module's own source, else its stub, binds the name to."""
        self.questions.keys.add(stem)
        entity = MISSING
        for path in self._index.files(stem):
            told = self.name(self._table.view(path), MODULE_SCOPE, ALL_BINDINGS, name)
            if told.tag in SURE:
                return told
            entity = told if entity is MISSING else entity
        return entity

    # -- classes -------------------------------------------------------------------------------------------------------

    def lineage(self, view: FileView, index: int) -> Lineage:
        """The class with its bases in look-up order; circular and unreadable ones count as unknown."""
        question = ("lineage", view.path, index)
        cut = Lineage(((view, index),), has_unknown=True)
        return self.questions.ask(question, lambda: self._find_lineage(view, index), cut, is_own=view.is_whole)

    def _find_lineage(self, view: FileView, index: int) -> Lineage:
        bases = [self.evaluate(view, base) for base in view.bases(index)]
        lines = [self.lineage(base.view, base.number) for base in bases if base.is_class and base.view is not None]
        return linearise((view, index), bases, lines)

    def member(self, owner: Entity, name: str) -> Entity:
        """An attribute of a class, an instance, or of `super()`, through the bases."""
        view, index = owner.view, owner.number
        if view is None or view.definitions[index][4] != Kind.CLASS:
            return UNKNOWN
        question = ("member", owner.tag, view.path, index, name)
        return self.questions.ask(question, lambda: self._find_member(owner, name), UNKNOWN, is_own=view.is_whole)

    def _find_member(self, owner: Entity, name: str) -> Entity:
        assert owner.view is not None  # noqa: S101 - checked by `member`
        lineage = self.lineage(owner.view, owner.number)
        skipped = 1 if owner.tag == SUPER else 0
        for view, index in lineage.classes[skipped:]:
            entity = self._own_member(view, index, name)
            if entity is not MISSING:
                if entity.tag != DEFINITION or entity.kind != Kind.PROPERTY:
                    return entity
                told = self._returned(entity)
                return _instance_of(owner) if told is RECEIVER else told
        if lineage.has_unknown:
            return UNKNOWN
        if lineage.has_external:
            return Entity(EXTERNAL, name=name)
        return BUILTIN if lineage.has_builtin or name in OBJECT_MEMBERS else MISSING

    def _own_member(self, view: FileView, index: int, name: str) -> Entity:
        if name in view.scope(index):
            entity = self.name(view, index, ALL_BINDINGS, name)
            if entity.tag in SURE:
                return entity
        value = view.attribute(index, name)
        if value is None:
            return UNKNOWN if name in view.scope(index) else MISSING
        question = ("value", view.path, index, name)
        return self.questions.ask(question, lambda: self.evaluate(view, value), UNKNOWN, is_own=view.is_whole)


def _instance_of(owner: Entity) -> Entity:
    """What a method was called on, when it was looked up on `owner`."""
    is_known = owner.tag in (INSTANCE, SUPER) or owner.is_class
    return owner._replace(tag=INSTANCE) if is_known else UNKNOWN


def _simple(view: FileView, expression: Stored) -> Entity | None:
    """The meaning of an expression that asks nothing of any other name."""
    if expression == Tag.UNKNOWN:
        return UNKNOWN
    if isinstance(expression, str) and expression.startswith(_DEFINED) and expression.count("\t") == 1:
        return Entity(DEFINITION, view, int(expression[len(_DEFINED) :]))
    return None


def _standing(bound: Sequence[Bound]) -> Sequence[Bound]:
    """The bindings that may be in force: the last unconditional one, and the conditional ones after it."""
    start = len(bound) - 1
    while start > 0 and bound[start].is_conditional:
        start -= 1
    return bound[start:]


def _step_outside(entity: Entity, step: str) -> Entity:
    """A part of something external is external; what an external function returns is so only if that is safe to say:
    it is a class by its name, or a function of the standard library that does not hand its argument through.
    """
    if step == ITEM:
        return entity
    if step != CALL:
        return entity._replace(name=f"{entity.name}.{step}")
    last = entity.name.rpartition(".")[2]
    if last in PASS_THROUGH:
        return UNKNOWN
    is_safe = last[:1].isupper() or entity.name.partition(".")[0] in STDLIB_MODULES
    return entity._replace(name=entity.name + CALL) if is_safe else UNKNOWN
