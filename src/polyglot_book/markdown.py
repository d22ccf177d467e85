"""Splits a cell's MyST Markdown into its prose and what must be the same in every language."""

import functools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from jupytext.myst import MystMetadataParsingError, get_parser, parse_directive_options
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.field_list import fieldlist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.substitution import substitution_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

# MyST's extensions that change what a cell consists of; the others change only how it looks.
_EXTENSIONS: dict[str, Any] = {
    "amsmath": amsmath_plugin,
    "attrs_block": attrs_block_plugin,
    # As in MyST-Parser: `[words]{.class}` is tried after `[^footnote]`, which begins with a bracket, too.
    "attrs_inline": functools.partial(attrs_plugin, spans=True, span_after="footnote_ref"),
    "colon_fence": colon_fence_plugin,
    "deflist": deflist_plugin,
    "dollarmath": dollarmath_plugin,
    "fieldlist": fieldlist_plugin,
    "substitution": substitution_plugin,
    "tasklist": tasklists_plugin,
}
# Directives whose content is not Markdown.
_LITERAL = {"code", "code-block", "code-cell", "sourcecode", "math", "raw", "mermaid", "eval-rst"}
_LITERAL |= {"literalinclude", "bibliography", "toctree"}
_PATH_ARGUMENT = {"figure", "image", "include", "literalinclude"}
# Options that readers do not read, and that decide how a page works.
_SAME_OPTIONS = ("class", "name", "label", "open")
_TARGET_ROLES = {"ref", "doc", "numref", "eq", "any", "download"}
_CODE_ROLES = {"code", "kbd", "samp", "file", "literal"}
_GREEK = re.compile("[α-ρσ-ωΓΔΘΛΞΠΣΥΦΨΩ]")
# Spaces of TeX are none here, and brackets are what they are without their sizes.
_SAME_SIGNS = dict.fromkeys([r"\,", r"\;", r"\:", r"\!", "\\ ", r"\quad", r"\qquad", r"\left", r"\right"], "")
_SAME_SIGNS |= {r"\cr": r"\\", r"\widetilde": r"\tilde", r"\overline": r"\bar"}
# Empty words, the last point of an environment, and the end of an ordinal number.
_NO_SIGNS = re.compile(
    r"\\(text\w*|mbox) \{ \}|[.,;。](?= \\end)|\^ ?(\{ )?(\\(rm|text) )?(t h|s t|n d|r d)( \})?"
)
_URL = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Prose:
    """One paragraph, heading, title or table cell as a reader reads it, without code, formulas and addresses.

    Attributes:
        text: The words.
        has_link_or_emphasis: Whether it has a link, a citation or emphasis. If it has a year, too, it may be
            the entry of a bibliography, which need not be translated.
        heading: Whether it is a heading or a title.

    Example:
        >>> parse_cell("# A *short* title", "en", ()).prose
        [Prose(text='A short title', has_link_or_emphasis=True, heading=True)]
    """

    text: str
    has_link_or_emphasis: bool = False
    heading: bool = False


@dataclass
class CellParts:
    """What one Markdown cell consists of.

    Attributes:
        prose: Its paragraphs, headings, titles and table cells.
        headings: The levels of its headings, in order.
        links: The targets of its links, images, references and citations, and the labels of its formulas.
        formulas: Its formulas, without the words in them.
        code: Its inline code.
        directives: Its directives, roles and code blocks, each with the options that no language changes.

    Example:
        >>> parts = parse_cell("See [masks](02-masks.ipynb) and {eq}`scores`.", "en", ())
        >>> dict(parts.links), dict(parts.directives)
        ({'02-masks.ipynb': 1, 'scores': 1}, {'{eq}`': 1})
    """

    prose: list[Prose] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    links: Counter[str] = field(default_factory=Counter)
    formulas: Counter[str] = field(default_factory=Counter)
    code: Counter[str] = field(default_factory=Counter)
    directives: Counter[str] = field(default_factory=Counter)


