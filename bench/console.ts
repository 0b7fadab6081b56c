// Cost of an open console for verify requests, and the time until its first page is drawn. One service, defaults
// on; by turns a real browser shows Overview or nothing, while wrk asks for verdicts. CPU is the service's own, all
// threads: the browser competes for cores, which throughput shows. What an open page costs a service that no client
// asks, by the second, is told apart: it is less than rounds differ. Paints are of fresh profiles, with nothing
// else running. A table on stderr, one JSON object on the last line of stdout; `--smoke` lasts a moment. Needs
// Debian's chromium.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import { parsed } from "./load/parsed.ts";
import { loadOnce } from "./load/by-turns.ts";
import { BODIES, ROUTE } from "./load/questions.ts";
import { seeded, shuffled, spreadOf, tableOf } from "./load/spread.ts";
import { ADMIN_KEY, machine, startServiceOver } from "./server-process.ts";

const BROWSER = "/usr/bin/chromium";
const BROWSER_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
const { values } = parsed(import.meta.filename, {
  options: {
    rounds: { type: "string", default: "12" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    paints: { type: "string", default: "9" },
    idle: { type: "string", default: "15" },
    smoke: { type: "boolean", default: false },
  },
});
const rounds = values.smoke ? 1 : Number(values.rounds);
const turn = {
  seconds: values.smoke ? 1 : Number(values.seconds),
  connections: Number(values.connections),
};

/** A page that has been opened, not one that is being opened. */
const settleMs = values.smoke ? 500 : 4000;
const idleMs = values.smoke ? 500 : Number(values.idle) * 1000;
const IDLE_TURNS = values.smoke ? 1 : 4;

const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-bench-console-"));
const service = await startServiceOver(dataDir, () =>
  rmSync(dataDir, { recursive: true, force: true }),
);
const browser = await chromium.launch({ executablePath: BROWSER, args: BROWSER_FLAGS });

/** A page of a fresh profile, logged in, on Overview. */
async function openConsole(from: Browser) {
  const page = await (await from.newContext()).newPage();
  await page.goto(`${service.url}/console`);
  await page.getByLabel("API key").fill(ADMIN_KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  return page;
}

/** Milliseconds from the request for the page until its heading stands there, nothing cached. */
async function paintOnce(): Promise<{ ms: number; scriptBytes: number }> {
  const known = await openConsole(browser);
  const state = await known.context().storageState();
  await known.context().close();
  const context = await browser.newContext({ storageState: state });
  const page = await context.newPage();
  await page.goto(`${service.url}/console`);
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  const found = await page.evaluate(() => {
    const files = performance.getEntriesByType("resource") as unknown as Loaded[];
    const scripts = files.filter(({ name }) => /\.(?:ts|js|mjs)$/.test(name));
    return {
      ms: performance.now(),
      scriptBytes: scripts.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
    };
  });
  await context.close();
  return found;
}

/** CPU milliseconds a second of a service that answers the page alone, or nobody. */
async function idleCost(page: Page, address: string): Promise<number> {
  await page.goto(address);
  await pause(settleMs);
  const before = service.cpuSeconds();
  await pause(idleMs);
  return ((service.cpuSeconds() - before) * 1e6) / idleMs;
}

interface Loaded {
  readonly name: string;
  readonly decodedBodySize: number;
}

interface Taken {
  readonly cpuUs: number;
  readonly perSecond: number;
}

try {
  const paints = [];
  for (let at = 0; at < (values.smoke ? 1 : Number(values.paints)); at++)
    paints.push(await paintOnce());
  const page = await openConsole(browser);
  const taken: Record<"closed" | "open", Taken[]> = { closed: [], open: [] };
  const random = seeded(1);
  for (let round = values.smoke ? 0 : -1; round < rounds; round++) {
    process.stderr.write(round < 0 ? "warming up\n" : `round ${round + 1} of ${rounds}\n`);
    for (const side of shuffled(["closed", "open"] as const, random)) {
      await page.goto(side === "open" ? `${service.url}/console` : "about:blank");
      await pause(settleMs);
      const asked = { name: side, server: service, route: ROUTE, body: BODIES.plain };
      const { userUs, systemUs, perSecond } = await loadOnce(asked, turn);
      if (round >= 0) taken[side].push({ cpuUs: userUs + systemUs, perSecond });
    }
  }
  const idle: Record<"closed" | "open", number[]> = { closed: [], open: [] };
  for (let at = 0; at < IDLE_TURNS; at++) {
    idle.closed.push(await idleCost(page, "about:blank"));
    idle.open.push(await idleCost(page, `${service.url}/console`));
  }
  const spread = (side: Taken[], pick: (each: Taken) => number) => spreadOf(side.map(pick));
  const ratio = (pick: (each: Taken) => number) =>
    spreadOf(taken.open.map((each, round) => pick(each) / pick(taken.closed[round]!)));
  const report = {
    bench: "console",
    machine: machine(),
    rounds,
    first_page_ms: spreadOf(paints.map(({ ms }) => ms)),
    first_page_script_bytes: paints[0]!.scriptBytes,
    cpu_us: {
      closed: spread(taken.closed, ({ cpuUs }) => cpuUs),
      open: spread(taken.open, ({ cpuUs }) => cpuUs),
    },
    cpu_ratio: ratio(({ cpuUs }) => cpuUs),
    per_second_ratio: ratio(({ perSecond }) => perSecond),
    idle_cpu_ms_per_second: { closed: spreadOf(idle.closed), open: spreadOf(idle.open) },
  };
  const { first_page_ms: first, cpu_us: cpu } = report;
  process.stderr.write(
    tableOf(
      ["", "median", "p10", "p90"],
      (
        [
          ["first page, ms", first],
          ["CPU us a verify, closed", cpu.closed],
          ["CPU us a verify, open", cpu.open],
          ["CPU, open of closed", report.cpu_ratio],
          ["verifies a second, open of closed", report.per_second_ratio],
          ["CPU ms a second, nobody asks, closed", report.idle_cpu_ms_per_second.closed],
          ["CPU ms a second, nobody asks, open", report.idle_cpu_ms_per_second.open],
        ] as const
      ).map(([name, { median, p10, p90 }]) => [
        name,
        ...[median, p10, p90].map((each) => each.toFixed(3)),
      ]),
    ),
  );
  console.log(JSON.stringify(report));
} finally {
  await browser.close();
  await service.stop();
}
