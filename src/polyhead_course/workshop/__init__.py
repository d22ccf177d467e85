"""Programs of `make`: `lock` runs one build at a time, `publish` replaces the site in one step.

`browser` is what those that print the site, or draw it, have in common.
"""
