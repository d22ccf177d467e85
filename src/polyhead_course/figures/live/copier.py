"""Two heads that copy: the reader repeats a part of a word, points at letters, and switches heads off."""

import torch

from polyhead.heads import ablate, all_heads
from polyhead.transformer import DecoderOnly
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.models.induction import AGAIN, LENGTH, LETTERS
from polyhead_course.words.language import text


def copier(model: DecoderOnly, word: str) -> Explorable:
    """The figure `plots.attention_lines`, in which the reader chooses where the repetition begins.

    Args:
        model: two layers of one head, as `models.induction.load_copier` gives it.
        word: twelve different letters from a to z.

    >>> from polyhead_course.models.induction import load_copier
    >>> figure = copier(load_copier(), "ambidextrous")
    >>> figure.data["texts"][5], figure.data["written"][0][5]
    ('ambidextrousextrou', 'xtrou')
    """
    rows = [word + word[start : start + AGAIN] for start in range(LENGTH - AGAIN + 1)]
    ids = torch.tensor([[LETTERS.index(letter) for letter in row] for row in rows])
    written, weights = [], []
    for number in range(4):  # its binary digits are the heads that are off
        off = [head for head in all_heads(model) if number >> head.layer & 1]
        with torch.no_grad(), ablate(model, off):
            best = model(ids)[:, LENGTH:-1].argmax(dim=-1)
            layers = torch.cat(model.attention_weights(ids), dim=1)  # (7, 2, 18, 18)
        written.append(["".join(LETTERS[each] for each in row) for row in best.tolist()])
        weights.append((100 * layers).round().int().tolist())
    names = [text("live.copier_head", layer=layer) for layer in range(2)]
    figure = plots.attention_lines(torch.tensor(weights[0][4]) / 100, list(rows[4]), names)
    return Explorable("copier", figure, texts=rows, length=LENGTH, written=written, weights=weights[:2])
