"""GGUF, the file format of llama.cpp: weights, mostly of four or eight bits, configuration and tokenizer."""

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from polyhead.checked import checked

if TYPE_CHECKING:
    from gguf import GGUFReader
    from tokenizers import Tokenizer

# llama.cpp's names of the tensors, and those of transformers.
_TENSORS = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_SIZES = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
# Settings that belong to no computation here; every other one of the architecture is refused.
_UNUSED = {"vocab_size", "rope.dimension_count", "attention.key_length", "attention.value_length"}
_QUANTIZATIONS = ("F32", "F16", "Q4_0", "Q4_1", "Q8_0")
_SPECIAL = 3  # the type of a token such as <|im_start|>, which no text can become


class GGUF(NamedTuple):
    """What a file holds, in the form of transformers.

    Attributes:
        state_dict: The weights by transformers' names, with its order of rows.
        config: The contents of its config.json.
        tokenizer: The tokenizer of the package `tokenizers`.

    >>> from polyhead.pretrained.smollm2 import smollm2_path
    >>> len(read_gguf(smollm2_path()).state_dict)
    272
    """

    state_dict: dict[str, Tensor]
    config: dict[str, Any]
    tokenizer: "Tokenizer"


@checked
def read_gguf(path: str | os.PathLike[str], dtype: torch.dtype = torch.float32) -> GGUF:
    """Read a model of Llama's architecture from a GGUF file: `load_llama(state_dict, config)` loads it.

    The file is memory-mapped, and one tensor after the other is dequantised: F32, F16, and blocks of 32
    weights w = d · q in Q4_0 (q from -8 to 7) and Q8_0 (from -128 to 127), w = d · q + m in Q4_1 (from 0 to
    15). Rows of queries and keys, which llama.cpp stores with rotary pairs side by side, get back their order
    in halves.

    Args:
        path: The file.
        dtype: The dtype of the weights, torch.float32 or torch.bfloat16.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is no GGUF file, or has an architecture, a quantisation, a setting, a tensor or a
            tokenizer that is not built here; the message names it.

    Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

    >>> from polyhead.pretrained.smollm2 import smollm2_path
    >>> weights, config, tokenizer = read_gguf(smollm2_path())
    >>> weights["model.layers.0.self_attn.k_proj.weight"].shape, config["num_key_value_heads"]
    (torch.Size([192, 576]), 3)
    >>> tokenizer.encode("Attention!").tokens
    ['Attention', '!']
    """
    if dtype not in (torch.float32, torch.bfloat16):
        raise ValueError(f"dtype must be torch.float32 or torch.bfloat16, got {dtype}")
    reader = _open(Path(path))
    try:
        values = {name: field.contents() for name, field in reader.fields.items()}
        config = _config(values, {tensor.name for tensor in reader.tensors})
        tokenizer = _tokenizer(values)
        config["vocab_size"] = tokenizer.get_vocab_size()
        return GGUF(dict(_weights(reader, config, dtype)), config, tokenizer)
    except Exception as error:  # numbers that do not fit together fail in any way
        raise ValueError(f"{path}: {error}") from error


def _open(path: Path) -> "GGUFReader":
    from gguf import GGUFReader

    class Reader(GGUFReader):
        def __setattr__(self, name: str, value: Any) -> None:
            # The reader cuts 150,000 slices; those of a plain array take a third of the time of a memmap's.
            super().__setattr__(name, value.__array__() if name == "data" else value)

        def _get(self, offset: Any, dtype: Any, count: Any = 1, override_order: Any = None) -> Any:
            found = super()._get(offset, dtype, count, override_order)
            if len(found) < count:  # it would read on beyond the end, as often as the file says
                raise ValueError(f"it ends at byte {len(self.data)}")
            return found

    if not path.is_file():
        raise FileNotFoundError(f"path must be a GGUF file, got {path}")
    try:
        with warnings.catch_warnings():
            # An offset beyond 2**64 would be in the file again.
            warnings.simplefilter("error", RuntimeWarning)
            return Reader(path)
    except (ValueError, KeyError, IndexError, OverflowError, RecursionError, RuntimeWarning) as error:
        raise ValueError(f"{path} must be a GGUF file: {error}") from error


