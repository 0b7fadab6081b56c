// Queries that their callers end: the one that runs stops early, the one that waits never begins, and
// both are told so at once.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { openStoreCore } from "../_fixtures.ts";
import { openTenants } from "../_tenants.ts";
import { openSandbox, type OpenSandbox } from "./_sandbox.ts";

const LONG = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000) b";
const LIMIT_MS = 60_000;
const CANCELLED = { code: "query_rejected", errors: [{ pointer: "/sql", code: "cancelled" }] };

let dataDir: string;
let core: JournalFollower;
let opened: OpenSandbox;

beforeAll(async () => {
  const tenants = await openTenants();
  dataDir = tenants.dataDir;
  await tenants.store.close();
  ({ core } = openStoreCore(dataDir));
  await core.open();
  opened = openSandbox(core, dataDir);
  await opened.ask("SELECT 1");
});

afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

function ask(sql: string, handle: string) {
  const limits = { rowsMax: 10, timeoutMs: LIMIT_MS };
  const asker = { tenant: undefined, withheld: [] };
  return opened.sandbox.query({ name: "query", sql, limits, asker, handle });
}

/** The fault of a query. */
async function faultOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => "answered",
    (error: unknown) => error,
  );
}

test("the running query stops, a waiting one never begins, and the next one is answered", async () => {
  const running = faultOf(ask(LONG, "k\nrunning"));
  const waiting = faultOf(ask("SELECT 1", "k\nwaiting"));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(opened.sandbox.cancel("k\nother")).toBe(false);
  expect(opened.sandbox.cancel("k\nwaiting")).toBe(true);
  expect(await waiting).toMatchObject(CANCELLED);
  expect(opened.sandbox.cancel("k\nrunning")).toBe(true);
  expect(await running).toMatchObject(CANCELLED);
  // Well before the limit of the query that was ended: its work has stopped too.
  expect(await opened.ask("SELECT 42")).toEqual([[42]]);
  expect(opened.sandbox.metrics).toMatchObject({ restarts: 0, running: 1, waiting: 0 });
  expect(opened.sandbox.cancel("k\nrunning")).toBe(false);
});

test("a name is one query's at a time, and free again after its answer", async () => {
  const running = faultOf(ask(LONG, "k\nq"));
  expect(await faultOf(ask("SELECT 1", "k\nq"))).toMatchObject({ code: "query_rejected" });
  expect(opened.sandbox.cancel("k\nq")).toBe(true);
  expect(await running).toMatchObject(CANCELLED);
  expect((await ask("SELECT 7", "k\nq")).rows).toEqual([[7]]);
});
