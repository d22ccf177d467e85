// Finds the sections of a language that answer a query: BM25 over the fields of each section (Robertson and Zaragoza,
// "The Probabilistic Relevance Framework", 2009), where words that mean the same are one. The index is what `search.py` wrote.
import { ENDING, PARTICLE, Synonyms, near, open, plainly, stem, tokens, units } from "./search-words.js";

// What a match in a field is worth, and how much a long field weakens it: heading, what readers ask here, first words,
// text, title of the page.
const FIELDS = [[5, 0.3], [1, 0.5], [1.5, 0.3], [0.6, 0.7], [1, 0.2]];
const ASKED = 1;
const AT_LEAST = 4;
const LEAD = 160;
const BREATH = 50;
const RAREST = 3.5; // a word of one section is no more telling than one of a few
const ENOUGH = 2; // from how many matches on more are worth little
// What parts of a query are worth: such as every page has, pairs of a longer run of characters, one character or letter,
// an unknown word's neighbours, the forms inside a longer form, two words as one, the words of a form themselves.
const [COMMON, RUN, SINGLE, FUZZY, NESTED, PAIR, SURFACE] = [0.25, 0.6, 0.5, 0.8, 0.3, 0.3, 0.6];
// How much it counts that all is in the heading, and that it is the heading.
const [TITLED, EXACT] = [0.8, 1.5];
// Tasks and lists repeat the words of the section that explains; a heading alone explains nothing.
const PRIORS = { exercises: 0.5, summary: 0.6, quiz: 0.3, sources: 0.5, glossary: 0.7 };
const PAGES = { index: 0.6, teaching: 0.7 };
const [EMPTY, FIRST] = [0.5, 1.1];

export class Index {
  constructor({ pages, same = {}, about = {}, asked = {}, asking = {}, common = [] }) {
    const words = (text = "") => text.split(" ").filter(Boolean);
    this.synonyms = new Synonyms(same);
    this.asking = new Set([...words(asking.latin), ...words(asking.hangul)]);
    this.cut = new RegExp(words(asking.han).sort((one, other) => other.length - one.length).join("|") || "(?!)", "g");
    this.common = new Set(common.map(plainly));
    this.sections = pages.flatMap(({ uri, sections }) => sections.map(([anchor, heading, text, links]) => {
      const place = uri.replace(/^.*\/|\.html$/g, "") + (anchor && `#${anchor}`);
      return {
        url: anchor ? `${uri}#${anchor}` : uri, page: anchor && sections[0][1], anchor, heading, text, links,
        plain: plainly(heading.replace(/^\d+\. /, "")), about: about[place] ?? [],
        asked: [anchor.replaceAll("-", " "), ...(asked[place] ?? [])].join(". "),
        prior: (PRIORS[anchor] ?? 1) * (PAGES[uri.match(/([^/]+)\.html/)?.[1]] ?? 1) * (text.length < 40 ? EMPTY : 1) * (anchor ? 1 : FIRST),
      };
    }));
    // The words of a question are words of the sections that answer it.
    const byUrl = new Map(this.sections.map((each) => [each.url, each]));
    for (const { heading, links } of this.sections) {
      for (const url of links ?? []) if (byUrl.has(url)) byUrl.get(url).asked += `. ${heading}`;
    }
    this.found = new Map(); // token -> section and field as one number, as often as it stands there
    this.lengths = [];
    this.matches = new Map();
  }

  // An index of what `search.py` wrote. It lets the page breathe: a phone takes a second for the whole.
  static async of(data) {
    const index = new Index(data);
    let since = performance.now();
    for (const [number, section] of index.sections.entries()) {
      index.read(section, number);
      if (performance.now() - since < BREATH) continue;
      await new Promise((resolve) => { setTimeout(resolve); });
      since = performance.now();
    }
    index.means = FIELDS.map((_, field) => index.lengths.reduce((sum, each) => sum + each[field], 0) / index.lengths.length || 1);
    return index;
  }

  read({ heading, asked, text, page, about }, number) {
    const body = units(text);
    const lead = body.findIndex(({ start }) => start > LEAD);
    this.lengths[number] = [units(heading), units(asked), lead < 0 ? body : body.slice(0, lead), body, units(page)].map((content, field) => {
      let length = 0;
      const give = (token) => {
        const list = this.found.get(token);
        const place = number * FIELDS.length + field;
        if (list) list.push(place);
        else this.found.set(token, [place]);
        length += 1;
      };
      tokens(content, this.synonyms, give);
      if (field === ASKED) for (const name of about) give(`#${name}`);
      return length;
    });
  }

