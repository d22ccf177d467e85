// Words of a query; a run of characters without spaces between words becomes pairs of neighbours. As in `prose.py`.
var splitQuery = (query) => query
  .replace(/[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]+/g, (run) =>
    ` ${run.length < 2 ? run : [...run.slice(1)].map((each, before) => run[before] + each).join(" ")} `)
  .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/u)
  .filter((term) => term);
