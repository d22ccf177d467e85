"""What the course alone needs: its figures, exercises, trained models, words, fonts, theme and PDF.

Chapters import the parts by name: `from polyhead_course.figures import plots`. This package itself imports
nothing, so that a part that needs matplotlib or Sphinx loads them only for those who ask for it.
"""
