"""Which laws the text models of the installed transformers keep: a table, one tiny random model a row.

A decoder must keep causality, padding, batch, cache (step and chunk) and its windows; an encoder padding and
batch. A remark on a violation is looked into by hand, and kept when the table is made again.
"""

from __future__ import annotations

import argparse
import copy
import csv
import inspect
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_clinic.adapter import DecoderAdapter, awakened
from attention_clinic.laws import FURTHER, LAWS, Law, padded
from experiments.command import run_command

TABLE = Path(__file__).with_suffix(".csv")
VOCAB = 40
SECONDS = 20.0  # a model
MOST = 30_000_000  # parameters
SMALL = 0.1  # a deviation that may be rounding is measured in float64 again
LAWS_OF = {
    "decoder": ("causality", "past", "left_pad", "batch", "step", "chunk", "windows", "train"),
    "encoder": ("hears", "right_pad", "batch", "train"),
}
LAW_NAMES = tuple(dict.fromkeys(law for laws in LAWS_OF.values() for law in laws))
COLUMNS = (
    "class",
    "model_type",
    "kind",
    "parameters",
    *LAW_NAMES,
    "positions",
    "remark",
    "transformers",
    "torch",
)

# Sizes by the names that configurations give them.
_SIZES = {
    32: "hidden_size d_model n_embd dim emb_dim embedding_size hidden_dim word_embed_proj_dim",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers "
    "num_decoder_layers num_key_value_heads num_kv_heads n_groups mamba_n_groups num_experts_per_tok "
    "moe_topk n_group topk_group expand mamba_expand mamba_d_conv",
    4: "num_attention_heads n_head n_heads encoder_attention_heads decoder_attention_heads num_experts "
    "num_local_experts n_routed_experts moe_num_experts num_heads qk_rope_head_dim mamba_n_heads rotary_dim",
    8: "head_dim kv_lora_rank q_lora_rank qk_nope_head_dim v_head_dim kv_channels d_kv sliding_window "
    "attention_window linear_key_head_dim linear_value_head_dim index_head_dim state_size mamba_d_state "
    "ssm_state_size mamba_head_dim",
    48: "intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim n_inner moe_intermediate_size "
    "shared_expert_intermediate_size ffn_hidden_size intermediate_size_mlp d_inner",
    256: "max_position_embeddings n_positions n_ctx max_seq_len max_target_positions max_source_positions "
    "max_sequence_length",
    VOCAB: "vocab_size vocab_size_per_layer_input",
    VOCAB - 1: "pad_token_id",
    VOCAB - 2: "bos_token_id eos_token_id decoder_start_token_id",
}  # fmt: skip
SIZES = {name: size for size, names in _SIZES.items() for name in names.split()}
# What some need instead; None leaves a size as the configuration has it.
OTHERWISE: tuple[dict[str, int | None], ...] = (
    {}, {"head_dim": 4}, {"head_dim": None}, {"qk_rope_head_dim": 8},
    {"num_hidden_layers": 4}, {"num_hidden_layers": 8},
    {"head_dim": None, "v_head_dim": None, "num_hidden_layers": None, "pad_token_id": None},
)  # fmt: skip


class Class(NamedTuple):
    """A model's class, the class of its configuration, and what it is."""

    model: Any
    config: Any
    kind: str


class Padded(DecoderAdapter):
    """A decoder whose padding has the token that its configuration has for it."""

    def __call__(self, token_ids: Tensor, cache: Any = None, **options: Any) -> Tensor:
        """The logits."""
        padding = getattr(self.decoder.config, "pad_token_id", None)  # type: ignore[attr-defined]
        if "mask" in options and padding is not None:
            token_ids = token_ids.where(options["mask"], padding)
        return super().__call__(token_ids, cache, **options)


@Law
def with_positions(decoder: DecoderAdapter, ids: Tensor) -> Any:
    """Padding on the left changes nothing if positions that begin at the first token are given."""
    mask = torch.arange(ids.shape[1]) > torch.arange(len(ids))[:, None]
    return padded(decoder, ids, mask, positions=(mask.long().cumsum(-1) - 1).clamp(min=0))


