"""The questions without code: which choice of each is right, computed."""

from collections.abc import Sequence

from torch import Tensor

from polyhead_course.words.language import text


def choices(*questions: Sequence[bool | Tensor]) -> None:
    """Print the number of the right choice of each question, counted from 1.

    Args:
        questions: For each, whether each of its choices is right: truth values, or tensors of one.

    Raises:
        ValueError: not exactly one choice of a question is right.

    Example:
        >>> choices([1 > 2, 1 < 2], [2 + 2 == 4, 2 + 2 == 5, 2 + 2 == 3])
        Right answers: 2, 1
    """
    numbers = []
    for question, truths in enumerate(questions, start=1):
        right = [number for number, truth in enumerate(truths, start=1) if bool(truth)]
        if len(right) != 1:
            raise ValueError(f"question {question} must have exactly one right choice, got {right}")
        numbers += right
    print(text("quiz.right", numbers=", ".join(map(str, numbers))))
