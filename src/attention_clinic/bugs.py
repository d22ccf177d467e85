"""Which bugs the clinic knows by name: the section that teaches each, and where it happened in public.

The explanation of a bug is the label `check.<name>` in terms.yml.
"""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """A notebook's cell, and a public thread."""

    section: str | None
    thread: str | None = None


def _at(stem: str, **cells: str) -> dict[str, Bug]:
    """Bugs that one chapter teaches: name="cell", or name="cell owner/repository#number"."""
    bugs = {}
    for name, cell in cells.items():
        cell, _, thread = cell.partition(" ")
        repository, _, number = thread.partition("#")
        link = f"https://github.com/{repository}/issues/{number}" if thread else None
        bugs[name] = Bug(f"{stem}.ipynb#{cell}", link)
    return bugs


BUGS: dict[str, Bug] = {
    **_at(
        "01-single-head",
        unscaled="step-scale",
        no_root="step-scale",
        scale_multiplied="step-scale",
        wrong_axis="step-softmax",
        no_softmax="step-softmax",
        softmax_twice="step-softmax",
        queries_keys_swapped="three-roles",
        values_are_keys="three-roles",
    ),
    **_at(
        "02-masks",
        mask_ignored="by-hand",
        mask_inverted="polarity rasbt/LLMs-from-scratch#1061",
        mask_after="not-after",
        mask_added="boolean-additive pytorch/pytorch#21518",
        mask_zero="minus-infinity",
        mask_nan="blind-rows pytorch/pytorch#41508",
        mask_uniform="blind-rows pytorch/pytorch#103749",
        mask_nan_gradient="blind-rows pytorch/pytorch#103749",
        nan_leak="nan-leak pytorch/pytorch#101967",
        causal_strict="causal",
        causal_ahead="causal",
        causal_upper="causal",
        causal_open="causal",
        causal_floats="boolean-additive pytorch/pytorch#21518",
        causal_additive="boolean-additive",
        causal_inverted="polarity rasbt/LLMs-from-scratch#1061",
        padding_inverted="padding",
        padding_wrong_side="padding",
        padding_ignored="padding",
        padding_replaces_causal="both huggingface/transformers#48748",
        dropout_in_eval="dropout pytorch/pytorch#124464",
        weights_after_dropout="dropout pytorch/pytorch#27968",
    ),
    **_at(
        "03-many-heads",
        no_output_projection="output-projection",
        heads_summed="sum-of-heads",
        heads_averaged="sum-of-heads",
        concat_axis="last-dimension",
        shared_projection="list-of-heads",
    ),
    **_at(
        "04-heads-in-parallel",
        view="why-not-view harvardnlp/annotated-transformer#17",
        view_back="transpose-output",
        heads_before_batch="step-permute",
        entries_before_heads="three-steps",
        across_heads="step-permute",
        one_head="what-is-split",
        model_root="step-split karpathy/ng-video-lecture#6",
        mask_tiled="repeat-is-silent",
        softcap_missing="fused-form sgl-project/sglang#33915",
        sinks_missing="fused-form vllm-project/vllm#52156",
        batch_first="all-seven",
    ),
    **_at(
        "05-positions",
        waves_swapped="sinusoidal",
        waves_halves="sinusoidal",
        waves_speed="sinusoidal",
        waves_from_one="sinusoidal",
        rotary_sign="rotary",
        rotary_layout="layouts huggingface/transformers#25199",
        rotary_pairs_joined="layouts",
        rotary_speed="rotary",
        rotary_first_pair="rotary",
        rotary_from_one="rotary",
        rotary_ignored="rotary",
        rotary_cosine_only="rotary",
        rotary_added="rotary-against-added",
        rotary_unturned="rotary",
        rotary_queries_only="rotary-where",
        positions_ignore_padding="padding-positions TransformerLensOrg/TransformerLens#1609",
        alibi_powers="relative-kinds ml-explore/mlx#343",
        alibi_sign="relative",
    ),
    **_at(
        "06-encoder",
        norm_first="pre-post harvardnlp/annotated-transformer#1",
        no_residual="residual",
        no_norm="layer-norm",
        norm_inside="pre-post",
        residual_from_start="residual",
        norms_swapped="layer",
    ),
    **_at(
        "07-decoder",
        sees_ahead="test-causality",
        documents_future="test-causality",
        causal_train_only="d2l-leak",
        causal_eval_only="d2l-leak",
        query_bias_missing="gpt2-load sbryngelson/ANEForge#253",
    ),
    **_at(
        "09-generation",
        cache_upper_left="cache-mask pytorch/pytorch#108108",
        cache_strict="cache-mask",
        cache_ahead="cache-mask",
        cache_open="cache-mask",
        cache_hidden="cache-mask",
        cache_order="cache-mask",
        cache_positions="kv-cache",
        cache_trimmed="exercise-window rasbt/LLMs-from-scratch#1013",
        documents_leak="padding huggingface/trl#1230",
    ),
    **_at(
        "12-modern-decoders",
        rms_mean="rms-norm",
        rms_eps="rms-norm",
        rms_axis="rms-norm",
        rms_no_weight="rms-norm",
        rms_offset="rms-norm",
        kv_tiled="gqa onnx/onnx#7274",
        window_one_more="window huggingface/transformers#29623",
        window_one_less="window",
        window_both_ways="window",
        window_ignored="window",
    ),
    **_at(
        "13-bug-clinic",
        batch_mixed="batch-law",
        weights_change_output="options-law huggingface/transformers#30652",
        positions_low_precision="shift-law huggingface/transformers#29285",
    ),
}

SAME = {"scaled_twice": "no_root"}
"""Names that mean one thing: divided by √d twice is divided by d."""
