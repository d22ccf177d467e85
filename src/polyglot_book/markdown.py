"""Takes a cell's MyST Markdown apart: its prose, and what must be the same in every language."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

# Directives whose content is not Markdown.
_LITERAL = set(
    [
        "code",
        "code-block",
        "code-cell",
        "sourcecode",
        "math",
        "raw",
        "mermaid",
        "eval-rst",
        "literalinclude",
        "bibliography",
        "toctree",
    ]
)
_PATH_ARGUMENT = {"figure", "image", "include", "literalinclude", "download"}
# Options that readers do not read, and that decide how a page works.
_SAME_OPTIONS = ("class", "name", "label", "open")
_TARGET_ROLES = {"ref", "doc", "numref", "eq", "any", "download"}
_CODE_ROLES = {"code", "kbd", "samp", "file", "literal"}
_URL = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Prose:
    """One paragraph, heading, title or table cell as a reader reads it, without code, formulas and addresses.

    Attributes:
        text: The words.
        marked: Whether it holds a link, a citation or emphasis, as the entry of a bibliography does.
    """

    text: str
    marked: bool = False


@dataclass
class Anatomy:
    """What one Markdown cell consists of."""

    prose: list[Prose] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    links: Counter[str] = field(default_factory=Counter)
    formulas: Counter[str] = field(default_factory=Counter)
    code: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    for plugin in (colon_fence_plugin, deflist_plugin, footnote_plugin, myst_role_plugin, attrs_block_plugin):
        parser.use(plugin)
    return parser.use(amsmath_plugin).use(dollarmath_plugin).use(attrs_plugin, spans=True)


@functools.lru_cache(maxsize=4096)
def anatomy(text: str, language: str) -> Anatomy:
    """Take a Markdown cell apart.

    Args:
        text: The cell's source.
        language: The page's language; words marked as being of another one are not its prose.
    """
    result = Anatomy()
    _Reader(result, language).read(text)
    return result


def _formula(text: str) -> str:
    r"""Write a formula so that equal ones are equal: the words in \text{…} are the language's own."""
    return " ".join(re.sub(r"\\(text\w*|mbox)\s*\{[^{}]*\}", r"\\\1{}", text).split())


def _directive(info: str) -> tuple[str, str] | None:
    found = re.match(r"\{([^}]+)\}\s*(.*)", info.strip(), re.DOTALL)
    return (found.group(1), found.group(2)) if found else None


def _options(content: str) -> tuple[dict[str, str], str]:
    """Split a directive's content into its options and its body."""
    lines = content.split("\n")
    options: list[str] = []
    if lines[0].strip() == "---" and "---" in [line.strip() for line in lines[1:]]:
        stop = [line.strip() for line in lines].index("---", 1)
        options, lines = lines[1:stop], lines[stop + 1 :]
    else:
        while lines and re.match(r"\s*:[\w-]+:", lines[0]):
            options.append(lines.pop(0).strip()[1:])
    pairs = (line.partition(":") for line in options)
    return {key.strip(): value.strip() for key, _, value in pairs}, "\n".join(lines)


