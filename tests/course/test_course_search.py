"""What readers of each language would type finds its place: the first or the second result."""

from __future__ import annotations

import pytest

from tests.browser import Browser, visit
from tests.searching import search

# Query -> the page or the section that must come first or second.
SAME = {
    "transpose_qkv": "04-heads-in-parallel#three-steps",
    "√d_k": "01-single-head#why-scale",
    "nn.ModuleList": "03-many-heads#module-list",
    "RoPE": "05-positions#rotary",
    "GPT-2": "07-decoder#gpt2",
    "NaN": "13-bug-clinic#padding-law",
    "ALiBi": "05-positions",
    "is_causal": "09-generation#cache-mask",
    "cross-attention": "08-cross-attention",
}
QUERIES = {
    "en": {
        **SAME,
        "softmax": "01-single-head#step-softmax",
        "mask": "02-masks",
        "masked": "02-masks",
        "causal mask": "02-masks#causal",
        "padding": "02-masks#padding",
        "temperature": "01-single-head#temperature",
        "beam search": "09-generation#beam",
        "KV cache": "09-generation#kv-cache",
        "layer normalization": "06-encoder#layer-norm",
        "residual": "06-encoder#residual",
        "sinusoidal": "05-positions#sinusoidal",
        "perplexity": "07-decoder#perplexity",
        "greedy": "09-generation#greedy",
        "teacher forcing": "07-decoder",
        "multi-head": "04-heads-in-parallel#fifteen-lines",
        "why divide by √d_k": "01-single-head#why-scale",
        "glossary": "notation#glossary",
        "why is a causal mask needed at inference": "questions#causal-at-inference",
        "why key query value": "questions#why-query",
        "why cache K and V not Q": "questions#cache-without-queries",
        "permutation equivariant": "questions#invariant-or-equivariant",
        "embed_dim divisible by num_heads": "questions#must-divide",
        "batch norm": "questions#layer-or-batch-norm",
        "concatenate": "questions#add-or-concatenate",
    },
    "zh-TW": {
        **SAME,
        "cross-attention": "questions#cross-attention-qkv",
        "softmax": "01-single-head#step-softmax",
        "注意力": "01-single-head",
        "多頭": "03-many-heads",
        "多頭注意力": "03-many-heads",
        "遮罩": "02-masks",
        "因果遮罩": "02-masks#causal",
        "縮放": "01-single-head#step-scale",
        "位置編碼": "05-positions#sinusoidal",
        "旋轉位置編碼": "05-positions#rotary",
        "交叉注意力": "08-cross-attention",
        "集束搜尋": "09-generation#beam",
        "快取": "09-generation",
        "殘差": "06-encoder#residual",
        "層正規化": "06-encoder#layer-norm",
        "溫度": "01-single-head#temperature",
        "困惑度": "07-decoder#perplexity",
        "貪婪解碼": "09-generation#greedy",
        "轉置": "04-heads-in-parallel#why-not-view",
        "術語表": "notation#glossary",
        "permutation equivariant": "questions#invariant-or-equivariant",
        "BatchNorm": "questions#layer-or-batch-norm",
    },
    "zh-CN": {
        **SAME,
        "cross-attention": "questions#cross-attention-qkv",
        "softmax": "01-single-head#step-softmax",
        "注意力": "01-single-head",
        "多头": "03-many-heads",
        "多头注意力": "03-many-heads",
        "掩码": "02-masks",
        "因果掩码": "02-masks#causal",
        "缩放": "01-single-head#step-scale",
        "位置编码": "05-positions",
        "旋转位置编码": "05-positions#rotary",
        "交叉注意力": "08-cross-attention",
        "束搜索": "09-generation#beam",
        "缓存": "09-generation",
        "残差": "06-encoder#residual",
        "层归一化": "06-encoder#layer-norm",
        "温度": "01-single-head#temperature",
        "困惑度": "07-decoder#perplexity",
        "贪心解码": "09-generation#greedy",
        "转置": "04-heads-in-parallel#why-not-view",
        "术语表": "notation#glossary",
        "Q Cache": "questions#cache-without-queries",
        "置换等变": "questions#invariant-or-equivariant",
        "BatchNorm": "questions#layer-or-batch-norm",
    },
    "ko": {
        **SAME,
        "어텐션": "01-single-head",
        "어텐션을": "01-single-head",
        "마스크를": "A-masks",
        "인과 마스크의": "02-masks#causal",
        "스케일링": "01-single-head#step-scale",
        "위치 인코딩": "questions#learned-or-sinusoidal",
        "회전 위치 임베딩": "05-positions#rotary",
        "크로스 어텐션": "08-cross-attention",
        "멀티헤드": "04-heads-in-parallel#fifteen-lines",
        "빔 서치": "09-generation#beam",
        "빔서치": "09-generation#beam",
        "캐시": "09-generation",
        "잔차": "06-encoder#residual",
        "층 정규화": "06-encoder#layer-norm",
        "온도": "01-single-head#temperature",
        "소프트맥스": "01-single-head#step-softmax",
        "퍼플렉서티": "07-decoder#perplexity",
        "탐욕적 디코딩": "09-generation#beam",
        "용어집": "notation#glossary",
        "순열 등변": "questions#invariant-or-equivariant",
        "BatchNorm": "questions#layer-or-batch-norm",
        "Q는 없나요": "questions#cache-without-queries",
    },
}

