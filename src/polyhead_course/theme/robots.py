"""Writes the files in the root of a site: robots.txt, the icons, and the page for a wrong address."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from polyhead_course.theme.head import HEAD_SCRIPT, icon_names, icons_of
from polyhead_course.theme.policy import policy_for
from sphinx_polyglot import places
from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import SPEAKER, translate


def root_of(config: Config) -> str:
    """Return the path of the site on its host: `/`, or `/project/`."""
    return urlsplit(places.site_of(config)).path or "/"


# Sphinx event: build-finished (before the style sheet is made of what the pages use)
def write_missing(app: Sphinx, exception: Exception | None) -> None:
    """Write `404.html`, which a host shows for any wrong address: its links do not depend on the address."""
    if exception is not None or app.builder.format != "html":
        return
    root, pages, speaking = root_of(app.config), Pages.from_config(app.config), SPEAKER.language
    cards = []
    for language in pages.languages.values():
        SPEAKER.language = language
        href = root + app.builder.get_target_uri(pages.home(language))
        cards.append({"language": language, "href": href, "says": translate("This page does not exist.")})
    SPEAKER.language = speaking
    context = {
        "root": root,
        "cards": cards,
        "icons": icon_names(app),
        "head_script": HEAD_SCRIPT,
        "policy": policy_for(HEAD_SCRIPT),
    }
    text = app.builder.templates.render("404.html", context)
    Path(app.outdir, "404.html").write_text(text, encoding="utf-8")


# Sphinx event: build-finished
def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Write `robots.txt`, the icons where browsers look for them, and `.nojekyll`."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    # Without it GitHub Pages leaves out the folders whose names begin with an underscore.
    (out / ".nojekyll").touch()
    rules = ["User-agent: *", "Disallow:"]
    if site := places.site_of(app.config):
        rules += ["", f"Sitemap: {site}sitemap.xml"]
    (out / "robots.txt").write_text("\n".join(rules) + "\n", encoding="utf-8")
    for name, source in icons_of(app).values():
        shutil.copyfile(source, out / name)