def classes() -> Iterator[Class]:
    """The classes for causal and for masked language models."""
    import transformers
    from transformers.models.auto import modeling_auto as auto

    for kind, mapping in (
        ("decoder", auto.MODEL_FOR_CAUSAL_LM_MAPPING), ("encoder", auto.MODEL_FOR_MASKED_LM_MAPPING),
    ):  # fmt: skip
        found: dict[str, Class] = {}
        models: list[Any] = [*mapping.values()]
        for model in models:
            for each in model if isinstance(model, tuple) else (model,):
                others = {"text_config", "vision_config", "audio_encoder"} & {*each.config_class.sub_configs}
                if not others and "ConditionalGeneration" not in each.__name__:
                    found[each.__name__] = Class(each, each.config_class, kind)
        yield from (found[name] for name in sorted(found))
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def tiny(each: Class) -> nn.Module:
    """A random model with two layers, or as many as it needs.

    Raises:
        ValueError: it is too large.
    """
    known = {*inspect.signature(each.config.__init__).parameters, *dir(each.config)}
    known |= {*getattr(each.config, "__annotations__", {}), *each.config.attribute_map}
    errors = list[Exception]()
    for other in OTHERWISE:
        sizes = {
            name: size for name, size in {**SIZES, **other}.items() if name in known and size is not None
        }
        if "is_decoder" in known and each.kind == "decoder":
            sizes["is_decoder"] = True
        try:
            with warnings.catch_warnings(action="ignore"):  # of parts with size 0
                model = _built(each, sizes)
            DecoderAdapter(model)(torch.tensor([[3, 1, 4]]))
            return model
        except Exception as error:
            errors.append(error)
    raise errors[0]


def _built(each: Class, sizes: dict[str, Any]) -> nn.Module:
    with torch.device("meta"):
        parameters = sum(p.numel() for p in each.model(each.config(**sizes)).parameters())
    if parameters > MOST:
        raise ValueError(f"{parameters} parameters with these sizes")
    torch.manual_seed(0)
    model: nn.Module = awakened(each.model(each.config(**sizes)).eval())
    return model


def examine(each: Class) -> dict[str, str]:
    """One row: how far each law is broken, 0 where it holds, empty where it does not apply."""
    row = {"class": each.model.__name__, "model_type": each.config.model_type, "kind": each.kind}
    try:
        model = tiny(each)
    except Exception as error:
        return {**row, "remark": f"not built: {_words(error)}"}
    row["parameters"] = str(sum(parameter.numel() for parameter in model.parameters()))
    decoder, precise = Padded(model), Padded(copy.deepcopy(model).double())
    wanted = {name: law for name, law in {**LAWS, **FURTHER}.items() if name in LAWS_OF[each.kind]}
    if each.kind == "decoder" and decoder.takes("mask") and decoder.takes("positions"):
        wanted["positions"] = with_positions
    for name, law in wanted.items():
        row[name] = _measured(law, decoder)
        if row[name] not in ("", "0", "inf") and row[name][0].isdigit() and float(row[name]) < SMALL:
            again = _measured(law, precise)
            row[name] = row[name] if again.startswith("raises") else again
    return row


def _measured(law: Any, decoder: DecoderAdapter) -> str:
    try:
        found = law(decoder, vocab_size=VOCAB - 3)
    except Exception as error:
        return f"raises {_words(error)}"
    return "" if found is None else f"{float(found):.2g}"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:90]


def limited(each: Class, seconds: float = SECONDS) -> dict[str, str]:
    """The row of `examine`, made in a process of its own that is ended when the time is over."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, each))
    process.start()
    sender.close()
    try:
        if receiver.poll(seconds):
            return receiver.recv()  # type: ignore[no-any-return]
        remark = f"not ended after {seconds:g} seconds"
    except EOFError:
        remark = "the process ended"
    finally:
        process.kill()
        process.join()
    return {
        "class": each.model.__name__,
        "model_type": each.config.model_type,
        "kind": each.kind,
        "remark": remark,
    }


def _send(sender: Connection, each: Class) -> None:
    torch.set_num_threads(1)
    sender.send(examine(each))


def violations(row: dict[str, str]) -> tuple[str, ...]:
    """The laws that a row breaks."""
    return tuple(law for law in LAW_NAMES if row.get(law) not in (None, "", "0"))


def read(path: Path = TABLE) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def measure(options: argparse.Namespace) -> None:
    """Make the table; a remark is kept where the same laws are broken as before."""
    import transformers

    path = options.folder / TABLE.name
    before = {(row["class"], row["kind"]): row for row in read(path)} if path.exists() else {}
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0]}
    began, wanted = time.monotonic(), [*classes()]
    with ThreadPoolExecutor(options.processes) as pool:
        rows = [*pool.map(limited, wanted)]
    for row in rows:
        old = before.get((row["class"], row["kind"]))
        if old is not None and violations(old) == violations(row) != ():
            row["remark"] = old["remark"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **versions} for row in rows)
    print(f"{len(rows)} models in {time.monotonic() - began:.0f} s")


def main(arguments: list[str] | None = None) -> None:
    """Run a command line."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    parser = argparse.ArgumentParser("python -m experiments.hugging_face_laws", description=__doc__)
    parser.add_argument("--folder", type=Path, default=TABLE.parent, help="where to write the table")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many models at a time")
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
