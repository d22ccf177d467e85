// English dates by the rule of polyhead_course.models.translation; its forms, names and years come with the figure.

export const tokensOf = (text) => text.match(/[0-9]|[\p{L}\p{Nl}\p{No}]+|\S/gu) ?? [];

// How many characters two words share, in blocks from the longest on, as Python's difflib counts them.
const shared = (a, b) => {
  let [longest, i, j] = [0, 0, 0];
  for (let x = 0; x < a.length; x++) {
    for (let y = 0; y < b.length; y++) {
      let size = 0;
      while (x + size < a.length && a[x + size] === b[y + size]) size++;
      if (size > longest) [longest, i, j] = [size, x, y];
    }
  }
  if (!longest) return 0;
  return longest + shared(a.slice(0, i), b.slice(0, j)) + shared(a.slice(i + longest), b.slice(j + longest));
};

export const rule = ({ forms, names, years: [first, last] }) => {
  const month = `(?<month>${[...names.us, ...names.gb].join("|")})`; // either order is read with "Sep" and with "Sept"
  const parts = {
    day: "(?<day>[1-9][0-9]?)", year: "(?<year>[0-9]{4})", weekday: `(?<weekday>${names.weekday.join("|")})`,
    month: `(?<month>${names.month.join("|")})`, us: month, gb: month,
  };
  const patterns = forms.map((form) => new RegExp(`^${form.replace(/\{(\w+)\}/g, (_, kind) => parts[kind])}$`));
  const words = [...new Set(Object.values(names).flat())].sort();
  const weekdayOf = (year, month, day) => names.weekday[(new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7];

  const near = (token) => {
    const [initial, ...rest] = [...token].slice(0, 20).join("").toLowerCase();
    const wanted = initial.toUpperCase() + rest.join("");
    let [best, found] = [0.6, null];
    for (const word of words) {
      const ratio = (2 * shared(word, wanted)) / (word.length + wanted.length);
      if (ratio >= best) [best, found] = [ratio, word];
    }
    return found;
  };

  // { date: [form, year, month, day] }, or the reason why there is none: { reason, …what the answer names }.
  const read = (given) => {
    const text = given.trim().replace(/\s+/g, " ");
    const word = tokensOf(text).find((token) => !words.includes(token) && !"0123456789,".includes(token));
    if (word) return { reason: "word", word: word.length > 30 ? `${word.slice(0, 30)}…` : word, near: near(word) };
    const form = patterns.findIndex((pattern) => pattern.test(text));
    if (form < 0) return { reason: "form" };
    const found = patterns[form].exec(text).groups;
    const [year, day] = [Number(found.year), Number(found.day)];
    if (year < first || year > last) return { reason: "year", year: found.year };
    const month = 1 + ["month", "us", "gb"].map((kind) => names[kind].indexOf(found.month)).find((place) => place >= 0);
    const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
    if (day > days) return { reason: "day", month: names.month[month - 1], year, days, day };
    const right = weekdayOf(year, month, day);
    if (found.weekday && found.weekday !== right) return { reason: "weekday", right, wrong: found.weekday };
    return { date: [form, year, month, day] };
  };

  const write = ([form, year, month, day]) => forms[form]?.replace(/\{(\w+)\}/g, (_, kind) =>
    ({ year, day, weekday: weekdayOf(year, month, day) })[kind] ?? names[kind][month - 1]) ?? "";

  return { read, write };
};
