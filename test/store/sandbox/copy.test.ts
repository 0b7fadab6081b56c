// The copy that callers' SQL reads: the same rows as the store's, at every position, for everybody.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { VIEWS } from "../../../src/store/query/views.ts";
import { appendNotes } from "../../../src/store/rows/notes.ts";
import { recordOf, runOf, NOW_MS } from "../../ledger/_fixtures.ts";
import { askCore, catchUp, LIMITS, openJournal, openStoreCore } from "../_fixtures.ts";
import { openTenants } from "../_tenants.ts";
import { MEMORY_BYTES, openSandbox, type OpenSandbox, PREPARED_MS } from "./_sandbox.ts";
import { isMemoryLimited } from "../../../src/platform/limited-process.ts";
import { SandboxServer } from "../../../src/store/sandbox/server.ts";

let dataDir: string;
let core: JournalFollower;
let opened: OpenSandbox;

beforeAll(async () => {
  const tenants = await openTenants();
  dataDir = tenants.dataDir;
  // Makes rows of decisions and scores.
  await tenants.store.query("FROM agents, decisions", LIMITS);
  await tenants.store.close();
  ({ core } = openStoreCore(dataDir));
  await core.open();
  opened = openSandbox(core, dataDir);
});

afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

/** Every view, as its columns and rows in an order of their own. */
async function shownBy(query: (sql: string) => Promise<unknown[][]>) {
  const shown: Record<string, string[]> = {};
  for (const view of Object.keys(VIEWS)) {
    shown[view] = (await query(`FROM ${view}`)).map((row) => JSON.stringify(row)).toSorted();
  }
  return shown;
}

async function expectSame(...tenants: (string | undefined)[]): Promise<void> {
  for (const tenant of tenants) {
    const asker = { tenant, withheld: [] };
    const inStore = await shownBy(async (sql) => {
      return (await core.readQueue.query({ sql }, LIMITS, asker)).rows;
    });
    expect(await shownBy((sql) => opened.ask(sql, tenant))).toEqual(inStore);
    if (tenant !== undefined) continue;
    const empty = Object.keys(inStore).filter((view) => inStore[view]!.length === 0);
    // Nothing is served here, and scores are of one day: test/store/rows/mover-views.test.ts. Nobody here
    // is a finding: test/store/rows/finding-tenants.test.ts.
    expect(empty).toEqual(["findings", "repeated_reports", "rings", "latency", "movers"]);
  }
}

async function append(from: number, count: number): Promise<number> {
  const journal = openJournal(dataDir);
  const records = Array.from({ length: count }, (_, n) => recordOf(from + n, { tenant: "acme" }));
  const { length } = journal.commit([runOf(records)], NOW_MS);
  expect(length).toBeGreaterThan(0);
  journal.close();
  return core.applied.lsn + count;
}

test("shows the same rows of every view to everybody, and follows", async () => {
  await expectSame(undefined, "acme", "nobody");
  const position = await append(5000, 300);
  await catchUp(core, position);
  const event = {
    recorded_at: NOW_MS + 1,
    tenant: "acme",
    request_id: "request-0",
    resolution: "overturned" as const,
    note: "it was not so",
    key_id: "key-acme",
  };
  await core.write((writer) => appendNotes(writer, [{ table: "reviews", event, position }]));
  await core.write(async (writer) => {
    await writer.run("UPDATE agent_rows SET score = 99, as_of_ms = as_of_ms + 1");
  });
  await expectSame("acme");
  expect(await opened.ask("SELECT count(*) FROM outcomes WHERE tenant = 'acme'")).toEqual([[320]]);
  expect(await opened.ask("SELECT DISTINCT score FROM agents")).toEqual([[99]]);
  expect(opened.sandbox.metrics).toMatchObject({ running: 1, restarts: 0, waiting: 0 });
  // No file of rows is left behind.
  expect(fs.readdirSync(join(core.exportDirectory, "sandbox"))).toEqual([]);
});

test("a row in the place of another one is seen, although there are as many", async () => {
  const noted = "SELECT count(*), max(action) FROM provenance";
  await core.write(async (writer) => {
    await writer.run(
      "INSERT INTO provenance_rows BY NAME SELECT * REPLACE ('zz-moved' AS action) FROM provenance_rows LIMIT 1",
    );
    await writer.run(
      "DELETE FROM provenance_rows WHERE rowid = (SELECT min(rowid) FROM provenance_rows)",
    );
  });
  expect(await opened.ask(noted)).toEqual((await askCore(core, noted)).rows);
  expect(await opened.ask(noted)).toMatchObject([[expect.any(Number), "zz-moved"]]);
});

