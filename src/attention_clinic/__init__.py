"""The bug clinic: `diagnose(candidate)` says, by behaviour alone, what is wrong with attention code."""

from attention_clinic import laws, planted
from attention_clinic.bugs import BUGS, SAME
from attention_clinic.diagnose import KINDS, diagnose
from attention_clinic.diagnosis import Diagnosis, Finding
from attention_clinic.trial import Stopped, Trial
from polyhead_course.exercises.patients import patient

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
