"""What the course Polyhead needs besides the four general packages, in parts.

- `figures`: `plots`, every figure as vector graphics, and `live`, those that the reader can move.
- `exercises`: checks of the exercises, the bug clinic's patients, and `diagnose` in the reader's language.
- `models`: trained models, tables of head experiments, and what is known of SmolLM2.
- `words`: the terms, labels and messages of all languages.
- `peers`: d2l and Hugging Face, imported for comparison.
- `fonts`, `theme` and `pdf`: how the website and the PDFs look.
- `handouts`: slides, figures and copies of notebooks. `workshop`: what `make` runs besides.

Chapters import the parts by name: `from polyhead_course.figures import plots`. This package itself imports
nothing, so that importing one part does not load what another needs, such as matplotlib or Sphinx.
"""
