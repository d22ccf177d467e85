"""transformers, offline and quiet: its models, small and random, are what ours are held against."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

import torch
import transformers
from torch import Tensor, nn
from torch.testing import assert_close

from polyhead.pretrained import load_bart, load_bert, load_gpt2

transformers.logging.set_verbosity(transformers.logging.CRITICAL)

VOCAB, SIZE, POSITIONS = 97, 35, 23
BATCH, LENGTH, TARGET_LENGTH = 3, 11, 13
_numbers = torch.Generator().manual_seed(0)
# None of 0, 1, 2: some models give their padding's row no gradient.
IDS = torch.randint(3, VOCAB, (BATCH, LENGTH), generator=_numbers)
TARGET = torch.randint(3, VOCAB, (BATCH, TARGET_LENGTH), generator=_numbers)
SEGMENTS = torch.randint(0, 3, (BATCH, LENGTH), generator=_numbers)
MASK = torch.arange(LENGTH) < torch.tensor([[11], [5], [1]])
TARGET_MASK = torch.arange(TARGET_LENGTH) < torch.tensor([[7], [13], [2]])


class Family(NamedTuple):
    """One kind of model in transformers, how to run it on the padded batch above, and our loader."""

    config: type
    settings: dict[str, Any]
    model: type
    prefix: str
    activation: str
    load: Callable[..., nn.Module]
    theirs: Callable[[nn.Module], Any]
    ours: Callable[[nn.Module], Tensor]
    output: Callable[[Any], Tensor]  # what their model gives, where no padding is
    tasks: tuple[type, ...]

    def make(self, dtype: torch.dtype = torch.float64, model: type | None = None, **changes) -> nn.Module:
        """Their model; every parameter is random, those too that begin at 0 or 1."""
        config = self.config(**self.settings | changes, attn_implementation="eager")
        made = (model or self.model)(config).to(dtype).eval()
        with torch.no_grad():
            for parameter in made.parameters():
                parameter += torch.randn_like(parameter) * (0.3 if parameter.ndim == 1 else 0.15)
        return made


FAMILIES = {
    "bert": Family(
        transformers.BertConfig,
        {
            "vocab_size": VOCAB, "hidden_size": SIZE, "num_hidden_layers": 2, "num_attention_heads": 5,
            "intermediate_size": 41, "max_position_embeddings": POSITIONS, "type_vocab_size": 3,
        },
        transformers.BertModel,
        "bert.",
        "hidden_act",
        load_bert,
        lambda model: model(IDS, attention_mask=MASK.long(), token_type_ids=SEGMENTS, output_attentions=True),
        lambda model: model(IDS, MASK, SEGMENTS)[MASK],
        lambda given: given.last_hidden_state[MASK],
        (
            transformers.BertForMaskedLM,
            transformers.BertForPreTraining,
            transformers.BertForQuestionAnswering,
            transformers.BertForSequenceClassification,
        ),
    ),
    "gpt2": Family(
        transformers.GPT2Config,
        {
            "vocab_size": VOCAB, "n_embd": SIZE, "n_layer": 2, "n_head": 5, "n_positions": POSITIONS,
            "n_inner": 41,
        },
        transformers.GPT2LMHeadModel,
        "transformer.",
        "activation_function",
        load_gpt2,
        lambda model: model(IDS, attention_mask=MASK.long(), output_attentions=True),
        lambda model: model(IDS, MASK)[MASK],
        lambda given: given.logits[MASK],
        (),
    ),
    "bart": Family(
        transformers.BartConfig,
        {
            "vocab_size": VOCAB, "d_model": SIZE, "encoder_layers": 2, "decoder_layers": 3,
            "encoder_attention_heads": 5, "decoder_attention_heads": 7, "encoder_ffn_dim": 41,
            "decoder_ffn_dim": 43, "max_position_embeddings": POSITIONS,
        },
        transformers.BartModel,
        "model.",
        "activation_function",
        load_bart,
        lambda model: model(
            input_ids=IDS,
            attention_mask=MASK.long(),
            decoder_input_ids=TARGET,
            decoder_attention_mask=TARGET_MASK.long(),
            output_attentions=True,
        ),
        lambda model: model(IDS, TARGET, MASK, TARGET_MASK)[TARGET_MASK],
        lambda given: given.last_hidden_state[TARGET_MASK],
        (
            transformers.BartForConditionalGeneration,
            transformers.BartForQuestionAnswering,
            transformers.BartForSequenceClassification,
        ),
    ),
}  # fmt: skip


@functools.cache
def stored(kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A state dict without prefix and its configuration, in float64; to be copied, never changed."""
    family = FAMILIES[kind]
    model = family.make()
    return dict(model.base_model.state_dict()), model.config.to_dict()


EXACT = {"rtol": 1e-10, "atol": 1e-10}


def loaded(family, model):
    return family.load(model.state_dict(), model.config)


def assert_same_model(family, theirs, ours=None, **tolerance):
    """The same outputs on a padded batch, where no padding is."""
    expected = family.output(family.theirs(theirs))
    assert_close(family.ours(ours or loaded(family, theirs)), expected, **tolerance or EXACT)
