"""Files in the format GGUF: small ones written here, and SmolLM2's, beside transformers' own reading."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from tokenizers import pre_tokenizers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from polyhead.pretrained import load_llama, read_gguf

SIZES = {
    "hidden_size": 96,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
}
LETTERS = sorted(pre_tokenizers.ByteLevel.alphabet())
TOKENS = ["<|end|>", *LETTERS, "th", "the"]
MERGES = ["t h", "th e"]
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.o_proj": "attn_output",
    **{f"self_attn.{each}_proj": f"attn_{each}" for each in "qkv"},
    **{f"mlp.{each}_proj": f"ffn_{each}" for each in ("gate", "up", "down")},
}


def theirs(tied: bool = False, dtype: torch.dtype = torch.float32) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(TOKENS), tie_word_embeddings=tied, rms_norm_eps=0.125, **SIZES)
    return LlamaForCausalLM(config).to(dtype).eval()


def in_llama_cpp(key: str) -> str:
    *layer, name = key.removesuffix(".weight").partition("layers.")[-1].split(".", 1)
    return f"blk.{layer[0]}.{NAMES[name]}.weight" if layer else f"{NAMES[key.removesuffix('.weight')]}.weight"


def swap_rows(weight: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Put rotary pairs side by side, as llama.cpp's converter does with queries and keys."""
    half = len(weight) // heads // 2
    order = [
        head * 2 * half + part * half + pair
        for head in range(heads)
        for pair in range(half)
        for part in (0, 1)
    ]
    return weight[order]