@functools.cache
def myst_parser(extensions: tuple[str, ...]) -> MarkdownIt:
    """Return a parser of MyST Markdown with some of its extensions.

    Parsers are cached: do not change what is returned.

    Args:
        extensions: Names of extensions, as in `myst_enable_extensions`; those that change only the look of
            a text are ignored.

    Example:
        >>> [token.type for token in myst_parser(("dollarmath",)).parse("$$x$$")]
        ['math_block']
    """
    parser: MarkdownIt = get_parser().enable("inline").use(footnote_plugin)
    for name in extensions:
        if name in _EXTENSIONS:
            parser.use(_EXTENSIONS[name])
    # As in MyST-Parser, `^[…]` is no footnote, and the text of a footnote stays where it is written.
    return parser.disable(["footnote_inline", "footnote_tail"])


@functools.lru_cache(maxsize=4096)
def parse_cell(text: str, language: str, extensions: tuple[str, ...]) -> CellParts:
    r"""Split a Markdown cell into its parts.

    The parts are cached: do not change what is returned.

    Args:
        text: The cell's source.
        language: The page's language; words marked as being of another one are not its prose.
        extensions: The extensions of MyST that the book uses.

    Example:
        >>> parts = parse_cell("## Scale\n\nDivide by $d$: `x / d`.", "en", ("dollarmath",))
        >>> [each.text for each in parts.prose], parts.headings, dict(parts.formulas), dict(parts.code)
        (['Scale', 'Divide by : .'], [2], {'d': 1}, {'x / d': 1})
    """
    parser = _CellParser(language, myst_parser(extensions))
    parser.read(text)
    return parser.result


def _greek(letter: re.Match[str]) -> str:
    name = unicodedata.name(letter[0]).split()[-1].lower().replace("lamda", "lambda")
    return f"\\{name.capitalize() if letter[0].isupper() else name} "


def formula_key(text: str) -> str:
    r"""Return a formula without what does not change it: spaces, needless braces, words, the last point.

    >>> formula_key(r"\bar{x}_1 = γ^{th} \quad \text{} 2.") == formula_key(r"\bar x_1=\gamma 如果 2，")
    True
    """
    text = unicodedata.normalize("NFKC", _GREEK.sub(_greek, text))
    signs = re.findall(r"\\[A-Za-z]+|\\.|\S", text)
    key = " ".join(_SAME_SIGNS.get(each, each) for each in signs if unicodedata.category(each[0]) != "Lo")
    key = " ".join(_NO_SIGNS.sub("", key).split())
    while (shorter := re.sub(r"\{ (\S+|\{ [^{}]* \}) \}", r"\1", key)) != key:
        key = shorter
    return key.rstrip(" .,;。、")


def _formula(text: str) -> str:
    r"""Normalize a formula: without line breaks, and without the words in \text{…}, which are translated."""
    text = re.sub(r"(?<!\\)%.*", "", text)  # a comment
    return " ".join(re.sub(r"\\(text\w*|mbox)\s*\{[^{}]*\}", r"\\\1{}", text).split())


