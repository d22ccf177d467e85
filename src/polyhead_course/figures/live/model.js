// The date translator: encoder, decoder with a cache of keys and values, greedy decoding, in plain loops.
// A vector is an array of numbers, a layer's part is named as in the library.

import { softmax } from "./parts.js";

const EPS = 1e-5;

const dot = (x, weight, start) => {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * weight[start + i];
  return sum;
};

const plus = (x, y) => x.map((each, i) => each + y[i]);

// The rows from `start` to `end` of W x + b.
const linear = (x, { weight, bias }, start = 0, end = bias.length) => {
  const result = new Float64Array(end - start);
  let row = start;
  // Four rows at once: no sum waits for the one before.
  for (; row + 3 < end; row += 4) {
    const [size, at] = [x.length, row * x.length];
    let a = 0, b = 0, c = 0, d = 0;
    for (let i = 0; i < size; i++) {
      const each = x[i];
      a += each * weight[at + i];
      b += each * weight[at + size + i];
      c += each * weight[at + 2 * size + i];
      d += each * weight[at + 3 * size + i];
    }
    [a, b, c, d].forEach((sum, next) => { result[row + next - start] = bias[row + next] + sum; });
  }
  for (; row < end; row++) result[row - start] = bias[row] + dot(x, weight, row * x.length);
  return result;
};

const normalised = (x, { weight, bias }) => {
  const mean = x.reduce((sum, each) => sum + each, 0) / x.length;
  const variance = x.reduce((sum, each) => sum + (each - mean) ** 2, 0) / x.length;
  const root = Math.sqrt(variance + EPS);
  return x.map((each, i) => ((each - mean) / root) * weight[i] + bias[i]);
};

// What one token's query makes of all keys and values; a head that is off counts as 0 before W_O.
const attend = (query, { keys, values }, gates) => {
  const dim = query.length / gates.length;
  const output = new Float64Array(query.length);
  const weights = gates.map((gate, head) => {
    const [start, end] = [head * dim, (head + 1) * dim];
    const own = query.subarray(start, end);
    const row = softmax(keys.map((key) => dot(own, key, start) / Math.sqrt(dim)));
    row.forEach((weight, place) => {
      for (let i = start; i < end; i++) output[i] += gate * weight * values[place][i];
    });
    return row;
  });
  return { output, weights };
};

// What a file of safetensors holds: its tensors by name, and the facts of its header.
const unpacked = (buffer) => {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__: words, ...places } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const tensors = {};
  for (const [name, { data_offsets: [start, end] }] of Object.entries(places)) {
    tensors[name] = new Float32Array(buffer, 8 + length + start, (end - start) / 4);
  }
  return { tensors, facts: JSON.parse(words.facts) };
};

