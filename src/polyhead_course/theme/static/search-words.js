// Splits texts and queries of every language in one way: into units, and these into the tokens that are counted.

// A Korean noun is found whatever particle follows it, a verb whatever ending.
export const PARTICLE = /(?<=[가-힣]{2})(?:으로는|에서는|에게서|이라는|으로|에서|에게|까지|부터|이란|처럼|마다|보다|은|는|이|가|을|를|의|에|와|과|로|도|란|만)$/;
export const ENDING = /(?<=[가-힣])(?:인가요|인가|한가요|한가|하나요|하나|되나요|되나|할까요|할까|나요|까요|을까|는지|하는|하기|하면|하고|하는법|합니다|습니다|해요|이에요|예요|이란|한다|된다)$/;
export const open = (syllable) => { // without its final consonant: 나눈, 나눌 → 나누
  const at = syllable.charCodeAt(0) - 0xac00;
  return String.fromCharCode(0xac00 + at - (at % 28));
};

export const stem = (word) => word.replace(/(?<=..)(?:ies|ied)$/, "y").replace(/(?<=..[^s])s$|(?<=(?:ss|x|ch|sh))es$/, "")
  .replace(/is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)/, "iz").replace(/(?<=iz)(?:ation|er|ing|ed|e)$/, "")
  .replace(/(?<=[a-z]{3})(?:ing|ed|er|ation|ion|ally|ly|ive|ity)$/, "")
  .replace(/(?<=[a-z]{2})([b-df-hj-km-rtv-z])\1$/, "$1").replace(/(?<=[a-z]{3})e$/, "");

// A text in units: parts of words in Latin letters, Chinese characters, Korean syllables, signs.
const UNIT = /[\p{Script=Latin}\p{Script=Greek}]+|\p{N}+|[√∞]|\p{Script=Han}|[가-힣]/gu;
const CAMEL = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const runs = new Map();
const read = (run) => {
  if (!runs.has(run)) {
    const kind = /^[가-힣]/.test(run) ? "hangul" : /^\p{Script=Han}/u.test(run) ? "han" : /^[√∞]/.test(run) ? "sign" : "latin";
    runs.set(run, (kind === "latin" ? run.split(CAMEL) : [run]).map((part) => {
      // With accents or without: requête, requete.
      const plain = (kind === "latin" ? part.normalize("NFKD").replace(/\p{M}+/gu, "") : part.normalize("NFKC")).toLowerCase();
      return { kind, plain, unit: kind === "latin" ? stem(plain) : part, length: part.length };
    }));
  }
  return runs.get(run);
};
export const units = (text) => {
  const found = [];
  let [end, before] = [-1, ""];
  for (const { 0: run, index } of text.matchAll(UNIT)) {
    let start = index;
    for (const { kind, plain, unit, length } of read(run)) {
      // Of one word: directly after the one before, or joined with it by a sign, as in `d_k` and `pre-norm`.
      const joined = kind === before && (start === end || (kind === "latin" && start === end + 1 && "_-‑–^".includes(text[end])));
      found.push({ plain, unit, kind, joined, start, end: start + length });
      start += length;
      [end, before] = [start, kind];
    }
  }
  return found;
};

export const plainly = (text) => units(text).map(({ unit }) => unit).join(" ");

// Groups of forms that mean the same: `#kv_cache` stands for each form of it.
export class Synonyms {
  constructor(groups) {
    this.forms = new Map();
    for (const [name, forms] of Object.entries(groups)) {
      for (const form of forms) {
        const parts = units(form);
        // One character is part of too many words.
        if (!parts.length || (parts.length === 1 && "han hangul".includes(parts[0].kind))) continue;
        const { unit } = parts[0];
        if (!this.forms.has(unit)) this.forms.set(unit, []);
        this.forms.get(unit).push({ key: parts.map((each) => each.unit), token: `#${name}` });
      }
    }
    for (const list of this.forms.values()) list.sort((one, other) => other.key.length - one.key.length);
  }

  // The forms that begin at a unit, the longest first. A short Korean one begins a word.
  at(found, start) {
    const { kind, joined, unit } = found[start];
    return this.forms.get(unit)?.filter(({ key }) => (kind !== "hangul" || !joined || key.length > 2)
      && key.every((each, step) => found[start + step]?.unit === each)) ?? [];
  }
}

// Calls back with each token of a text, and the units it stands for: words and what is joined of them, pairs of characters.
export const tokens = (found, synonyms, give) => {
  found.forEach(({ unit, plain, kind, joined }, at) => {
    const next = found[at + 1];
    for (const { key, token } of synonyms?.at(found, at) ?? []) give(token, at, at + key.length);
    if (kind !== "hangul") give(unit, at, at + 1);
    else if (!joined) give(`^${unit}`, at, at + 1);
    if (!next?.joined) return;
    if (kind === "han") give(unit + next.unit, at, at + 2);
    else if (kind === "hangul") give(unit + open(next.unit), at, at + 2);
    else {
      let whole = plain;
      for (let step = at + 1; found[step]?.joined; step += 1) {
        whole += found[step].plain;
        if (step === at + 1 || (!joined && !found[step + 1]?.joined)) give(stem(whole), at, step + 1);
      }
    }
  });
};

// Whether one word becomes the other by few changes: a letter more, less or another (Levenshtein), or two swapped.
export const near = (one, other, most) => {
  if (Math.abs(one.length - other.length) > most) return false;
  let [before, row] = [[], [...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[other.length] <= most;
};

const CODE = 0.3; // what an excerpt of code is worth

// The part of a section's text that has most of what is asked, as [text, whether it is asked] in turn.
export const excerpt = (text, worth, synonyms, size) => {
  const prose = text.includes("\n") ? text.indexOf("\n") : text.length; // then comes the code
  const found = units(text);
  const hits = [];
  tokens(found, synonyms, (token, from, to) => {
    if (worth.has(token) && !/^(?:\^|\p{Script=Han}$)/u.test(token)) hits.push({ token, start: found[from].start, end: found[to - 1].end });
  });
  let [first, most] = [0, 0];
  for (const [at, { start }] of hits.entries()) {
    const inside = new Set();
    for (let next = at; hits[next]?.end <= start + size; next += 1) inside.add(hits[next].token);
    const sum = [...inside].reduce((all, token) => all + worth.get(token), 0) * (start < prose ? 1 : CODE);
    if (sum > most) [first, most] = [start, sum];
  }
  // A little of what stands before, from the start of a word to the end of one.
  const begin = first < size / 2 ? 0 : text.slice(0, first - Math.round(size / 8)).search(/[\p{Script=Han}\s][^\p{Script=Han}\s]*$/u) + 1;
  const last = first < prose ? prose : text.length;
  const end = begin + size < last ? begin + text.slice(begin, begin + size).replace(/[^\p{Script=Han}\s]*$/u, "").length : last;
  const pieces = [[begin ? "…" : "", false]];
  let done = begin;
  for (const { start, end: stop } of hits.filter((each) => each.start >= begin && each.end <= end).sort((one, other) => one.start - other.start)) {
    if (stop <= done) continue;
    if (start > done) pieces.push([text.slice(done, start), false]);
    const piece = text.slice(Math.max(start, done), stop);
    if (pieces.at(-1)[1]) pieces.at(-1)[0] += piece;
    else pieces.push([piece, true]);
    done = stop;
  }
  return [...pieces, [text.slice(done, end), false], [end < text.length ? "…" : "", false]];
};
