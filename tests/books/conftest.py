"""Keeps pytest from running the notebooks of the tiny books: they are material, and draw with no library."""

collect_ignore_glob = ["*"]