class _Tags(HTMLParser):
    """Finds an HTML fragment's tags, addresses and words."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []  # kind, tag or words, language
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [value for key in ("href", "src") if (value := values.get(key))]
        if tag not in {"br", "img", "hr", "input", "wbr", "source"}:
            self.found.append(("open", tag, values.get("lang") or ""))
        if alt := values.get("alt"):
            self.found.append(("words", alt, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        before = len(self.found)
        self.handle_starttag(tag, attrs)
        self.found[before:] = [each for each in self.found[before:] if each[0] == "words"]

    def handle_endtag(self, tag: str) -> None:
        self.found.append(("close", tag, ""))

    def handle_data(self, data: str) -> None:
        self.found.append(("words", data, ""))


class _Reader:
    """Walks through the tokens of a cell and of its directives."""

    def __init__(self, result: Anatomy, language: str) -> None:
        self._result, self._language = result, language
        # The open HTML elements and spans, and whether each is marked as another language.
        self._open: list[tuple[str, bool]] = []

    @property
    def _foreign(self) -> bool:
        return any(foreign for _, foreign in self._open)

    def _is_foreign(self, language: object) -> bool:
        return bool(language) and language != self._language

    def read(self, text: str) -> None:
        """Add a text's parts to the result."""
        skipped: list[int] = []  # levels of blocks that are marked as another language
        for token in _parser().parse(text):
            if token.nesting == 1 and self._is_foreign(token.attrGet("lang")):
                skipped.append(token.level)
            if token.type == "inline":
                self._inline(token, skip=bool(skipped))
            else:
                self._block(token)
            if token.nesting == -1 and skipped and token.level == skipped[-1]:
                skipped.pop()

    def _block(self, token: Token) -> None:
        result = self._result
        if token.type == "heading_open":
            result.headings.append(int(token.tag[1:]))
        elif token.type.startswith("math_block") or token.type == "amsmath":
            result.formulas[_formula(token.content)] += 1
            if token.type == "math_block_label":
                result.links[f"({token.info})"] += 1
        elif token.type == "html_block":
            words = "".join(self._html(token.content))
            if words.strip():
                result.prose.append(Prose(words.strip()))
        elif token.type in ("fence", "colon_fence"):
            self._fence(token)

    def _fence(self, token: Token) -> None:
        result = self._result
        directive = _directive(token.info)
        if directive is None:
            result.names[f"```{token.info.strip()}"] += 1
            return
        name, argument = directive
        options, body = _options(token.content)
        same = "".join(f" {key}={options[key]}" for key in _SAME_OPTIONS if key in options)
        result.names[f"{{{name}}}{same}"] += 1
        if name == "math":
            result.formulas[_formula(f"{argument} {body}")] += 1
        elif name in _PATH_ARGUMENT:
            result.links[argument] += 1
        elif argument and name not in _LITERAL:
            self.read(argument)
        if alt := options.get("alt"):
            result.prose.append(Prose(alt.strip("'\"")))
        if name not in _LITERAL:
            self.read(body)

    def _html(self, fragment: str) -> Iterator[str]:
        """Yield the words of an HTML fragment, and follow which elements are open."""
        parser = _Tags()
        parser.feed(fragment)
        parser.close()
        self._result.links.update(parser.links)
        for kind, value, language in parser.found:
            if kind == "open":
                self._open.append((value, self._is_foreign(language)))
            elif kind == "close":
                for index in range(len(self._open) - 1, -1, -1):
                    if self._open[index][0] == value:
                        del self._open[index:]
                        break
            elif not self._foreign:
                yield value

    def _inline(self, token: Token, skip: bool) -> None:
        words: list[str] = []
        marked = False
        for child in token.children or []:
            said, mark = self._child(child)
            marked = marked or mark
            if not self._foreign:
                words.append(said)
        text = _URL.sub("", "".join(words)).strip()
        if text and not skip:
            self._result.prose.append(Prose(text, marked))

    def _child(self, child: Token) -> tuple[str, bool]:
        """Count one inline token; returns its words, and whether it marks a source."""
        result = self._result
        match child.type:
            case "text":
                return child.content, False
            case "softbreak" | "hardbreak":
                return "\n", False
            case "code_inline":
                result.code[child.content] += 1
            case "math_inline" | "math_inline_double" | "math_single":
                result.formulas[_formula(child.content)] += 1
            case "link_open":
                result.links[str(child.attrGet("href") or "")] += 1
                return "", True
            case "em_open":
                return "", True
            case "image":
                result.links[str(child.attrGet("src") or "")] += 1
                return child.content, False
            case "footnote_ref":
                result.links[f"[^{child.meta.get('label', '')}]"] += 1
            case "html_inline":
                return "".join(self._html(child.content)), False
            case "span_open":
                self._open.append(("span", self._is_foreign(child.attrGet("lang"))))
            case "span_close":
                if self._open:
                    self._open.pop()
            case "myst_role":
                return self._role(str(child.meta["name"]), child.content)
        return "", False

    def _role(self, name: str, content: str) -> tuple[str, bool]:
        result = self._result
        result.names[f"{{{name}}}`"] += 1
        if name == "math":
            result.formulas[_formula(content)] += 1
        elif name in _CODE_ROLES:
            result.code[content] += 1
        elif name.startswith("cite"):
            result.links.update(key.strip() for key in content.split(","))
            return "", True
        elif name in _TARGET_ROLES:
            found = re.fullmatch(r"(.*?)\s*<([^>]*)>", content, re.DOTALL)
            result.links[found.group(2) if found else content] += 1
            return (found.group(1) if found else ""), True
        return "", False
