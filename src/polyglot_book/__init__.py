"""Makes one Jupyter Book speak several languages: the tools for its text, and the extension for its site."""

from polyglot_book.contents import outline, overview

__all__ = ["outline", "overview"]
