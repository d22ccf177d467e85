"""The script and the icons in the head of every page."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

# In the head, before the page is painted: the reader's colours, where a browser lets a page remember them.
HEAD_SCRIPT = (
    "(r=>{let m;try{m=localStorage.mode}catch{}m||='auto';r.dataset.mode=m;"
    "r.dataset.theme=m!='auto'?m:matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light'"
    "})(document.documentElement)"
)


def icons_of(app: Sphinx) -> dict[str, tuple[str, Path]]:
    """Return relation -> name on the site and file of the book, for each icon that the book has."""
    if not app.config.html_favicon:
        return {}
    icon = Path(app.srcdir, app.config.html_favicon)
    icons = {"icon": (f"icon{icon.suffix}", icon)}
    if icon.with_suffix(".png").is_file():
        icons["apple-touch-icon"] = ("apple-touch-icon.png", icon.with_suffix(".png"))
    return icons


def icon_names(app: Sphinx) -> dict[str, str]:
    """Return relation -> name on the site, for each icon."""
    return {relation: name for relation, (name, _) in icons_of(app).items()}
