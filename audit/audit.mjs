// Measures a built site's pages as a phone and a desktop meet them: prints one table, fails below the bar.
//
//     [RUNS=1] node audit/audit.mjs _build/html [part of a page's path ...]
//
// The site is served by this script, on this machine alone: compressed, as hosts of pages do it, and plain.
// Performance is measured in time: a machine that is busy, or slower than a usual desktop, shows less. So a page
// that is below the bar is measured again, up to RUNS times (3), and the median counts.
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import lighthouse, { desktopConfig } from "lighthouse";
import puppeteer from "puppeteer-core";

const BAR = {
  performance: { mobile: 97, desktop: 97, plain: 95 },
  others: 100,
  kilobytes: 76, // of the first view of a page, compressed
  violations: 0,
};
const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];
const WINDOWS = [390, 1280].flatMap((width) => ["light", "dark"].map((scheme) => ({ width, scheme })));
const RUNS = Number(process.env.RUNS || 3);
// Without them a browser in a container does not start, or asks its maker for updates.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const TYPES = {
  ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
  ".json": "application/json", ".xml": "application/xml", ".png": "image/png",
  ".txt": "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json",
};
const COMPRESSED = new Set([".html", ".css", ".js", ".json", ".svg", ".xml", ".txt", ".webmanifest"]);

/** Serve a folder at an address of this machine; give the address and how to end it. */
async function serve(site, compress) {
  const server = http.createServer((request, response) => {
    const file = path.join(site, decodeURIComponent(new URL(request.url, "http://site").pathname));
    const kind = path.extname(file);
    if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
    const packed = compress && COMPRESSED.has(kind);
    const body = packed ? gzipSync(fs.readFileSync(file)) : fs.readFileSync(file);
    response.writeHead(200, {
      "content-type": TYPES[kind] ?? "application/octet-stream", "content-length": body.length,
      "cache-control": "max-age=600", ...(packed && { "content-encoding": "gzip" }),
    }).end(body);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** The pages of a site, but for those that only lead to another one. */
function pagesOf(site, parts) {
  const pages = fs.readdirSync(site, { recursive: true })
    .map((each) => each.split(path.sep).join("/"))
    .filter((page) => page.endsWith(".html") && !page.split("/").some((folder) => folder.startsWith("_")))
    .filter((page) => !/http-equiv="?refresh/i.test(fs.readFileSync(path.join(site, page), "utf8")))
    .sort();
  return parts.length ? pages.filter((page) => parts.some((part) => page.includes(part))) : pages;
}

function chromium() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(fs.existsSync);
  if (process.env.CHROME_PATH || found) return process.env.CHROME_PATH || found;
  throw new Error("no Chromium on the PATH (Debian: apt-get install chromium), and CHROME_PATH names none");
}

/** Lighthouse's report of a page: the first that reaches the bar, or of all runs the one with the median performance. */
async function measure(browser, url, form, config, onlyCategories = CATEGORIES) {
  const reports = [];
  const slow = () => score(reports[0], "performance") < BAR.performance[form];
  while (!reports.length || (slow() && reports.length < RUNS)) {
    const page = await browser.newPage();
    reports.push((await lighthouse(url, { logLevel: "silent", onlyCategories }, config, page)).lhr);
    await page.close();
  }
  reports.sort((one, other) => score(one, "performance") - score(other, "performance"));
  return reports[Math.floor((reports.length - 1) / 2)];
}

// A measurement that failed has no score.
const score = (report, category) => Math.floor((report.categories[category]?.score ?? 0) * 100 + 1e-6);

/** What is asked for until the network is quiet, in kB, and in how many requests. */
function firstView(report) {
  const items = report.audits["network-requests"]?.details?.items ?? [];
  const asked = items.filter((each) => !each.url.startsWith("data:"));
  const bytes = asked.reduce((sum, each) => sum + each.transferSize, 0);
  return { kilobytes: bytes / 1000, requests: asked.length };
}

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds on a page in one window and colour scheme, with what is folded open, and figures alive. */
async function violations(browser, url, { width, scheme }) {
  const page = await browser.newPage();
  const mobile = width < 500;
  await page.setViewport({ width, height: 844, isMobile: mobile, hasTouch: mobile });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.goto(url, { waitUntil: "networkidle0", timeout: 120_000 });
  await page.evaluate(async () => {
    for (const folded of document.querySelectorAll("article details")) folded.open = true;
    for (let top = 0; top < document.body.scrollHeight; top += innerHeight) {
      scrollTo(0, top);
      await new Promise(requestAnimationFrame);
    }
    scrollTo(0, 0);
  });
  await page.waitForNetworkIdle();
  await page.evaluate(AXE); // as a debugger does it: the page's own policy for scripts does not forbid it
  const found = await page.evaluate(async () => {
    const brief = ({ target, any, all, none }) => ({
      where: target.join(" "), why: [...any, ...all, ...none][0]?.message ?? "",
    });
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(brief) }));
  });
  await page.close();
  return found;
}

/** Everything that is measured of one page, in a browser of its own. */
async function audit(packed, plain, page) {
  const browser = await puppeteer.launch({ executablePath: chromium(), args: FLAGS });
  try {
    const found = {
      page,
      mobile: await measure(browser, packed.address + page, "mobile"),
      desktop: await measure(browser, packed.address + page, "desktop", desktopConfig),
      plain: await measure(browser, plain.address + page, "plain", undefined, ["performance"]),
      axe: [],
    };
    for (const window of WINDOWS) {
      found.axe.push({ ...window, rules: await violations(browser, packed.address + page, window) });
    }
    return found;
  } finally {
    await browser.close();
  }
}

