"""The bug clinic: `diagnose(candidate)` says, by behaviour alone, what is wrong with attention code."""

from polyhead.clinic import laws, planted
from polyhead.clinic.bugs import BUGS, SAME
from polyhead.clinic.diagnose import KINDS, diagnose
from polyhead.clinic.diagnosis import Diagnosis, Finding
from polyhead.clinic.patients import patient
from polyhead.clinic.trial import Stopped, Trial

__all__ = [
    "BUGS",
    "KINDS",
    "SAME",
    "Diagnosis",
    "Finding",
    "Stopped",
    "Trial",
    "diagnose",
    "laws",
    "patient",
    "planted",
]
