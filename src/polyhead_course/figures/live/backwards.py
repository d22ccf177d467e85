"""A Transformer that writes words backwards: the reader points at a letter, and changes the memory."""

from collections.abc import Sequence

import torch

from polyhead.transformer import Transformer
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable


@torch.no_grad()
def backwards(model: Transformer, words: Sequence[str], symbols: str) -> Explorable:
    """The figure `plots.crossing`, in which the reader chooses a word, a letter, and what the decoder reads.

    Args:
        model: An encoder and a decoder over `symbols`.
        words: Words of one length.
        symbols: The symbol of each id; the second is the start, the third the end.

    >>> model = Transformer(5, embed_dim=4, num_heads=1, num_encoder_layers=1, num_decoder_layers=1)
    >>> figure = backwards(model, ["abb", "bab"], symbols="_>.ab")
    >>> figure.data["read"], len(figure.data["written"][0])
    (['abb.', 'bab.'], 3)
    """
    read, written, weights = [word + symbols[2] for word in words], [], []
    for text in read:
        whole = model.encode(torch.tensor([[symbols.index(each) for each in text]]))  # (1, length, embed_dim)
        for memory in (whole, whole.flip(1), torch.zeros_like(whole)):
            ids = [1]
            while len(ids) <= len(text):
                ids.append(int(model.decode(torch.tensor([ids]), memory)[0, -1].argmax()))
            x = model.target_embedding(torch.tensor([ids[:-1]]))
            cross = model.decoder(x, memory, need_weights=True)[1][-1].cross_attention[0].mean(dim=0)
            written.append("".join(symbols[each] for each in ids[1:]))
            weights.append((100 * cross).round().int().tolist())
    figure = plots.crossing(torch.tensor(weights[0]) / 100, list(read[0]), list(written[0]))
    threes = [[each[i : i + 3] for i in range(0, len(each), 3)] for each in (written, weights)]
    return Explorable("backwards", figure, read=read, written=threes[0], weights=threes[1])
