"""The date translator: from English into three languages, by a Transformer that trains in a minute or two.

`experiments/translator.py` trains and evaluates it. The checkpoint contains the vocabularies, so that
translation needs neither Babel nor training data.
"""

# ruff: isort: skip_file
# fmt: off
from polyhead_course.models.translation.dates import (
    FORMS, TARGETS, Pair, held_out_pairs, is_held_out, read_date, training_pairs,
)
from polyhead_course.models.translation.evaluation import alignment, exact_match, right_sources
from polyhead_course.models.translation.translator import (
    Translation, Translator, Vocabulary, load_translator, recipe, source_tokens, target_tokens, translate,
)
# fmt: on

__all__ = [
    "FORMS", "TARGETS", "Pair", "Translation", "Translator", "Vocabulary", "alignment", "exact_match",
    "held_out_pairs", "is_held_out", "load_translator", "read_date", "recipe", "right_sources",
    "source_tokens", "target_tokens", "training_pairs", "translate",
]  # fmt: skip