export const translator = (buffer, { heads, longest }) => {
  const { tensors, facts: { source_tokens: sources, target_tokens: targets } } = unpacked(buffer);
  const part = (name) => ({ weight: tensors[`${name}.weight`], bias: tensors[`${name}.bias`] });
  const attentionOf = (name) =>
    ({ input: part(`${name}.input_projection`), output: part(`${name}.output_projection`) });
  const layersOf = (side, kinds) => {
    const layers = [];
    while (`${side}.layers.${layers.length}.feed_forward.expand.weight` in tensors) {
      const layer = `${side}.layers.${layers.length}`;
      const made = { expand: part(`${layer}.feed_forward.expand`), contract: part(`${layer}.feed_forward.contract`) };
      const residuals = [...kinds, "feed_forward"].map((kind) => kind.replace(/^(self|cross)_attention$/, "$1"));
      made.norms = residuals.map((kind) => part(`${layer}.${kind}_residual.norm`));
      made.attentions = kinds.map((kind) => attentionOf(`${layer}.${kind}`));
      layers.push(made);
    }
    return layers;
  };
  const encoder = layersOf("encoder", ["attention"]);
  const decoder = layersOf("decoder", ["self_attention", "cross_attention"]);
  const size = part("encoder.norm").bias.length;

  // A token's row of the table times √size, and the waves of its position.
  const embedded = (table, number, position) => Float64Array.from({ length: size }, (_, i) => {
    const angle = position / 10000 ** ((i - (i % 2)) / size);
    return table[number * size + i] * Math.sqrt(size) + (i % 2 ? Math.cos(angle) : Math.sin(angle));
  });
  const fed = (x, { expand, contract, norms }) => {
    const hidden = linear(normalised(x, norms.at(-1)), expand);
    return plus(x, linear(hidden.map((each) => Math.max(each, 0)), contract));
  };
  const remember = (kept, x, { input }) => {
    kept.keys.push(linear(x, input, size, 2 * size));
    kept.values.push(linear(x, input, 2 * size, 3 * size));
  };
  const asked = (x, norm, attention, kept, gates) => {
    const query = linear(normalised(x, norm), attention.input, 0, size);
    const { output, weights } = attend(query, kept, gates);
    return { x: plus(x, linear(output, attention.output)), weights };
  };
  const empty = () => ({ keys: [], values: [] });

  // `gates` has a factor for each head of each attention, in the order of polyhead.heads.all_heads.
  const encode = (tokens, gates) => {
    let states = tokens.map((token, place) =>
      embedded(tensors["source_embedding.tokens.weight"], sources.indexOf(token), place));
    encoder.forEach((layer, number) => {
      const [kept, [attention], [norm]] = [empty(), layer.attentions, layer.norms];
      for (const x of states) remember(kept, normalised(x, norm), attention);
      states = states.map((x) => fed(asked(x, norm, attention, kept, gates[number]).x, layer));
    });
    return states.map((x) => normalised(x, part("encoder.norm")));
  };

  const logitsOf = (x) => {
    const [state, table] = [normalised(x, part("decoder.norm")), tensors["target_embedding.tokens.weight"]];
    return targets.map((_, token) => dot(state, table, token * size));
  };

  // The characters of the translation, and cross[layer][head][row], the weights of the source's tokens.
  const translate = (tokens, off = []) => {
    const gates = Array.from({ length: encoder.length + 2 * decoder.length }, (_, place) =>
      Array.from({ length: heads }, (_, head) => (off.includes(place * heads + head) ? 0 : 1)));
    const memory = encode(tokens, gates);
    const caches = decoder.map(({ attentions: [, cross] }) => {
      const fixed = empty();
      for (const x of memory) remember(fixed, x, cross);
      return { own: empty(), fixed };
    });
    const [start, end] = [targets.indexOf("<s>"), targets.indexOf("</s>")];
    const written = [];
    const cross = decoder.map(() => Array.from({ length: heads }, () => []));
    for (let token = start; written.length < longest;) {
      let x = embedded(tensors["target_embedding.tokens.weight"], token, written.length);
      const rows = decoder.map((layer, number) => {
        const [[self, other], [first, second]] = [layer.attentions, layer.norms];
        const { own, fixed } = caches[number];
        const [ownGates, crossGates] = gates.slice(encoder.length + 2 * number);
        remember(own, normalised(x, first), self);
        x = asked(x, first, self, own, ownGates).x;
        const seen = asked(x, second, other, fixed, crossGates);
        x = fed(seen.x, layer);
        return seen.weights;
      });
      const logits = logitsOf(x);
      token = logits.indexOf(Math.max(...logits));
      if (token === end) break;
      written.push(targets[token]);
      rows.forEach((weights, number) => weights.forEach((row, head) => cross[number][head].push(row)));
    }
    return { tokens: written, cross };
  };
  return translate;
};

export const load = async (sizes) => {
  const response = await fetch(new URL("../../models/checkpoints/translator.safetensors", import.meta.url));
  if (!response.ok) throw new Error(`${response.status} ${response.url}`);
  return translator(await response.arrayBuffer(), sizes);
};