  // How rare a token is, and section -> how well it has it, from 0 to 1, and whether in its heading.
  match(token) {
    if (!this.matches.has(token)) {
      const sums = new Map();
      for (const place of this.found.get(token) ?? []) {
        const [number, field] = [Math.floor(place / FIELDS.length), place % FIELDS.length];
        const [worth, weakened] = FIELDS[field];
        const gain = worth / (1 - weakened + (weakened * this.lengths[number][field]) / this.means[field]);
        const [sum = 0, titled = false] = sums.get(number) ?? [];
        sums.set(number, [sum + gain, titled || field === 0]);
      }
      for (const [number, [sum, titled]] of sums) sums.set(number, [sum / (ENOUGH + sum), titled]);
      const rarity = sums.size ? Math.log(1 + (this.sections.length - sums.size + 0.5) / (sums.size + 0.5)) : 0;
      this.matches.set(token, { rarity, sections: sums });
    }
    return this.matches.get(token);
  }

  // Words of the index that begin like this one or, if none does, are few letters away.
  similar(word, loose) {
    const most = loose ? Math.floor(word.length / 3) : word.length < 5 ? 0 : word.length < 8 ? 1 : 2;
    const own = stem(word);
    const all = [...this.found.keys()].filter((token) => /^\p{Script=Latin}/u.test(token));
    const first = word.length < 3 ? [] : all.filter((token) => token.startsWith(own));
    return (first.length ? first : all.filter((token) => most && (!loose || token[0] === own[0]) && near(own, token, most)))
      .sort((one, other) => this.found.get(other).length - this.found.get(one).length).slice(0, 8);
  }

  // What a query asks for, in parts: each has a weight, and alternatives of which the best counts, [worth, tokens].
  parts(query, loose = false) {
    const text = query.normalize("NFKC");
    const found = units(text);
    const taken = found.map(() => false);
    const parts = [];
    const part = (weight, alternatives, bonus = false) => {
      const known = alternatives.map(([worth, all]) => {
        const some = all.filter((token) => this.found.has(token));
        return [(worth * some.length) / all.length, some];
      }).filter(([, some]) => some.length);
      if (!known.length) return false;
      const rarity = Math.min(RAREST, Math.max(...known[0][1].map((token) => this.match(token).rarity)));
      parts.push({ weight: weight * rarity, alternatives: known, bonus });
      return true;
    };
    const counts = (words) => (this.common.has(plainly(words)) ? COMMON : 1);
    // First what has synonyms, the longest form at each place; shorter ones inside it are a bonus.
    for (let at = 0; at < found.length; at += 1) {
      const forms = this.synonyms.at(found, at);
      const length = forms[0]?.key.length ?? 0;
      const own = found.slice(at, at + length);
      if (!length || (length === 1 && this.asking.has(own[0].plain))) continue;
      const surface = [];
      tokens(own, null, (token) => { if (token.length > 1) surface.push(token); });
      const same = forms.filter(({ key }) => key.length === length).map(({ token }) => [1, [token]]);
      if (!part(counts(text.slice(own[0].start, own.at(-1).end)), [...same, [SURFACE, surface]])) continue;
      for (let inner = at; inner < at + length; inner += 1) {
        const smaller = this.synonyms.at(found, inner).find(({ key }) => key.length < length && inner + key.length <= at + length);
        if (smaller) part(NESTED, [[1, [smaller.token]]], true);
      }
      taken.fill(true, at, at + length);
      at += length - 1;
    }
    // Words in Latin letters; where all of them are words of questions, they count after all.
    const asking = parts.length || found.some(({ kind, plain }) => kind !== "latin" || !this.asking.has(plain)) ? this.asking : new Set();
    const groups = []; // the rest, in words: units that are joined
    found.forEach((each, at) => {
      if (taken[at]) return;
      if (each.joined && !taken[at - 1]) groups.at(-1).push(each);
      else groups.push([Object.assign(each, { at })]);
    });
    const pairs = (word, close, weight) => {
      for (let at = 1; at < word.length; at += 1) part(word.length > 2 ? RUN : weight, [[1, [word[at - 1] + close(word[at])]]]);
    };
    for (const group of groups) {
      const [{ kind, at }] = group;
      const run = group.map(({ unit }) => unit).join("");
      if (kind === "sign") part(RUN, [[1, [run]]]);
      if (kind === "han") {
        for (const each of run.replace(this.cut, " ").split(" ")) {
          if (each.length === 1) part(SINGLE, [[1, [each]]]);
          else pairs(each, (character) => character, counts(each));
        }
      }
      // Directly after something else stands its particle or ending.
      if (kind === "hangul" && !(run.length < 3 && found[at - 1]?.end === group[0].start)) {
        const word = run.replace(PARTICLE, "").replace(ENDING, "");
        if ([run, word, run.slice(0, -1)].some((each) => this.asking.has(each))) continue;
        if (word.length === 1) part(SINGLE, [[1, [`^${word}`]]]);
        else pairs(word, open, counts(word));
      }
      if (kind !== "latin") continue;
      const whole = stem(group.map(({ plain }) => plain).join(""));
      if (group.length > 1 && part(1, [[1, [whole]], [SINGLE, group.map(({ unit }) => unit)]])) continue;
      for (const { plain, unit } of group) {
        if (asking.has(plain)) continue;
        if (!part(unit.length > 1 ? counts(plain) : SINGLE, [[1, [unit]]])) part(FUZZY, this.similar(plain, loose).map((token) => [1, [token]]));
      }
      const after = found[at + 1];
      // `multi head` for `multihead`
      if (group.length === 1 && after?.kind === "latin" && !taken[at + 1]) part(PAIR, [[1, [stem(group[0].plain + after.plain)]]], true);
    }
    return parts;
  }

