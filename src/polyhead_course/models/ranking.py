"""A search task for MiniLM: which title answers a query?"""

from __future__ import annotations

import re
from collections import Counter
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
    """What somebody types, and the one title that answers it."""

    query: str
    title: str


def query_title_pairs() -> list[Pair]:
    """Pairs written for this course: a query in a searcher's words, a title that mostly uses others.

    Neighbours in the list are about similar things, so that the topic alone does not tell the title.
    """
    lines = resources.files(__package__).joinpath("data/query_title_pairs.tsv").read_text(encoding="utf-8")
    return [Pair(*line.split("\t")) for line in lines.splitlines()]


@checked
def ranks(similarities: Float[Tensor, "num_queries num_titles"]) -> Int[Tensor, "num_queries"]:
    """The rank of each query's own title, which has its number: 1 where all others are less similar."""
    return (similarities >= similarities.diagonal()[:, None]).sum(dim=1)


@checked
def mean_reciprocal_rank(similarities: Float[Tensor, "num_queries num_titles"]) -> float:
    """The mean of 1 / rank: 1.0 where every query's own title is first, 0.5 where every one is second."""
    return float((1 / ranks(similarities)).mean())


@checked
def search(minilm: MiniLM, pairs: Sequence[Pair]) -> Float[Tensor, "num_queries num_titles"]:
    """The similarity of every query to every title."""
    queries, titles = (_embedded(minilm, texts) for texts in zip(*pairs, strict=True))
    return queries @ titles.T


@checked
def loss(minilm: MiniLM, asked: Sequence[Pair], others: Sequence[Pair] = ()) -> Float[Tensor, ""]:
    """How surprised the model is by the right titles: the mean of -log softmax(20 · similarity) at them.

    For each query that is asked, over the titles of all pairs given; with gradients, which `search` has not.

    Source: the factor 20, and the loss, are those with which all-MiniLM-L6-v2 was trained.
    """
    queries = minilm([pair.query for pair in asked])
    titles = minilm([pair.title for pair in (*asked, *others)])
    return F.cross_entropy(20 * queries @ titles.T, torch.arange(len(asked), device=queries.device))


def tf_idf(pairs: Sequence[Pair]) -> Tensor:
    """What words alone say, without a model: the cosine of each query's and each title's counts of words.

    A word in n of N texts counts log(N / n) times; texts without a common word have similarity 0.
    """
    texts = [Counter(re.findall(r"\w+", text.lower())) for pair in zip(*pairs, strict=True) for text in pair]
    found = Counter(word for text in texts for word in text)
    counts = torch.tensor([[text[word] for word in found] for text in texts], dtype=torch.float32)
    rarity = torch.log(len(texts) / torch.tensor(list(found.values())))
    vectors = F.normalize(counts * rarity, dim=-1)  # (num_queries + num_titles, num_words)
    return vectors[: len(pairs)] @ vectors[len(pairs) :].T


def static(minilm: MiniLM, pairs: Sequence[Pair]) -> Tensor:
    """What the table of tokens alone says, without attention: the cosine of the mean token vectors."""
    table, sums = minilm.model.embedding.tokens.weight.detach(), []
    for texts in zip(*pairs, strict=True):
        ids, mask = minilm.tokenize(texts)
        sums.append(F.normalize((table[ids] * mask[..., None]).sum(dim=1), dim=-1))
    return sums[0] @ sums[1].T


def _embedded(minilm: MiniLM, texts: Sequence[str]) -> Tensor:
    """What `MiniLM.embed` gives, in batches of like lengths: nearly half of one batch would be padding."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    batches = [order[start : start + 32] for start in range(0, len(order), 32)]
    vectors = torch.cat([minilm.embed([texts[number] for number in batch]) for batch in batches])
    return vectors[torch.tensor(order).argsort()]
