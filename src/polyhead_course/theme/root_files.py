"""Writes the files at the root of the site: robots.txt, the icons, and the page for a wrong address."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from polyhead_course.theme.head import HEAD_SCRIPT, icon_names, icons_of
from polyhead_course.theme.policy import content_policy
from sphinx_polyglot.addresses import site_address
from sphinx_polyglot.languages import Pages
from sphinx_polyglot.strings import in_language, translate


def root_of(config: Config) -> str:
    """Return the path of the site on its host: `/`, or `/project/`."""
    return urlsplit(site_address(config)).path or "/"


# Sphinx event: build-finished
def write_not_found(app: Sphinx, exception: Exception | None) -> None:
    """Write `404.html`, which a host serves for any wrong address, so that its links are absolute."""
    if exception is not None or app.builder.format != "html":
        return
    root, pages = root_of(app.config), Pages.from_config(app.config)
    cards = []
    for language in pages.languages.values():
        href = root + app.builder.get_target_uri(pages.home(language))
        with in_language(language):
            message = translate("This page does not exist.")
        cards.append({"language": language, "href": href, "message": message})
    context = {
        "root": root,
        "cards": cards,
        "icons": icon_names(app),
        "head_script": HEAD_SCRIPT,
        "policy": content_policy(HEAD_SCRIPT),
    }
    text = app.builder.templates.render("404.html", context)
    Path(app.outdir, "404.html").write_text(text, encoding="utf-8")


# Sphinx event: build-finished
def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Write `robots.txt`, the icons where browsers look for them, and `.nojekyll`."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    # Without it GitHub Pages omits the folders whose names begin with an underscore.
    (out / ".nojekyll").touch()
    rules = ["User-agent: *", "Disallow:"]
    if site := site_address(app.config):
        rules += ["", f"Sitemap: {site}sitemap.xml"]
    (out / "robots.txt").write_text("\n".join(rules) + "\n", encoding="utf-8")
    for name, source in icons_of(app).values():
        shutil.copyfile(source, out / name)
