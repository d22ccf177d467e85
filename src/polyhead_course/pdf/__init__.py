"""Prints the built site as one PDF for each language: `pages` reads, `document` binds, `printing` prints."""
