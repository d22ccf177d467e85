"""Programs of `make`: `lock` runs one build at a time, `publish` replaces the site in one step."""
