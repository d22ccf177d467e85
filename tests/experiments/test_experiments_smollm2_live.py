"""The data of the interactive atlas of SmolLM2's heads are what its command makes."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from experiments.smollm2_live import CLOSE, LONGEST, TEXTS, continuations, heads_off, token_labels, weights_of
from polyhead import greedy_decode
from polyhead.heads import Head, ablate
from polyhead.pretrained import smollm2
from polyhead_course.models.smollm2.atlas import atlas
from polyhead_course.models.smollm2.readings import readings


@pytest.fixture(scope="module")
def model():
    return smollm2()


@pytest.mark.parametrize("name", ["spring", "list"])
def test_weights_are_those_of_the_model_in_per_cent(name, model):
    (reading,) = [each for each in readings("ko") if each.name == name]
    encoding = model.tokenizer.encode(reading.text)
    with torch.inference_mode():
        weights = torch.cat(model.model.attention_weights(torch.tensor([encoding.ids])))
    assert_close(reading.percents().float(), 100 * weights, atol=0.51, rtol=0)
    assert reading.tokens == token_labels(reading.text, encoding.offsets)
    made = torch.tensor(list(weights_of(model, reading.text)))
    rows, columns = torch.tril_indices(*weights.shape[2:])
    assert_close(made.float(), 100 * weights[:, :, rows, columns].flatten(), atol=0.51, rtol=0)


def test_pieces_of_a_character_are_numbered():
    assert token_labels("a 山", [(0, 1), (1, 3), (2, 3), (2, 3)]) == ["a", "山₁", "山₂", "山₃"]


def test_continuations_are_greedy_and_end_before_two_tokens_are_almost_equal(model):
    (reading,) = [each for each in readings("en") if each.name == "password"]
    off = heads_off(model)
    for kind in ("none", "induction"):
        for heads, stored in zip(off[kind], reading.continuations[kind], strict=True):
            ids = torch.tensor([model.tokenizer.encode(reading.text).ids])
            with ablate(model.model, heads), torch.inference_mode():
                written = greedy_decode(model.model, ids, end_id=model.end_id, max_new_tokens=LONGEST)
                logits = model.model(torch.cat([ids, written], dim=1))[0, ids.shape[1] - 1 : -1]
            best, second = logits.topk(2).values.T
            near = [*(best - second < CLOSE).tolist(), True].index(True)
            assert stored == model.tokenizer.decode(written[0, :near].tolist()).rstrip(
                "\N{REPLACEMENT CHARACTER}"
            )
    again = continuations(model, reading.text, [heads for both in off.values() for heads in both])
    assert again == [text for both in reading.continuations.values() for text in both]


def test_as_many_other_heads_are_off(model):
    kinds = {row.head: row.kind for row in atlas()}
    none, *others = heads_off(model).items()
    assert none == ("none", [[]])
    for kind, (heads, control) in others:
        assert {head for head, name in kinds.items() if name == kind} == set(heads)
        assert len(set(control)) == len(heads)
        assert kind not in {kinds[head] for head in control}
    assert Head("decoder", 18, 6) in dict(others)["induction"][0]


def test_a_reader_has_four_texts_for_all_and_two_of_the_own_language():
    for language in ("en", "zh-TW", "zh-CN", "ko"):
        found = readings(language)
        assert [each.language for each in found] == ["", "", "", "", language, language]
        assert [each.text for each in found] == [
            text for (code, _), text in TEXTS.items() if code in ("", language)
        ]
        assert max(len(each.tokens) for each in found) <= 22
