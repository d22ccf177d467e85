"""The cache of a model, by layers, heads and length, as four kinds of attention would hold it."""

from collections.abc import Mapping, Sequence

from polyhead.checked import Size, checked
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable


@checked
def cache(models: Mapping[str, Sequence[Size]]) -> Explorable:
    """The bars of one token's cache for the first model, in which the reader moves each size.

    Numbers have 16 bits. MLA's latent vector has 4.5 head_dim numbers, as in DeepSeek-V2 and V3.

    Args:
        models: By name, the layers, query heads, heads of keys and values, and head_dim.

    >>> cache({"Llama 3 8B": [32, 32, 8, 128]}).data["models"]
    {'Llama 3 8B': [32, 32, 8, 128]}
    """
    layers, heads, kv_heads, head_dim = next(iter(models.values()))
    per_token = {"MHA": 2 * heads, "GQA": 2 * kv_heads, "MQA": 2, "MLA": 4.5}
    bars = {kind: 2 * layers * head_dim * size / 1024 for kind, size in per_token.items()}
    sizes = {name: list(each) for name, each in models.items()}
    return Explorable("cache", plots.cache_bars(bars), models=sizes, first=next(iter(models)))
