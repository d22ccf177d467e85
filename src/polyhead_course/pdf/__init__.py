"""Prints the built site as one PDF for each language: `pages` reads, `printing` binds and prints."""
