from __future__ import annotations

import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from torch.testing import assert_close

from polyhead import Decoder, Encoder, EncoderOnly, LearnedPositions, TokenEmbedding, heads
from polyhead.heads import Head
from polyhead.pretrained import MiniLM
from polyhead_course.models import head_experiments as grids
from polyhead_course.models import ranking
from polyhead_course.models.translation import exact_match, held_out_pairs, load_translator

PAIRS = ranking.query_title_pairs()

# ---- where heads attend


def test_share_is_the_mean_over_the_queries_that_have_such_a_key():
    weights = torch.tensor([[[[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]])
    where = torch.tensor([[[True, False, True], [False, False, False]]])
    assert_close(heads.share(weights, where), torch.tensor([0.8, 1.0]))  # the second query does not count
    where[0, 1, 1] = True
    assert_close(heads.share(weights, where), torch.tensor([(0.8 + 0.25) / 2, 0.5]))


def test_share_counts_queries_not_sentences():
    weights = torch.rand(2, 3, 5, 7).softmax(dim=-1)
    where = torch.zeros(2, 5, 7, dtype=torch.bool)
    where[0, :, 3], where[1, 4, 3] = True, True
    rows = torch.cat([weights[0, :, :, 3], weights[1, :, 4:, 3]], dim=1)
    assert_close(heads.share(weights, where), rows.mean(dim=1))


def test_share_of_nowhere_is_refused():
    with pytest.raises(ValueError, match="where must be True somewhere"):
        heads.share(torch.rand(2, 3, 5, 7), torch.zeros(2, 5, 7, dtype=torch.bool))


def test_distance_is_that_of_scipy():
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(2, 3, 5, 7, generator=generator, dtype=torch.float64).pow(6)
    others = torch.rand(2, 2, 5, 7, generator=generator, dtype=torch.float64)
    weights[..., 2] = 0.0
    weights, others = (each / each.sum(dim=-1, keepdim=True) for each in (weights, others))
    queries = torch.tensor([[True, True, False, False, True], [False, True, False, False, False]])
    expected = [
        sum(
            jensenshannon(weights[b, i, q], others[b, j, q], base=2)
            for b, q in queries.nonzero().tolist()
        ) / 4
        for i in range(3)
        for j in range(2)
    ]  # fmt: skip
    got = heads.distance(weights, others, queries)
    assert_close(got, torch.tensor(expected).double().view(3, 2), rtol=0, atol=1e-12)


def test_distance_is_0_of_equal_rows_and_1_of_rows_without_a_common_key():
    rows = torch.eye(3)[None, None].expand(1, 2, 3, 3)
    queries = torch.ones(1, 3, dtype=torch.bool)
    assert_close(heads.distance(rows, rows, queries), torch.zeros(2, 2))
    assert_close(heads.distance(rows, rows.roll(1, dims=-1), queries), torch.ones(2, 2))


def test_distance_of_no_query_is_refused():
    rows = torch.eye(3)[None, None]
    with pytest.raises(ValueError, match="queries must be True somewhere"):
        heads.distance(rows, rows, torch.zeros(1, 3, dtype=torch.bool))


# ---- the search task


def test_there_are_pairs_enough_and_no_text_twice():
    assert len(PAIRS) >= 150
    for texts in zip(*PAIRS, strict=True):
        assert len(set(texts)) == len(PAIRS)
        assert all(text.strip() == text and text for text in texts)


def test_mostly_other_words_answer():
    shared = [
        len({word for word in pair.query.lower().split() if len(word) > 4} & set(pair.title.lower().split()))
        for pair in PAIRS
    ]
    assert 0.05 < sum(map(bool, shared)) / len(PAIRS) < 0.3


def test_a_rank_counts_those_that_are_as_similar():
    similarities = torch.tensor([[0.9, 0.1, 0.3], [0.5, 0.4, 0.6], [0.2, 0.7, 0.7]])
    assert ranking.ranks(similarities).tolist() == [1, 3, 2]
    assert ranking.mean_reciprocal_rank(similarities) == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert ranking.mean_reciprocal_rank(torch.zeros(7, 7)) == pytest.approx(1 / 7)  # nothing is known


def test_tf_idf_by_hand():
    pairs = [ranking.Pair("red fox", "a fox"), ranking.Pair("blue sky", "the sky, blue")]
    rare, twice = math.log(4), math.log(2)  # in one text of four, and in two
    got = ranking.tf_idf(pairs)
    expected = twice**2 / (math.hypot(rare, twice) * math.hypot(rare, twice))
    assert got[0].tolist() == pytest.approx([expected, 0.0], abs=1e-6)
    assert got[1, 1].item() == pytest.approx(
        2 * twice**2 / (math.hypot(twice, twice) * math.hypot(rare, twice, twice))
    )


@pytest.fixture(scope="module")
def tiny() -> MiniLM:
    """As MiniLM, with one layer that is not trained, and a token a word."""
    torch.manual_seed(0)
    words = sorted({word for pair in PAIRS for text in pair for word in text.split()})
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    embedding = TokenEmbedding(len(words), 384, LearnedPositions(20, 384))
    return MiniLM(EncoderOnly(embedding, Encoder(1, 384, 6, ffn_dim=7)), tokenizer).eval()


def test_search_compares_every_query_with_every_title(tiny):
    pairs = PAIRS[:70]  # more than two batches, of unlike lengths
    got = ranking.search(tiny, pairs)
    for query, title in ((0, 0), (3, 69), (69, 3), (40, 33)):
        vectors = tiny.embed([pairs[query].query, pairs[title].title])
        assert got[query, title].item() == pytest.approx((vectors[0] @ vectors[1]).item(), abs=1e-5)


def test_the_loss_is_that_of_the_right_title_among_all(tiny):
    asked, others = PAIRS[:3], PAIRS[5:9]
    similarities = ranking.search(tiny, [*asked, *others])[:3]
    expected = -(20 * similarities).log_softmax(dim=-1).diagonal().mean()
    loss = ranking.loss(tiny, asked, others)
    assert_close(loss.detach(), expected, rtol=1e-5, atol=1e-5)
    loss.backward()
    assert tiny.model.encoder.layers[0].attention.input_projection.weight.grad is not None


def test_static_vectors_are_means_of_the_table(tiny):
    table, got = tiny.model.embedding.tokens.weight.detach(), ranking.static(tiny, PAIRS[:5])
    means = [table[tiny.tokenizer.encode(text).ids].mean(dim=0) for text in (PAIRS[4].query, PAIRS[1].title)]
    assert got[4, 1].item() == pytest.approx(torch.cosine_similarity(*means, dim=0).item(), abs=1e-6)


# ---- the tables


def test_heads_are_written_and_read():
    off = [Head("encoder", 0, 11), Head("decoder", 2, 0), Head("cross", 10, 3)]
    assert grids.written(off) == "e0.11 d2.0 c10.3"
    assert grids.read(grids.written(off)) == off
    assert grids.read("") == []


def test_draws_are_the_same_again_and_differ():
    every = [Head("encoder", layer, head) for layer in range(3) for head in range(5)]
    first = grids.random_heads(every, 7, 0)
    assert first == grids.random_heads(list(reversed(every)), 7, 0)
    assert len(set(first)) == 7
    assert first != grids.random_heads(every, 7, 1)


def test_what_is_removed():
    model = torch.nn.ModuleList([Encoder(4, 10, 5), Decoder(2, 10, 5)])  # 20, 10 and 10 heads
    every = heads.all_heads(model)
    scores = {head: float(number) for number, head in enumerate(every)}
    done = list(grids.removals(model, scores))
    off = {name: [each for experiment, each in done if experiment == name] for name, _ in done}
    assert (off["none"], off["all"]) == ([[]], [every])
    assert [len(each) for each in off["random"][:: grids.DRAWS]] == [4, 8, 12, 16, 20, 24, 28]
    assert [off["least important"][0], off["most important"][0]] == [every[:4], every[-4:]]
    assert len(off["single"]) == 40 and len(off["layer"]) == 8
    assert {head.layer for each in off["lower"] for head in each} == {0, 1}
    assert {head.layer for each in off["upper"] for head in each} == {2, 3}


@pytest.mark.parametrize(
    ("table", "measure", "count"), [("minilm", "mean_reciprocal_rank", 72), ("translator", "exact_match", 24)]
)
def test_a_table_has_what_the_command_makes(table, measure, count):
    rows = grids.trials(table)
    single = [row for row in rows if row.experiment == "single"]
    scores = {row.off[0]: row.measures["importance"] for row in single}
    assert len(scores) == count
    assert all(0 <= row.measures[measure] <= 1 for row in rows)
    expected = list(grids.removals(small(scores), scores))
    assert [(row.experiment, row.off) for row in rows[-len(expected) :]] == expected


def test_with_dropout_and_without_as_many_trials_are_there():
    rows = grids.trials("dropout")
    found = [(row.measures["dropout"], row.measures["seed"], len(row.off)) for row in rows]
    draws = [0, *[5] * grids.DRAWS, *[12] * grids.DRAWS]
    assert found == [
        (dropout, seed, number) for dropout in (0.0, 0.1) for seed in range(3) for number in draws
    ]


def test_the_translator_does_what_the_table_says():
    """Red when there is another translator: `python -m polyhead.heads translator` makes the table anew."""
    loaded, pairs, rows = load_translator(), held_out_pairs("ko")[::11], grids.trials("translator")
    half = next(row for row in rows if (row.experiment, len(row.off)) == ("random", 12))
    with heads.ablate(loaded.model, half.off):
        assert exact_match(loaded, pairs) == pytest.approx(half.measures["ko"], abs=0.01)


def small(scores: dict[Head, float]) -> torch.nn.Module:
    """As many heads, and hardly a parameter."""
    each = 1 + max(head.head for head in scores)
    layers = {kind: len({head.layer for head in scores if head.kind == kind}) for kind in grids.KINDS}
    parts: list[torch.nn.Module] = [Encoder(layers["encoder"], each, each)]
    if layers["decoder"]:
        parts.append(Decoder(layers["decoder"], each, each))
    return torch.nn.ModuleList(parts)
