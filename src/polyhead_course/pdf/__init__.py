"""Prints the built site as one PDF for each language: reads its pages, binds them, prints them."""
