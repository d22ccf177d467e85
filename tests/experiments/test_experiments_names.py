"""Training of the model of names, and its command."""

from __future__ import annotations

from importlib import metadata

import pytest
import torch
from torch.testing import assert_close

from experiments import names
from polyhead.training import train
from polyhead_course.models.names import NameWriter, NGram, read_names
from polyhead_course.models.names.runs import LOCALES
from tests.experiments.interruption import first_losses


def test_targets_are_partly_the_name_and_after_a_wrong_character_the_teachers_alone(monkeypatch):
    monkeypatch.setattr(names, "TEACHER_SHARE", 0.75)
    teacher = NGram([[2, 3, 4, 1], [2, 3, 5, 1], [2, 5, 1]], [1, 3, 4, 5], 7)
    targets = names.soft_targets(teacher, [2, 3, 4, 5, 1], [2, 3, 3, 5, 1])
    contexts = [(2, 2), (2, 3), (3, 3), (3, 5)]
    expected = torch.stack([teacher.distribution(context) for context in contexts])
    expected[:2] *= 0.75
    expected[0, 3] += 0.25
    expected[1, 4] += 0.25
    assert_close(targets, expected)


def test_some_letters_are_wrong_and_language_and_end_are_not():
    got = names.add_noise(torch.tensor([2, *[5] * 999, 1]), torch.tensor([6, 7]))
    assert (got[0], got[-1]) == (2, 1)
    assert set(got[1:-1].tolist()) == {5, 6, 7}
    assert 0.07 < (got[1:-1] != 5).double().mean() < 0.13


def test_the_loss_is_the_cross_entropy_with_the_targets(monkeypatch):
    monkeypatch.setattr(names, "NOISE", 0.0)
    sequences = [[2, 4, 5, 6, 1], [2, 4, 1], [3, 7, 1]]
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(each) for each in sequences], batch_first=True)
    teachers = {2: NGram(sequences[:2], range(1, 8), 8, 5), 3: NGram(sequences[2:], range(1, 8), 8, 5)}
    table = torch.randn(8, 8)
    total, count = names.distillation_loss(ids, teachers)(
        torch.nn.Embedding.from_pretrained(table), torch.tensor([2, 0])
    )
    expected = sum(
        -(target @ table[token].log_softmax(dim=0))
        for name in (sequences[2], sequences[0])
        for token, target in zip(name, names.soft_targets(teachers[name[0]], name, name), strict=False)
    )
    assert count == 2 + 4
    assert_close(total, expected)


def test_training_begins_like_the_committed_run():
    _, model, loss, num_names = names.training_run(read_names())
    losses = first_losses(8, lambda report: train(model, loss, num_names, names.RECIPE, report=report))
    facts = NameWriter().facts
    assert losses[-1] < losses[0] - 0.2
    assert facts["recipe"]["seed"] == names.RECIPE.seed
    told, here = (version.split(".")[:2] for version in (facts["babel"], metadata.version("babel")))
    assert told == here, "with other names, make the checkpoint again"
    assert_close(losses, facts["first_losses"][:8], rtol=0.05, atol=0.0)


def test_it_knows_held_out_names_better_than_trigrams():
    """One trigram for all languages knows each of them worse; with one for each it wins on the whole."""
    results = names.evaluate(NameWriter(), read_names(), count=200)
    for language in LOCALES:
        got = results[language]
        assert got.num_held_out > 100
        assert got.perplexity < 0.9 * got.one_trigram
        assert got.perplexity < 1.1 * got.own_trigram
        assert got.new > 40
        assert got.real <= got.new <= got.different <= 200
    assert results["all"].perplexity < results["all"].own_trigram
    assert results["all"].new == sum(results[language].new for language in LOCALES)


def test_perplexities_of_all_languages_are_averaged_by_tokens():
    one = names.Evaluation(3, 10, 2.0, 5.0, 1.0, 3.0, 1, 1, 1)
    got = names.aggregate([one, one._replace(num_tokens=30, perplexity=32.0)])
    assert_close(got.perplexity, 16.0)
    assert (got.num_held_out, got.num_tokens, got.real) == (6, 40, 2)
    assert_close(got.own_trigram, 5.0)
    assert_close(got.teacher, 3.0)


def test_the_command_trains(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(names, "make_checkpoint", lambda *arguments: calls.append(arguments))
    path = tmp_path / "names.safetensors"
    names.main(["train", "--out", str(path)])
    [(out, _, _, num_names, recipe, facts, command)] = calls
    assert (out, recipe) == (path, names.RECIPE)
    assert num_names == sum(map(len, read_names().training.values()))
    assert facts.keys() == {"languages", "characters", "babel"}
    assert command == f"python -m experiments.names train --out {path}"


def test_the_command_writes_names_one_a_line_the_same_for_a_seed(capsys):
    outputs = []
    for seed in ("7", "7", "8"):
        names.main(["write", "--language=ko", "--count=5", "--top-p=0.9", f"--seed={seed}"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    assert len(outputs[0].splitlines()) == 5
    assert any("가" <= c <= "힣" for c in outputs[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--language", "fr"], "language must be one of en, zh-TW, zh-CN, ko, got 'fr'"),
        (["--language", "ko", "--temperature", "0"], "temperature must be a number above 0"),
        (["--language", "ko", "--top-p", "1.5"], "top_p must be a number above 0 and at most 1"),
        (["--language", "ko", "--count", "0"], "count must be an int of at least 1, got int 0"),
        (["--language", "ko", "--checkpoint", "nowhere.safetensors"], "No such file"),
    ],
)
def test_bad_arguments_are_reported_in_one_line(unchecked, capsys, arguments, message):
    with pytest.raises(SystemExit) as exit:
        names.main(["write", *arguments])
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("python -m experiments.names: ")
    assert message in err