def write(
    path: Path,
    weights: dict[str, Tensor],
    kind: Kind = Kind.F32,
    change: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
    architecture: str = "llama",
    pre: str = "smollm",
    lacks: Collection[str] = (),
) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(SIZES["num_hidden_layers"])
    writer.add_embedding_length(SIZES["hidden_size"])
    writer.add_feed_forward_length(SIZES["intermediate_size"])
    writer.add_head_count(SIZES["num_attention_heads"])
    writer.add_head_count_kv(SIZES["num_key_value_heads"])
    writer.add_context_length(512)
    writer.add_layer_norm_rms_eps(0.125)
    writer.add_rope_freq_base(10_000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, *[1] * (len(TOKENS) - 1)])
    writer.add_token_merges(MERGES)
    for name in lacks:
        del writer.kv_data[0][f"tokenizer.ggml.{name}"]
    change(writer)
    for key, weight in weights.items():
        data = weight.float().numpy()
        if "q_proj" in key or "k_proj" in key:
            data = swap_rows(data, SIZES["num_attention_heads" if "q_proj" in key else "num_key_value_heads"])
        stored = Kind.F32 if data.ndim == 1 else kind
        writer.add_tensor(in_llama_cpp(key), gguf.quants.quantize(data, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("tied", [False, True])
def test_a_file_gives_the_weights_and_the_logits_of_the_model_that_was_written(
    tmp_path: Path, tied: bool
) -> None:
    model = theirs(tied)
    weights = {
        key: value for key, value in model.state_dict().items() if not (tied and key == "lm_head.weight")
    }
    state_dict, config, _ = read_gguf(write(tmp_path / "model.gguf", weights))
    assert state_dict.keys() == weights.keys()
    assert all(torch.equal(state_dict[key], weights[key]) for key in weights)
    ids = torch.tensor([[7, 11, 250, 3, 64]])
    with torch.no_grad():
        torch.testing.assert_close(load_llama(state_dict, config)(ids), model(ids).logits)


# (max - min) / 15 of a block is a step of Q4_1, and so on: no weight may be off by more than half a step, or
# by a whole one where the largest value is cut off.
@pytest.mark.parametrize(
    ("kind", "steps"), [(Kind.F16, 2**11), (Kind.Q8_0, 127), (Kind.Q4_1, 15), (Kind.Q4_0, 8)]
)
def test_quantised_weights_are_off_by_less_than_a_step(tmp_path: Path, kind: Kind, steps: int) -> None:
    weights = theirs().state_dict()
    state_dict = read_gguf(write(tmp_path / "model.gguf", weights, kind)).state_dict
    for key, weight in weights.items():
        blocks = weight.unflatten(-1, (-1, 32))
        spread = blocks.amax(-1) - blocks.amin(-1) if kind == Kind.Q4_1 else blocks.abs().amax(-1)
        off = (state_dict[key] - weight).unflatten(-1, (-1, 32)).abs().amax(-1)
        assert (off <= spread / steps * 1.01).all(), key
        assert weight.ndim == 1 or off.any()


def test_a_block_of_q4_1_by_hand(tmp_path: Path) -> None:
    weights = theirs().state_dict()
    # Steps of 0.5 from -2: the numbers 0 to 15 twice, all of which float16 can hold.
    weights["model.layers.0.mlp.up_proj.weight"][5, 32:64] = torch.arange(32) % 16 * 0.5 - 2
    read = read_gguf(write(tmp_path / "model.gguf", weights, Kind.Q4_1)).state_dict
    row = read["model.layers.0.mlp.up_proj.weight"][5, 32:64]
    assert row[:5].tolist() == [-2, -1.5, -1, -0.5, 0]
    assert row[[15, 16, 31]].tolist() == [5.5, -2, 5.5]


def test_weights_in_bfloat16(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", theirs().state_dict())
    exact, rounded = read_gguf(path), read_gguf(path, torch.bfloat16)
    for key, weight in exact.state_dict.items():
        assert torch.equal(rounded.state_dict[key], weight.bfloat16())
    assert load_llama(rounded.state_dict, rounded.config)(torch.tensor([[3]])).dtype == torch.bfloat16


def test_the_tokenizer_of_a_file(tmp_path: Path) -> None:
    tokenizer = read_gguf(write(tmp_path / "model.gguf", theirs().state_dict())).tokenizer
    assert tokenizer.encode("the t12<|end|>").tokens == ["the", "Ġ", "t", "1", "2", "<|end|>"]
    text = "주의 注意力 🙂\n\tthe  42"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.decode([0, TOKENS.index("the")]) == "the"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "gemma3"}, "general.architecture must be 'llama', got 'gemma3'"),
        ({"kind": Kind.Q5_0}, "must be stored as F32, F16, Q4_0, Q4_1, Q8_0, got Q5_0"),
        ({"pre": "llama-bpe"}, "tokenizer.ggml.pre must be 'smollm', got 'llama-bpe'"),
        ({"change": lambda writer: writer.add_expert_count(8)}, "got also llama.expert_count"),
        (
            {"change": lambda writer: writer.add_rope_dimension_count(8)},
            "llama.rope.dimension_count must be the head's 16, got 8",
        ),
        (
            {"change": lambda writer: writer.kv_data[0].pop("llama.feed_forward_length")},
            "the settings must have llama.feed_forward_length, found none",
        ),
        (
            {"change": lambda writer: setattr(writer.kv_data[0]["llama.block_count"], "value", 5)},
            "llama.block_count must be that of the tensors, 2, got 5",
        ),
        (
            {"change": lambda writer: writer.kv_data[0]["tokenizer.ggml.token_type"].value.pop()},
            "zip() argument 2 is shorter than argument 1",
        ),
        *(
            (
                {"change": lambda writer, name=name: writer.add_tensor(name, np.ones(8, np.float32))},
                f"the tensors must be Llama's, as blk.0.attn_q.weight, got also {name}",
            )
            for name in ("rope_freqs.weight", "output", "blk.attn_q.weight", "enc.0.attn_q.weight")
        ),
        ({"lacks": {"tokens"}}, "the tokenizer must have tokenizer.ggml.tokens, found none"),
        (
            {"lacks": {"merges", "token_type"}},
            "the tokenizer must have tokenizer.ggml.token_type, tokenizer.ggml.merges, found none",
        ),
    ],
)
def test_what_is_not_built_is_refused_by_name(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "model.gguf", theirs().state_dict(), **options)
    with pytest.raises(ValueError) as raised:
        read_gguf(path)
    assert message in str(raised.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"\bpath must be a GGUF file, got .*absent"):
        read_gguf(tmp_path / "absent")
    (tmp_path / "text").write_bytes(b"A text that is longer than the header of such a file.")
    with pytest.raises(ValueError, match=r"\bmust be a GGUF file: GGUF magic invalid"):
        read_gguf(tmp_path / "text")
    whole = write(tmp_path / "model.gguf", theirs().state_dict()).read_bytes()
    for length in (5, 30, 2000, len(whole) - 1):
        (tmp_path / "half").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"\bmust be a GGUF file"):
            read_gguf(tmp_path / "half")
    with pytest.raises(ValueError, match=r"\bmust be torch\.float32 or torch\.bfloat16"):
        read_gguf(tmp_path / "model.gguf", torch.float16)
