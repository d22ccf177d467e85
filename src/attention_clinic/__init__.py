"""Find bugs in attention code by its behaviour alone.

>>> from attention_clinic import diagnose
>>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).names
('unscaled',)

To examine code:

- `diagnose` returns a `Diagnosis`, which is true if nothing wrong was found. It has a `Finding` for each bug,
  for each doubt that leaves the verdict open, and for each note.
- `assert_healthy` raises an error unless the diagnosis is true.
- `KINDS` are the kinds of code that can be diagnosed, by the names that `diagnose(…, kind=…)` takes.
- `Wording` puts findings into words: yours, if you derive a class from it.

What diagnoses are made of, to be used alone:

- `laws` are properties of every right decoder, and `planted` has small decoders with one known bug each.
- `Trial` calls a candidate with a time limit, and raises `CallFailed`.
- `seeded_copy` gives a module the parameters with which the clinic examines it.

The candidate runs in your process: diagnose only code that you would run yourself.
"""

from attention_clinic import laws, planted
from attention_clinic.diagnose import KINDS, assert_healthy, diagnose
from attention_clinic.diagnosis import Diagnosis, Finding, Wording
from attention_clinic.seeded import seeded_copy
from attention_clinic.trial import CallFailed, Trial

__all__ = [
    "KINDS", "CallFailed", "Diagnosis", "Finding", "Trial", "Wording", "assert_healthy", "diagnose", "laws",
    "planted", "seeded_copy",
]  # fmt: skip
