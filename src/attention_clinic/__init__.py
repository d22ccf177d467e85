"""The bug clinic: `diagnose(candidate)` says, by behaviour alone, what is wrong with attention code."""

from attention_clinic import laws, planted
from attention_clinic.diagnose import KINDS, diagnose
from attention_clinic.diagnosis import Diagnosis, Finding
from attention_clinic.trial import Stopped, Trial
from attention_clinic.wording import Wording

__all__ = [
    "KINDS",
    "Diagnosis",
    "Finding",
    "Stopped",
    "Trial",
    "Wording",
    "diagnose",
    "laws",
    "planted",
]