# No section has every word of these: the place must be among the first four.
SENTENCES = {
    "en": {
        "batch norm vs layer norm": "06-encoder#layer-norm",
        "why concatenate positions": "questions#add-or-concatenate",
        "rope interleaved": "questions#rope-layout",
        "why is my attention output all nan": "questions#why-nan",
    },
    "zh-TW": {
        "因果遮罩 推論": "questions#causal-at-inference",
        "為什麼除以根號 dk": "questions#why-root",
        "層正規化 批次正規化": "questions#layer-or-batch-norm",
    },
    "zh-CN": {
        "为什么要除以根号dk": "questions#why-root",
        "位置编码 为什么相加": "questions#add-or-concatenate",
        "推理 因果掩码": "questions#causal-at-inference",
        "层归一化 批归一化": "questions#layer-or-batch-norm",
    },
    "ko": {
        "왜 루트 dk로 나누나": "questions#why-root",
        "위치 인코딩 더하기": "questions#add-or-concatenate",
        "층 정규화 배치 정규화": "questions#layer-or-batch-norm",
        "왜 마스크가 추론에서 필요한가": "questions#causal-at-inference",
    },
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_finds_its_place_though_no_section_has_all_its_words(
    window: Browser, address: str, code: str
) -> None:
    with visit(window, address) as seen:
        seen.page.goto(f"/book/{code}/index.html")
        for query, wanted in SENTENCES[code].items():
            found = [each.address for each in search(seen.page, query)[:4]]
            assert f"/book/{code}/{wanted.replace('#', '.html#')}" in found, (query, found)
        assert seen.problems() == []


@pytest.mark.parametrize("code", QUERIES)
def test_queries_find_their_place(window: Browser, address: str, code: str) -> None:
    missed = []
    with visit(window, address) as seen:
        seen.page.goto(f"/book/{code}/index.html")
        for query, wanted in QUERIES[code].items():
            found = [each.address.removeprefix(f"/book/{code}/") for each in search(seen.page, query)[:2]]
            places = [each.replace(".html", "") for each in found]
            if not any(place == wanted or place.split("#")[0] == wanted for place in places):
                missed.append(f"{query}: expected {wanted}, found {places}")
        assert seen.problems() == []
    assert missed == [], "\n" + "\n".join(missed)


def test_the_first_page_searches_all_languages(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.goto("/book/index.html")
        for query, code in [
            ("因果遮罩", "zh-TW"),
            ("掩码", "zh-CN"),
            ("빔 서치", "ko"),
            ("beam search", "en"),
        ]:
            assert search(seen.page, query)[0].language == code, query
        assert seen.problems() == []
