"""What chapter 9 says of drawn texts and of drafts, over seeds that it was developed on, and over others."""

from __future__ import annotations

import pytest
import torch

from experiments.names import evaluate
from polyhead import sample
from polyhead.pretrained import smollm2
from polyhead_course.models.names import NameWriter, read_names, runs
from polyhead_course.models.names.runs import fit_ngram, speculate
from polyhead_course.models.smollm2.sampling import surprise

DRAFTS = {2: (2.2, 3.0), 5: (2.6, 3.4)}  # by the order of the counts: tokens a call


@pytest.fixture(scope="module")
def model():
    return smollm2()


@pytest.mark.parametrize("seed", [0, 200])
def test_at_temperature_2_all_ten_texts_are_heaps_of_words_and_top_k_helps(model, seed):
    """Ten texts each, drawn independently."""
    language_model, tokenizer, end_id = model
    prompts = torch.tensor([tokenizer.encode("Once upon a time there was a").ids]).repeat(10, 1)

    def drawn(**options):
        generator = torch.Generator().manual_seed(seed)
        new = sample(
            language_model, prompts, end_id=end_id, max_new_tokens=10, generator=generator, **options
        )
        return surprise(language_model, prompts, new, end_id)

    one, two = (drawn(temperature=each) for each in (1.0, 2.0))
    assert one.max() < two.min()
    assert drawn(temperature=2.0, top_k=5).max() < two.min()


@pytest.fixture(scope="module")
def namer():
    return NameWriter(), read_names()


@torch.no_grad()
def written(namer, order, seeds):
    """Tokens a call of each seed; how far the names' surprise is from the model's own, in sigmas."""
    writer, names = namer
    drafter = fit_ngram(writer.vocabulary, {"en": names.training["en"]}, order)
    rates, gap, variance = [], 0.0, 0.0
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        tokens = calls = 0
        for _ in range(25):
            ids, needed = speculate(writer, drafter, "en", 4, generator)
            tokens, calls = tokens + len(ids), calls + needed
            before = torch.cat((torch.tensor([writer.vocabulary.tag("en")]), ids[:-1]))
            logs = writer.model(before[None])[0].double().log_softmax(dim=-1)
            mean = (logs.exp() * logs).sum(dim=1)
            gap += (logs.gather(1, ids[:, None])[:, 0] - mean).sum().item()
            variance += ((logs.exp() * logs**2).sum(dim=1) - mean**2).sum().item()
        rates.append(tokens / calls)
    return rates, gap / variance**0.5


@pytest.mark.parametrize("order", DRAFTS)
@pytest.mark.parametrize(
    "seeds", [range(10), pytest.param(range(200, 210), marks=pytest.mark.held_out)], ids=str
)
def test_drafts_save_calls_and_change_no_probability(namer, order, seeds):
    rates, sigmas = written(namer, order, seeds)
    print(f"order {order}: {min(rates):.2f} to {max(rates):.2f}, {sigmas:.1f} sigmas")
    low, high = DRAFTS[order]
    assert low < min(rates) <= max(rates) < high
    assert abs(sigmas) < 3.3


def test_the_measure_sees_a_rule_that_is_wrong(namer, monkeypatch):
    def accept_all(probs, draft_probs, drafts, generator):
        return torch.cat((drafts, torch.multinomial(probs[-1], 1, generator=generator)))

    monkeypatch.setattr(runs, "accept_drafts", accept_all)
    _, sigmas = written(namer, 2, range(3))
    assert abs(sigmas) > 5


def test_the_counts_know_held_out_names_about_as_well_as_the_model_that_they_taught(namer):
    results = evaluate(*namer, count=1)
    ahead = {tag for tag in ("en", "zh-TW", "zh-CN", "ko") if results[tag].teacher < results[tag].perplexity}
    assert ahead == {"en", "zh-TW", "ko"}
    assert all(0.98 < results[tag].teacher / results[tag].perplexity < 1.02 for tag in ("zh-TW", "zh-CN"))
