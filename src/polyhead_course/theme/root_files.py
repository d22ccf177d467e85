"""Writes the files that are no pages: robots.txt, icons, cards, a redirect, what readers can keep offline."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont
from sphinx.application import Sphinx

from polyglot_book.config import Language
from polyhead_course.fonts import FONTS, path_of
from polyhead_course.theme.head import CARD_SIZE, CARDS, head_of, icons_of
from sphinx_polyglot.pages import Pages, site_address
from sphinx_polyglot.strings import in_language, translate

_MARGIN = 80


def write_not_found(app: Sphinx) -> None:
    """Write `404.html`, which a host serves for any wrong address, so that its links are absolute."""
    # The path of the site on its host: `/`, or `/project/`.
    root, pages = urlsplit(site_address(app.config)).path or "/", Pages.from_config(app.config)
    cards = []
    for language in pages.languages.values():
        href = root + app.builder.get_target_uri(pages.home(language))
        with in_language(language):
            message = translate("This page does not exist.")
        cards.append({"language": language, "href": href, "message": message})
    context = {**head_of(app, "404"), "root": root, "cards": cards}
    _write(app, "404.html", "404.html", context)


def write_root(app: Sphinx) -> None:
    """Write `index.html`: a redirect to the page where a reader chooses a language."""
    root_doc = app.config.root_doc
    if root_doc == "index":
        return
    context = {
        **head_of(app, root_doc),
        "language": Pages.from_config(app.config).reference.code,
        "title": app.env.titles[root_doc].astext(),
        "target": app.builder.get_target_uri(root_doc),
        "pathto": lambda name, *_: name,
    }
    _write(app, "redirect.html", "index.html", context)


def _write(app: Sphinx, template: str, name: str, context: dict[str, Any]) -> None:
    text = app.builder.templates.render(template, context)
    Path(app.outdir, name).write_text(text, encoding="utf-8")


def write_files(app: Sphinx) -> None:
    """Write `robots.txt`, the icons where browsers look for them, and `.nojekyll`."""
    out = Path(app.outdir)
    # Without it GitHub Pages omits the folders whose names begin with an underscore.
    (out / ".nojekyll").touch()
    _write(app, "robots.txt", "robots.txt", {"site": site_address(app.config)})
    for name, source in icons_of(app).values():
        shutil.copyfile(source, out / name)


def write_offline(app: Sphinx) -> None:
    """Write the service worker, and for each language its web app manifest and the list of what can be kept.

    The list's version is made of all its files: the same files have the same version.
    """
    out, pages = Path(app.outdir), Pages.from_config(app.config)
    (out / "offline").mkdir(exist_ok=True)
    _write(app, "sw.js", "sw.js", {})
    icons = []
    for name, path in icons_of(app).values():
        size = "any"
        if path.suffix != ".svg":
            with Image.open(path) as picture:
                size = "{}x{}".format(*picture.size)
        icons.append({"src": f"../{name}", "sizes": size})
    shared = ["index.html", "*.svg", "*.png", f"{pages.folder}/*.html", "_static/**/*", "_images/*"]
    for code, language in pages.languages.items():
        patterns = (*shared, f"{pages.folder}/{code}/**/*", "search/none.json", f"search/{code}.json")
        paths = {path for each in patterns for path in out.glob(each) if path.is_file() and path.suffix}
        files: dict[str, tuple[str, int]] = {}
        for path in sorted(paths):
            content = path.read_bytes()
            files[path.relative_to(out).as_posix()] = hashlib.sha256(content).hexdigest()[:16], len(content)
        version = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
        kept = {"version": version, "bytes": sum(size for _, size in files.values()), "files": files}
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        (out / "offline" / f"{code}.json").write_text(text, encoding="utf-8")
        start = f"../{app.builder.get_target_uri(pages.home(language))}"
        context = {"language": language, "start": start, "icons": icons}
        _write(app, "manifest.webmanifest", f"offline/{code}.webmanifest", context)


def write_cards(app: Sphinx) -> None:
    """Draw a card for each language, the picture that messengers show of its pages: title, tagline and icon.

    A site without an address has none, since no messenger finds it.
    """
    if not site_address(app.config):
        return
    folder = Path(app.outdir, CARDS)
    folder.mkdir(exist_ok=True)
    _, icon = icons_of(app).get("apple-touch-icon", ("", None))
    for language in Pages.from_config(app.config).languages.values():
        _draw(language, icon).save(folder / f"{language.code}.png")


def _draw(language: Language, icon: Path | None) -> Image.Image:
    image = Image.new("RGB", CARD_SIZE, "#ffffff")
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, 24, CARD_SIZE[1]), fill="#0a7d91")
    if icon:
        with Image.open(icon) as picture:
            image.paste(picture.convert("RGB").resize((100, 100)), (_MARGIN, _MARGIN))
    # Each of our fonts has the letters of English too; matplotlib's own has other alphabets.
    own = language.code in FONTS or f"{language.title}{language.tagline}".isascii()
    other = Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    font = path_of(language.code if language.code in FONTS else next(iter(FONTS))) if own else other
    for text, size, height, color in (
        (language.title, 120, 250, "#14181e"),
        (language.tagline, 48, 440, "#48566b"),
    ):
        width = ImageFont.truetype(font, size).getlength(text)
        fitting = size * min(1, (CARD_SIZE[0] - 2 * _MARGIN) / max(width, 1))
        canvas.text((_MARGIN, height), text, color, ImageFont.truetype(font, fitting))
    return image
