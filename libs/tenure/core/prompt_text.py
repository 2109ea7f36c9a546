"""Text made safe for a prompt: names on one line, content that can't write our fences, preferences from closed templates."""

import re
from dataclasses import dataclass

from tenure.core.errors import InvalidInput

_FENCE = re.compile(r"[<＜﹤‹〈](?=\s*[/／]?\s*tenure-)", re.IGNORECASE)
_HEADING = re.compile(
    r"(##)(?=[^\S\n]*(?:working memory|architecture|relevant code|related decisions|learnings|warnings|recent activity"
    r"|current request)\b)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # no width, or they turn the line
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates; the tag block, which hides whole sentences
)
"""Characters that a reader does not see and a model does. Joiners (U+200C, U+200D) stay: scripts and emoji need them."""


def defuse(text: str) -> str:
    """`text` in which nothing reads as one of our tags or headings; other text, and text defused before, stays as it is.

    A tag's `<` becomes `&lt;`, a heading gets a backslash after its `##`; controls other than tab and line feed, and
    invisible characters, are dropped.
    """
    visible = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _HEADING.sub(r"\1\\", _FENCE.sub("&lt;", visible))


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters: white space folded, control and invisible characters dropped."""
    folded = _INVISIBLE.sub("", " ".join(text.split()))
    return folded if len(folded) <= limit else folded[: max(0, limit - 1)] + "…"


@dataclass(frozen=True, slots=True)
class Preference:
    """A dimension of style with its active value, both from closed sets."""

    dimension: str
    value: str


_TEMPLATES: dict[str, tuple[str, frozenset[str]]] = {
    "naming": ("Name things in {}.", frozenset({"snake_case", "camelCase", "PascalCase", "kebab-case"})),
    "quotes": ("Use {} quotes for strings.", frozenset({"double", "single"})),
    "docstring": ("Write docstrings in the {} style.", frozenset({"google", "numpy", "sphinx", "plain"})),
    "type_annotations": ("Type annotations: {}.", frozenset({"always", "public", "never"})),
    "type_syntax": ("Type syntax: {}.", frozenset({"builtin", "typing", "union_operator", "optional"})),
    "import_order": ("Order imports: {}.", frozenset({"isort", "alphabetical", "grouped", "unsorted"})),
    "unused_import": ("Unused imports: {}.", frozenset({"remove", "keep"})),
    "error_handling": ("Handle errors by: {}.", frozenset({"specific", "broad", "raise", "return"})),
    "control_flow": ("Control flow: {}.", frozenset({"early_return", "nested", "single_exit"})),
    "test_layout": ("Write tests as {}.", frozenset({"functions", "classes"})),
    "comprehension": ("Comprehensions: {}.", frozenset({"comprehension", "loop"})),
    "string_formatting": ("Format strings with {}.", frozenset({"fstring", "format", "percent"})),
    "async": ("Asynchronous code: {}.", frozenset({"async", "sync"})),
    "comment_density": ("Comments: {}.", frozenset({"sparse", "normal", "dense"})),
    "class_syntax": ("Plain data classes as: {}.", frozenset({"dataclass", "plain", "namedtuple", "pydantic"})),
    "trailing_comma": ("Trailing commas: {}.", frozenset({"always", "never"})),
    "literals": ("Empty collections as: {}.", frozenset({"literal", "constructor"})),
    "none_comparison": ("Compare with None by: {}.", frozenset({"is", "equality"})),
    "pathlib": ("Handle paths with: {}.", frozenset({"pathlib", "os_path"})),
}
_LINE_LENGTH = "line_length"
_LINE_LENGTHS = frozenset(str(length) for length in range(40, 401))


def render_preference(preference: Preference) -> str:
    """The sentence for a preference, from a closed template.

    Raises InvalidInput when dimension or value is not in the closed set: a preference never carries free text into the system part.
    """
    dimension, value = preference.dimension, preference.value
    if dimension == _LINE_LENGTH and value in _LINE_LENGTHS:
        return f"Keep lines within {value} characters."
    template, values = _TEMPLATES.get(dimension, ("", frozenset()))
    if value not in values:
        raise InvalidInput(
            f"No template for preference {one_line(dimension, 40)!r} = {one_line(value, 40)!r}; allowed: "
            f"{', '.join(sorted(values)) or 'one of ' + ', '.join(sorted((*_TEMPLATES, _LINE_LENGTH)))}."
        )
    return template.format(value)