def _config(values: dict[str, Any], tensors: set[str]) -> dict[str, Any]:
    """The configuration in the form of transformers; what is not built raises ValueError."""
    architecture = values.get("general.architecture")
    if architecture != "llama":
        raise ValueError(f"general.architecture must be 'llama', got {architecture!r}")
    own = {name.removeprefix("llama."): value for name, value in values.items() if name.startswith("llama.")}
    if unknown := own.keys() - _UNUSED - set(_SIZES.values()):
        raise ValueError(f"the settings must be Llama's, got also llama.{', llama.'.join(sorted(unknown))}")
    if missing := set(_SIZES.values()) - own.keys() - {"attention.head_count_kv", "rope.freq_base"}:
        raise ValueError(f"the settings must have llama.{', llama.'.join(sorted(missing))}, found none")
    config = {ours: own[theirs] for ours, theirs in _SIZES.items() if theirs in own}
    layers = len({name.split(".")[1] for name in tensors if name.startswith("blk.")})
    if config["num_hidden_layers"] > layers:  # so many would be made before weights are missed
        raise ValueError(f"llama.block_count must be that of the tensors, {layers}, got {own['block_count']}")
    head_dim = config["hidden_size"] // config["num_attention_heads"]
    config["head_dim"] = own.get("attention.key_length", head_dim)
    for name in ("rope.dimension_count", "attention.value_length"):
        if own.get(name, config["head_dim"]) != config["head_dim"]:
            raise ValueError(f"llama.{name} must be the head's {config['head_dim']}, got {own[name]}")
    tied = "output.weight" not in tensors
    return {"model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": tied, **config}


def _weights(
    reader: "GGUFReader", config: dict[str, Any], dtype: torch.dtype
) -> Iterator[tuple[str, Tensor]]:
    """Each tensor by transformers' name, dequantised, with transformers' order of rows."""
    from gguf.quants import dequantize

    heads = {"attn_q": config["num_attention_heads"]}
    heads["attn_k"] = config.get("num_key_value_heads", heads["attn_q"])
    for tensor in reader.tensors:
        parts = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", tensor.name)
        if not parts or parts[2] not in _TENSORS:
            raise ValueError(f"the tensors must be Llama's, as blk.0.attn_q.weight, got also {tensor.name}")
        layer, name, kind = parts.groups()
        if tensor.tensor_type.name not in _QUANTIZATIONS:
            expected = ", ".join(_QUANTIZATIONS)
            raise ValueError(f"{tensor.name} must be stored as {expected}, got {tensor.tensor_type.name}")
        numbers = dequantize(tensor.data, tensor.tensor_type)
        if not numbers.flags.writeable:  # F32 is in the file as it is
            numbers = numbers.copy()
        weight = torch.from_numpy(numbers).to(dtype)
        if name in heads:  # (head, pair, first or second of it, …) to (head, first or second, pair, …)
            weight = weight.view(heads[name], -1, 2, *weight.shape[1:]).transpose(1, 2).flatten(0, 2)
        at = f"model.layers.{layer}." if layer else ""
        yield f"{at}{_TENSORS[name]}.{kind}", weight.contiguous()


def _tokenizer(values: dict[str, Any]) -> "Tokenizer":
    """The byte-pair encoding of the file, which splits the text as llama.cpp's type "smollm" does."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    for name, expected in {"model": "gpt2", "pre": "smollm"}.items():
        key = f"tokenizer.ggml.{name}"
        if (found := values.get(key)) != expected:
            raise ValueError(f"{key} must be {expected!r}, got {found!r}")
    tables = [f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges")]
    if missing := [key for key in tables if key not in values]:
        raise ValueError(f"the tokenizer must have {', '.join(missing)}, found none")
    tokens, kinds, merges = (values[key] for key in tables)
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _SPECIAL]
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return tokenizer