class _CellParser(HTMLParser):
    """Visits the tokens of a cell and of its directives, and the HTML in them."""

    def __init__(self, language: str, parser: MarkdownIt) -> None:
        super().__init__()
        self.result = CellParts()
        self._language, self._parser = language, parser
        # The open HTML elements, and whether each is marked as another language.
        self._open: list[tuple[str, bool]] = []
        self._words: list[str] = []
        self._has_link_or_emphasis = self._heading = False

    def read(self, text: str) -> None:
        """Add a text's parts to the result."""
        for token in self._parser.parse(text):
            self._block(token)

    def _block(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self.result.headings.append(int(token.tag[1:]))
                self._heading = True
            case "heading_close":
                self._heading = False
            case "math_block" | "math_block_label" | "amsmath":
                self.result.formulas[_formula(token.content)] += 1
                if token.type == "math_block_label":  # a label is the target of references
                    self.result.links[f"({token.info})"] += 1
            case "html_block":
                self._html(token.content)
                self._paragraph()
            case "fence" | "colon_fence":
                self._fence(token)
            case "inline":
                for child in token.children or []:
                    self._inline(child)
                self._paragraph()

    def _paragraph(self) -> None:
        """Add the collected words to the prose."""
        if text := _URL.sub("", "".join(self._words)).strip():
            self.result.prose.append(Prose(text, self._has_link_or_emphasis, self._heading))
        self._words, self._has_link_or_emphasis = [], False

    def _add_words(self, words: str) -> None:
        if not any(foreign for _, foreign in self._open):
            self._words.append(words)

    def _fence(self, token: Token) -> None:
        directive = re.match(r"\{([^}]+)\}\s*(.*)", token.info.strip(), re.DOTALL)
        if directive is None:
            self.result.directives[f"```{token.info.strip()}"] += 1
            return
        name, argument = directive.groups()
        try:
            lines, options = parse_directive_options(token.content, "")
        except MystMetadataParsingError:  # the site's build reports it
            lines, options = token.content.splitlines(), {}
        body = "\n".join(lines)
        same = "".join(f" {key}={options[key]}" for key in _SAME_OPTIONS if key in options)
        self.result.directives[f"{{{name}}}{same}"] += 1
        if name == "math":
            self.result.formulas[_formula(f"{argument} {body}")] += 1
        elif name in _PATH_ARGUMENT:
            self.result.links[argument] += 1
        elif argument and name not in _LITERAL:
            self._heading = True
            self.read(argument)
            self._heading = False
        if alt := options.get("alt"):
            self.result.prose.append(Prose(str(alt)))
        if name not in _LITERAL:
            self.read(body)

    def _inline(self, child: Token) -> None:
        """Count one inline token, and collect its words."""
        match child.type:
            case "text":
                self._add_words(child.content)
            case "softbreak" | "hardbreak":
                self._add_words("\n")
            case "code_inline":
                self.result.code[child.content] += 1
            case "math_inline" | "math_inline_double" | "math_single":
                self.result.formulas[_formula(child.content)] += 1
            case "link_open":
                self.result.links[str(child.attrGet("href") or "")] += 1
                self._has_link_or_emphasis = True
            case "em_open":
                self._has_link_or_emphasis = True
            case "image":
                self.result.links[str(child.attrGet("src") or "")] += 1
                self._add_words(child.content)
            case "footnote_ref":
                self.result.links[f"[^{child.meta.get('label', '')}]"] += 1
            case "html_inline":
                self._html(child.content)
            case "myst_role":
                self._role(str(child.meta["name"]), child.content)

    def _role(self, name: str, content: str) -> None:
        self.result.directives[f"{{{name}}}`"] += 1
        if name == "math":
            self.result.formulas[_formula(content)] += 1
        elif name in _CODE_ROLES:
            self.result.code[content] += 1
        elif name.startswith("cite"):
            self.result.links.update(key.strip() for key in content.split(","))
            self._has_link_or_emphasis = True
        elif name in _TARGET_ROLES:
            target = re.fullmatch(r"(.*?)\s*<([^>]*)>", content, re.DOTALL)
            self.result.links[target[2] if target else content] += 1
            self._add_words(target[1] if target else "")
            self._has_link_or_emphasis = True

    def _html(self, fragment: str) -> None:
        """Read a fragment of HTML: what it opens may be closed in another one."""
        self.feed(fragment)
        self.close()
        self.reset()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count a tag's address, collect its alternative text, and note its language."""
        values = dict(attrs)
        self.result.links.update(value for key in ("href", "src") if (value := values.get(key)))
        self._add_words(values.get("alt") or "")
        if tag not in {"br", "img", "hr", "input", "wbr", "source"}:
            self._open.append((tag, (values.get("lang") or self._language) != self._language))

    def handle_endtag(self, tag: str) -> None:
        """Close an element and whatever was left open in it."""
        names = [name for name, _ in self._open]
        if tag in names:
            # From the last open element of this name on.
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        """Collect words."""
        self._add_words(data)
