"""Find bugs in attention code by its behaviour alone.

>>> from attention_clinic import diagnose
>>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).names
('unscaled',)

`diagnose` returns a `Diagnosis`, true if its verdict is "healthy": no bug and no doubt. It has a `Finding`
for each bug, doubt and note; `assert_healthy` raises an error instead. `KINDS`: the kinds of code that it
knows. `Wording`: puts findings into words. `laws`: properties of every right decoder.
`planted`: small decoders with one known bug each. `Trial`: calls of a candidate with a time limit, which
raise `CallFailed`. `seeded_copy`: a module with the parameters that the clinic gives it.

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
