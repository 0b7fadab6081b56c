// Queries that DuckDB can neither interrupt nor keep within its memory: their process ends, the store
// and everybody else go on.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceFault } from "../../src/contract/faults.ts";
import type { JournalFollower } from "../../src/store/journal-follower.ts";
import { stretched } from "../_patience.ts";
import { catchUp, fillJournal, openStoreCore } from "../store/_fixtures.ts";
import { openSandbox, type OpenSandbox } from "../store/sandbox/_sandbox.ts";

/** 190,000 digits, there at once: a loaded machine, too, gets to what DuckDB cannot interrupt. */
const DIGITS = "1234567890".repeat(19);
const TEXT = `(SELECT string_agg('${DIGITS}', '') AS s FROM range(1000))`;
const ENDLESS = `SELECT levenshtein(s, reverse(s)) FROM ${TEXT}`;

let core: JournalFollower;
let opened: OpenSandbox;
let dataDir: string;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-hostile-");
  fillJournal(dataDir, 1, 100);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 100);
  opened = openSandbox(core, dataDir);
  await opened.ask("SELECT 1");
});
afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

const faultOf = (asked: Promise<unknown>): Promise<ServiceFault> =>
  asked.then(
    () => expect.fail("it was answered"),
    (fault: ServiceFault) => fault,
  );

const residentMib = () =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;

test.each([
  ["an edit distance", ENDLESS],
  ["a pattern", `SELECT s || s GLOB '*1*2*3*4*5*6*7*8*9*0*1*2*x' FROM ${TEXT}`],
])("%s without end is killed, and others in line are answered", async (what, sql) => {
  const { restarts } = opened.sandbox.metrics;
  const stream = "SELECT 1 AS n FROM range(1000000)";
  const asker = { tenant: "third", withheld: [] };
  const askWithin = async (limitMs: number) => {
    const startedAt = performance.now();
    const asked = faultOf(opened.ask(sql, what, limitMs));
    const behind = opened.ask("SELECT count(*) FROM outcomes", "other");
    const { id } = await opened.sandbox.openStream({ name: "openStream", sql: stream, asker });
    const fault = await asked;
    // Asked at once: five seconds pass while a loaded machine starts the next process.
    const again = await opened.ask("SELECT 1", what).catch((error: ServiceFault) => error);
    return { id, fault, again, behind, limitMs, tookMs: performance.now() - startedAt };
  };
  // A limit that passes while a loaded machine still makes the text ends the query without force.
  let ended = await askWithin(500);
  while (!(ended.again instanceof ServiceFault) && ended.limitMs < 10_000) {
    ended = await askWithin(2 * ended.limitMs);
  }
  const { id, fault, again, behind, limitMs, tookMs } = ended;
  // The tenant has to wait; nobody else does.
  expect(again).toMatchObject({ code: "rate_limited", retryAfterSec: expect.any(Number) });
  expect(fault).toMatchObject({ code: "query_rejected", errors: [{ code: "timeout" }] });
  expect(fault.detail).toContain(`the query took longer than ${limitMs} ms`);
  expect(tookMs).toBeLessThan(stretched(3500 + limitMs));
  expect(await behind).toEqual([[0]]);
  expect(opened.sandbox.metrics.restarts).toBe(restarts + 1);
  // Whose stream ended with the process is told so.
  await expect(opened.sandbox.next(id)).rejects.toMatchObject({ code: "store_unavailable" });
});

test.each([
  ["damerau", `SELECT damerau_levenshtein(s, reverse(s)) FROM ${TEXT}`],
  ["replace", `SELECT length(replace(replace(replace(s, '1', s), '2', s), '3', s)) FROM ${TEXT}`],
  ["list", `SELECT len(list(s || range)) FROM ${TEXT}, range(1000000)`],
])("memory without bound (%s) is refused by the kernel, not by the machine", async (name, sql) => {
  const before = residentMib();
  const fault = await faultOf(opened.ask(sql, name));
  expect(fault).toMatchObject({ code: "query_rejected", errors: [{ code: "memory" }] });
  expect(opened.sandbox.metrics.memoryBytes).toBeLessThan(1024 * 1024 * 1024);
  expect(residentMib() - before).toBeLessThan(200);
  expect(await opened.ask("SELECT count(*) FROM outcomes")).toEqual([[100]]);
});

test("the end waits for no query", async () => {
  const asked = faultOf(opened.ask(ENDLESS, "last", 60_000));
  await expect.poll(() => opened.sandbox.metrics.waiting).toBe(1);
  const startedAt = performance.now();
  await opened.sandbox.end();
  expect(performance.now() - startedAt).toBeLessThan(stretched(2000));
  expect(await asked).toMatchObject({ code: "store_unavailable" });
  expect((await faultOf(opened.ask("SELECT 1"))).code).toBe("store_unavailable");
});
