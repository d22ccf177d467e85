"""A search task for MiniLM: to find the title that answers a query.

Its pairs, `data/query_title_pairs.tsv`, are written by hand.
"""

from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from polyhead.checked import checked
from polyhead.pretrained.minilm import MiniLM


class Pair(NamedTuple):
    """A query, and the one title that answers it.

    >>> Pair("how to boil an egg", "Cooking eggs").title
    'Cooking eggs'
    """

    query: str
    title: str


def query_title_pairs() -> list[Pair]:
    """Read the pairs of the course: a query in a searcher's words, and a title, mostly in other words.

    Neighbours in the list are about similar things, so that the topic alone does not identify the title.

    >>> len(query_title_pairs()) > 150
    True
    """
    lines = resources.files(__package__).joinpath("data/query_title_pairs.tsv").read_text(encoding="utf-8")
    return [Pair(*line.split("\t")) for line in lines.splitlines()]


@checked
def ranks(similarities: Float[Tensor, "num_queries num_titles"]) -> Int[Tensor, "num_queries"]:
    """Rank the right title of each query, which has the query's number: 1 if all others are less similar.

    >>> ranks(torch.tensor([[0.5, 0.25], [0.75, 0.5]]))
    tensor([1, 2])
    """
    return (similarities >= similarities.diagonal()[:, None]).sum(dim=1)


@checked
def mean_reciprocal_rank(similarities: Float[Tensor, "num_queries num_titles"]) -> float:
    """Compute the mean of 1 / rank: 1.0 if every right title is first, 0.5 if every one is second.

    >>> mean_reciprocal_rank(torch.tensor([[0.5, 0.25], [0.75, 0.5]]))
    0.75
    """
    return float((1 / ranks(similarities)).mean())


@checked
def search(minilm: MiniLM, pairs: Sequence[Pair]) -> Float[Tensor, "num_queries num_titles"]:
    """Compute the similarity of every query to every title.

    >>> from polyhead.pretrained import load_minilm
    >>> search(load_minilm(), query_title_pairs()[:3]).shape
    torch.Size([3, 3])
    """
    queries, titles = (_embed(minilm, texts) for texts in zip(*pairs, strict=True))
    return queries @ titles.T


@checked
def loss(minilm: MiniLM, pairs: Sequence[Pair], others: Sequence[Pair] = ()) -> Float[Tensor, ""]:
    """Compute the cross-entropy of the right titles: the mean of -log softmax(20 · similarity) at them.

    For each query of `pairs`, over the titles of `pairs` and `others`; with gradients, unlike `search`.

    Source: the factor 20, and the loss, are those with which all-MiniLM-L6-v2 was trained.

    >>> from polyhead.pretrained import load_minilm
    >>> pairs = query_title_pairs()
    >>> bool(loss(load_minilm(), pairs[:3]) < loss(load_minilm(), pairs[:3], others=pairs[3:6]))
    True
    """
    queries = minilm([pair.query for pair in pairs])
    titles = minilm([pair.title for pair in (*pairs, *others)])
    return F.cross_entropy(20 * queries @ titles.T, torch.arange(len(pairs), device=queries.device))


def _embed(minilm: MiniLM, texts: Sequence[str]) -> Tensor:
    """Compute `MiniLM.embed` in batches of similar lengths; nearly half of a single batch is padding."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    batches = [order[start : start + 32] for start in range(0, len(order), 32)]
    vectors = torch.cat([minilm.embed([texts[number] for number in batch]) for batch in batches])
    return vectors[torch.tensor(order).argsort()]