test("rows that go are gone from it, and what comes after them is there once", async () => {
  const counted = "SELECT count(*), sum(position), sum(stakes) FROM outcomes";
  const inStore = async () => (await askCore(core, counted)).rows;
  await core.write((writer) => writer.run("DELETE FROM outcome_rows WHERE position % 3 = 0"));
  expect(await opened.ask(counted)).toEqual(await inStore());
  await core.write((writer) => writer.run("CHECKPOINT"));
  await catchUp(core, await append(9000, 10));
  expect(await opened.ask(counted)).toEqual(await inStore());
});

test("an answer says as of which position and time it is", async () => {
  const call = { name: "query", sql: "SELECT 1", limits: LIMITS } as const;
  const { asOf } = await opened.sandbox.query({
    ...call,
    asker: { tenant: "acme", withheld: [] },
  });
  expect(asOf).toEqual({ position: core.applied.lsn, timeMs: PREPARED_MS });
});

test("a stream is one snapshot, and reads on while rows are added", async () => {
  const sql = "SELECT * FROM outcomes, range(200) ORDER BY position";
  const asker = { tenant: "acme", withheld: [] };
  const [[before]] = (await opened.ask("SELECT count(*) FROM outcomes", "acme")) as [[number]];
  const { id } = await opened.sandbox.openStream({ name: "openStream", sql, asker });
  await catchUp(core, await append(9500, 10));
  const [[after]] = (await opened.ask("SELECT count(*) FROM outcomes", "acme")) as [[number]];
  expect(after).toBe(before + 10);
  let lines = 0;
  for (;;) {
    const part = await opened.sandbox.next(id);
    if (part === undefined) break;
    lines += Buffer.from(part).toString().split("\n").length - 1;
  }
  expect(lines).toBe(before * 200);
});

test("a query that names a withheld view is refused with its code", async () => {
  const asker = { tenant: "acme", withheld: ["agents"] };
  const call = { name: "query", sql: "FROM agents", limits: LIMITS, asker } as const;
  await expect(opened.sandbox.query(call)).rejects.toMatchObject({ code: "insufficient_scope" });
});

test("it ends when nobody asks, takes its copy with it, and comes back", async () => {
  await opened.sandbox.end();
  const directory = join(dataDir, "store-queries");
  expect(fs.existsSync(directory)).toBe(false);
  opened = openSandbox(core, dataDir, 20);
  await opened.ask("SELECT 1");
  await expect.poll(() => opened.sandbox.metrics.running).toBe(0);
  await expect.poll(() => fs.existsSync(directory)).toBe(false);
  expect(await opened.ask("SELECT 1")).toEqual([[1]]);
  expect(opened.log).toEqual([]);
});

test("rows that find no room are no caller's concern: another process has them by a copy", async () => {
  await opened.sandbox.end();
  let refused = 0;
  opened = openSandbox(core, dataDir, undefined, ({ name }) => name === "add" && refused++ === 0);
  const [[before]] = (await opened.ask("SELECT count(*)::INTEGER FROM outcomes")) as [[number]];
  await catchUp(core, await append(50_000, 3));
  expect(await opened.ask("SELECT count(*)::INTEGER FROM outcomes")).toEqual([[before + 3]]);
  expect(refused).toBe(1);
  expect(opened.log.map(({ event }) => event)).toEqual(["query_process_failed"]);
});

test("without a limit on its memory it does not start", async () => {
  expect(isMemoryLimited(MEMORY_BYTES)).toBe(false);
  const sent: unknown[] = [];
  const server = new SandboxServer((message) => sent.push(message));
  const opening = { directory: "/nowhere", partsDirectory: "/nowhere", timeZone: "UTC" };
  const call = {
    name: "open",
    copyFrom: undefined,
    ...opening,
    memoryBytes: MEMORY_BYTES,
  } as const;
  await server.answerCall({ id: 1, call });
  const fault = { detail: expect.stringContaining("no limit") };
  expect(sent).toMatchObject([{ kind: "refusal", fault }]);
});