const nodesOf = (rules) => rules.reduce((sum, rule) => sum + rule.nodes.length, 0);
// A page that asks not to be found is not measured by whether it can be.
const hidden = (report) => report.audits["is-crawlable"]?.score === 0;
const categoriesOf = (report) => CATEGORIES.filter((category) => category !== "seo" || !hidden(report));
const barOf = (form, category) => (category === "performance" ? BAR.performance[form] : BAR.others);

/** A line of the table: what stands in each column, and whether it is below the bar. */
function cells(found) {
  const scores = (form) => CATEGORIES.map((category) => (categoriesOf(found[form]).includes(category)
    ? [score(found[form], category), score(found[form], category) < barOf(form, category)] : ["–"]));
  const [small, large] = [firstView(found.mobile), firstView(found.plain)];
  return [
    ...scores("mobile"), scores("plain")[0], ...scores("desktop"),
    [small.kilobytes.toFixed(1), small.kilobytes > BAR.kilobytes], [large.kilobytes.toFixed(1)],
    [small.requests],
    ...found.axe.map(({ rules }) => [nodesOf(rules), nodesOf(rules) > BAR.violations]),
  ];
}

const GROUPS = [
  ["mobile", 4], ["plain", 1], ["desktop", 4], ["first view", 3], ["axe 390", 2], ["axe 1280", 2],
];
const NAMES = ["perf", "acc", "best", "seo", "perf", "perf", "acc", "best", "seo", "kB", "plain", "files",
  "light", "dark", "light", "dark"];
const WIDTH = 7;

function line(name, texts, room) {
  return name.padEnd(room) + texts.map((text) => String(text).padStart(WIDTH)).join("");
}

/** What is wrong with a page, and in which measurements, one line each, so that it can be mended. */
function problems(found) {
  const lines = new Map();
  for (const [where, what] of eachProblem(found)) lines.set(what, [...(lines.get(what) ?? []), where]);
  return [...lines].map(([what, where]) => `${found.page} (${where.join(", ")}): ${what}`);
}

const TIMES = [
  "first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift",
];

function* eachProblem(found) {
  for (const form of ["mobile", "plain", "desktop"]) {
    const report = found[form];
    if (report.runtimeError) yield [form, report.runtimeError.message];
    for (const category of form === "plain" ? ["performance"] : categoriesOf(report)) {
      if (score(report, category) >= barOf(form, category)) continue;
      if (category === "performance") {
        const parts = TIMES.map((id) => `${id} ${report.audits[id]?.displayValue ?? "not measured"}`);
        yield [form, parts.join(", ")];
        continue;
      }
      for (const { id } of report.categories[category].auditRefs.filter((each) => each.weight > 0)) {
        const { score: reached, title, details, errorMessage } = report.audits[id];
        if (reached === null ? !errorMessage : reached === 1) continue;
        const items = details?.items ?? [];
        const places = items.map(({ node, description, url }) => node?.selector ?? description ?? url);
        yield [form, `${id}: ${errorMessage ?? title} ${places.join(" | ")}`];
      }
    }
  }
  const { kilobytes } = firstView(found.mobile);
  if (kilobytes > BAR.kilobytes) yield ["first view", `${kilobytes.toFixed(1)} kB of ${BAR.kilobytes}`];
  for (const { width, scheme, rules } of found.axe) {
    for (const { id, nodes } of rules) {
      for (const { where, why } of nodes) yield [`axe ${width} ${scheme}`, `${id}: ${where}: ${why}`];
    }
  }
}

async function main([site, ...parts]) {
  if (!site) throw new Error("usage: node audit/audit.mjs SITE [part of a page's path ...]");
  const pages = pagesOf(site, parts);
  if (!pages.length) throw new Error(`${site} has no page ${parts.join(", ")}`);
  const [packed, plain] = [await serve(site, true), await serve(site, false)];
  const room = Math.max(...pages.map((page) => page.length));
  const below = [];
  const speeds = [];
  try {
    console.log(" ".repeat(room) + GROUPS.map(([name, columns]) => name.padStart(WIDTH * columns)).join(""));
    console.log(line("page", NAMES, room));
    for (const page of pages) {
      const found = await audit(packed, plain, page).catch((error) => ({ error }));
      if (found.error) {
        console.log(line(page, ["!failed"], room));
        below.push(`${page}: not measured: ${found.error.message}`);
        continue;
      }
      console.log(line(page, cells(found).map(([text, bad]) => (bad ? `!${text}` : text)), room));
      below.push(...problems(found));
      speeds.push(found.mobile.environment.benchmarkIndex);
    }
  } finally {
    packed.close();
    plain.close();
  }
  const speed = [Math.min(...speeds), Math.max(...speeds)].map(Math.round).join(" to ");
  console.log(`\n${pages.length} pages, up to ${RUNS} runs each; this machine's speed: ${speed}`
    + " (Lighthouse expects 1000 and more)");
  if (!below.length) return console.log("Every page reaches the bar.");
  console.log(["", "Below the bar:", ...below].join("\n"));
  process.exitCode = 1;
}

await main(process.argv.slice(2)).catch((error) => {
  console.error(`audit: ${error.message}`);
  process.exitCode = 2;
});