  // [section, score] of the sections that have most of what is asked, the best first.
  search(query, loose = false) {
    const parts = this.parts(query, loose);
    const wanted = parts.reduce((sum, { weight, bonus }) => sum + (bonus ? 0 : weight), 0);
    const scores = new Map();
    for (const { weight, alternatives, bonus } of parts) {
      const best = new Map();
      for (const [worth, all] of alternatives) {
        const matches = all.map((token) => this.match(token));
        const rarities = matches.reduce((sum, { rarity }) => sum + rarity, 0);
        const sums = new Map();
        for (const { rarity, sections } of matches) {
          for (const [number, [value, titled]] of sections) {
            const [sum = 0, before = false] = sums.get(number) ?? [];
            sums.set(number, [sum + (worth * rarity * value) / rarities, before || titled]);
          }
        }
        for (const [number, [value, titled]] of sums) {
          const [most = 0, before = false] = best.get(number) ?? [];
          best.set(number, [Math.max(most, value), before || titled]);
        }
      }
      for (const [number, [value, titled]] of best) {
        const [score = 0, covered = 0, inTitle = 0] = scores.get(number) ?? [];
        const counted = bonus ? 0 : weight;
        scores.set(number, [score + weight * value, covered + counted * Math.min(1, 2 * value), inTitle + (titled ? counted : 0)]);
      }
    }
    const exactly = plainly(query);
    const ranked = [...scores].map(([number, [score, covered, inTitle]]) => {
      const section = this.sections[number];
      return { section, score: (score * covered * (1 + (TITLED * inTitle) / wanted) * section.prior * (section.plain === exactly ? EXACT : 1)) / wanted ** 2 };
    }).sort((one, other) => other.score - one.score);
    return ranked.filter(({ score }, at) => at < AT_LEAST || score > ranked[0].score / 4);
  }
  // Which of a query's words the index has, as they are, from 0 to 1: a sign of its language.
  familiarity(query) {
    let [all, known] = [0, 0];
    tokens(units(query), null, (token) => {
      all += 1;
      known += this.found.has(token);
    });
    return all && known / all;
  }

  // The sections that are about the names in a query, such as `causal_mask` or `nn.ModuleList`.
  named(query) {
    const bare = (text) => text.toLowerCase().replace(/[^a-z\d]/g, "");
    const names = new Set([query, ...query.split(/[\s,;()]+/)].map(bare).filter(({ length }) => length > 3));
    return this.sections.filter(({ heading }) => names.has(bare(heading))).map((section) => ({ section, score: 0 }))
      .sort((one, other) => one.section.url.length - other.section.url.length);
  }

  // Where to look for what is not found.
  overview() {
    return this.sections.filter(({ url }) => /(?:questions\.html|#glossary)$/.test(url)).map((section) => ({ section, score: 0 }));
  }

  // What each token of a query is worth.
  worth(query, loose) {
    return new Map(this.parts(query, loose).flatMap(({ weight, alternatives }) =>
      alternatives.flatMap(([, all]) => all.map((token) => [token, weight]))));
  }
}
