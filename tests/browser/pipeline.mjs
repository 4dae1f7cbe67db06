// The document pipeline's page in a real browser: counts move, Alice gets results live, Bob finds his on return.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const build = process.env.FANFARE_BUILD;
const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(process.env.FANFARE_BROWSER_MODULES ?? path.join(here, "node_modules"), "anything"));
const { chromium } = require("playwright-core");
const screenshots = path.join(build, "screenshots");
mkdirSync(screenshots, { recursive: true });

const DOCUMENTS = 60;
const PATIENCE = 120_000; // milliseconds; for a loaded machine
let passed = 0;
let failed = 0;

async function check(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
}

function startDemo(data) {
  const demo = spawn(path.join(build, "examples/document_pipeline_demo"),
    ["--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data, "--at-most", String(DOCUMENTS)],
    { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: demo.stdout });
  const output = [];
  let agree;
  const agreed = new Promise((resolve) => { agree = resolve; });
  const ready = new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      output.push(line);
      if (line.startsWith("All totals agree")) agree(line);
      if (line.startsWith('{"event":"ready"')) resolve(JSON.parse(line));
    });
    demo.on("exit", (code) => reject(new Error(`the demo left with ${code}: ${output.join("\n")}`)));
  });
  const ended = new Promise((resolve) => demo.on("exit", resolve));
  demo.on("exit", () => agree(""));
  return { demo, ready, agreed, ended, output };
}

const data = mkdtempSync(path.join(tmpdir(), "fanfare-browser-"));
const { demo, ready, agreed, ended } = startDemo(data);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
try {
  const { page: address } = await ready;
  const page = await browser.newPage({ viewport: { width: 1280, height: 1100 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  // A feed shows its latest entries only; what it showed at any time is kept here, by kind.
  await page.addInitScript(() => {
    window.shown = { summarised: new Set(), embedded: new Set(), moderated: new Set() };
    new MutationObserver((changes) => {
      for (const change of changes)
        for (const entry of change.addedNodes)
          if (entry.nodeName === "LI" && change.target.id === "bob-feed")
            window.shown[entry.querySelector(".what span").textContent].add(entry.querySelector("p").textContent);
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(address);
  const number = async (selector) => Number((await page.textContent(selector)).replaceAll(",", ""));

  await check("Alice is connected by server-sent events", async () => {
    await page.waitForFunction(() => document.querySelector("#alice-state").textContent === "connected", null, { timeout: PATIENCE });
  });
  await check("results arrive live while the work is going on", async () => {
    await page.waitForFunction(() => document.querySelectorAll("#alice-feed li").length > 0, null, { timeout: PATIENCE });
  });
  await check("all work gets done and every total agrees but Bob's visit", async () => {
    await page.waitForFunction(() => document.querySelector("#headline").textContent.endsWith("all work done") &&
      [...document.querySelectorAll("#totals tbody tr")].every((row) => row.lastChild.textContent === "agree"), null, { timeout: PATIENCE });
    assert.equal(await number("#queue-summarise [data-field=deleted]"), DOCUMENTS);
    assert.equal(await number("#queue-embed [data-field=deleted]"), DOCUMENTS);
    assert.equal(await number("#queue-summarise [data-field=dead]"), 0);
  });
  await check("Alice saw each result once", async () => {
    const results = await number("#queue-notifications [data-field=deleted]");
    assert.ok(results >= 2 * DOCUMENTS, `${results} results`);
    assert.equal(await number("#alice-count"), results);
  });
  await page.screenshot({ path: path.join(screenshots, "pipeline.png"), fullPage: true });
  await check("Bob comes back and finds everything", async () => {
    const waiting = await number("#bob-count");
    assert.equal(waiting, await number("#queue-notifications [data-field=deleted]"));
    await page.click("#bob-returns");
    await page.waitForSelector("#bob-state[data-fetched]", { timeout: PATIENCE });
    assert.equal(Number(await page.getAttribute("#bob-state", "data-fetched")), waiting);
    assert.ok((await page.locator("#bob-feed li").count()) > 0);
  });
  await page.screenshot({ path: path.join(screenshots, "pipeline-bob-is-back.png"), fullPage: true });
  await check("summaries and neighbours are really shown", async () => {
    const shown = await page.evaluate(() => Object.fromEntries(Object.entries(window.shown).map(([kind, texts]) => [kind, [...texts]])));
    assert.ok(shown.summarised.filter((text) => text.length > 20).length > DOCUMENTS / 2, `${shown.summarised.length} summaries`);
    assert.ok(shown.embedded.some((text) => /^nearest: .+ \(\d\.\d\d\)/.test(text)), shown.embedded.join("\n"));
    assert.ok(shown.moderated.every((text) => /^\w+, score [\d.]+$/.test(text)), shown.moderated.join("\n"));
  });
  await check("the demo says itself that all totals agree", async () => assert.match(await agreed, /^All totals agree: 60 documents/));
  await check("the page has no errors", async () => assert.deepEqual(errors, []));
} finally {
  await browser.close();
  demo.kill("SIGTERM");
}
await check("the demo stops in order", async () => assert.equal(await ended, 0));
rmSync(data, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
