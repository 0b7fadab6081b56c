// Streamed answers: all rows of one snapshot in bounded parts, at the pace of the client, beside the
// queries of others; and their ends, wanted or not.
import * as fs from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import type { StreamedRows } from "../../../src/store/store.ts";
import { RowStreams } from "../../../src/store/query/row-streams.ts";
import { fillJournal, LIMITS, openStore, openStoreCore } from "../_fixtures.ts";

let dataDir: string;
let store: OpenStore;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-streams-");
  fillJournal(dataDir, 1, 500);
  ({ store } = await openStore(dataDir));
});

afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

afterEach(() => vi.useRealTimers());

const open: StreamedRows[] = [];
async function stream(sql: string, tenant?: string): Promise<StreamedRows> {
  const rows = await store.openStream(sql, tenant);
  open.push(rows);
  return rows;
}

afterEach(async () => {
  for (const rows of open.splice(0)) rows.cancel();
  // The ends are in line before this read.
  await store.query("SELECT 1", LIMITS);
});

async function partsOf(rows: StreamedRows): Promise<string[]> {
  const parts: string[] = [];
  for (let part = await rows.next(); part !== undefined; part = await rows.next()) {
    parts.push(Buffer.from(part).toString());
  }
  return parts;
}

const faultOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (fault: unknown) => fault,
  );

test("every row comes once, in order, in whole lines and parts of bounded size", async () => {
  const rows = await stream("SELECT range AS n, 'x' || range AS name FROM range(200000)");
  expect(rows.columns).toEqual([
    { name: "n", type: "BIGINT" },
    { name: "name", type: "VARCHAR" },
  ]);
  const parts = await partsOf(rows);
  expect(parts.length).toBeGreaterThan(5);
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(512 * 1024);
  expect(parts.every((part) => part.endsWith("}\n"))).toBe(true);
  const lines = parts.join("").trimEnd().split("\n");
  expect(lines).toHaveLength(200_000);
  expect(lines[199_999]).toBe('{"n":199999,"name":"x199999"}');
  expect(lines.every((line, n) => (JSON.parse(line) as { n: number }).n === n)).toBe(true);
});

test("values are those of the plain answer; columns of one name are all kept", async () => {
  const sql = `SELECT subject, settled_at, settled_local, stakes, 'nan'::DOUBLE, NULL AS "a b",
    subject FROM outcomes ORDER BY position LIMIT 3`;
  const { rows, columns } = await store.query(sql, LIMITS);
  const lines = (await partsOf(await stream(sql))).join("").trimEnd().split("\n");
  expect(lines.map((line) => Object.values(JSON.parse(line) as object))).toEqual(rows);
  const names = columns.map(({ name }) => name);
  expect(Object.keys(JSON.parse(lines[0]!) as object)).toEqual([
    ...names.slice(0, -1),
    "subject_1",
  ]);
});

test("an answer without rows is empty, and says its columns and its position", async () => {
  const rows = await stream("SELECT subject FROM outcomes WHERE false", "acme");
  expect(rows.columns).toEqual([{ name: "subject", type: "VARCHAR" }]);
  expect(rows.asOf).toEqual({ position: 500, timeMs: expect.any(Number) });
  expect(await rows.next()).toBeUndefined();
});

test("a client that rests holds up no query, and sees its own snapshot to the end", async () => {
  const rows = await stream("SELECT a.position FROM outcomes AS a, range(300)");
  await rows.next();
  const counted = await store.query("SELECT count(*) FROM outcomes", LIMITS);
  expect(counted.rows).toEqual([[500]]);
  const rest = (await partsOf(rows)).join("").split("\n").length;
  expect(rest).toBeGreaterThan(100_000);
});

test("bad queries are refused as ever, before the first part", async () => {
  for (const sql of [
    "SELECT nothing FROM outcomes",
    "DELETE FROM outcome_rows",
    "SELECT 1; SELECT 2",
  ]) {
    expect(await faultOf(store.openStream(sql))).toMatchObject({ code: "query_rejected" });
  }
  expect(await faultOf(store.openStream("FROM kaizen_run_rows", "acme"))).toMatchObject({
    detail: "there is no view `kaizen_run_rows`",
  });
});

test("an error after the first rows is an error of the next part", async () => {
  const rows = await stream("SELECT if(range < 300000, 1, error('late')) FROM range(400000)");
  const fault = (await faultOf(partsOf(rows))) as ServiceFault;
  expect(fault).toMatchObject({
    code: "query_rejected",
    detail: expect.stringContaining("failed after its first rows"),
  });
});

test("streams are few, and fewer for one tenant; an ended one makes room", async () => {
  const sql = "FROM range(100000000)";
  const first = await stream(sql, "acme");
  await stream(sql, "acme");
  expect(await faultOf(store.openStream(sql, "acme"))).toMatchObject({ code: "overloaded" });
  await stream(sql, "globex");
  await stream(sql);
  expect(await faultOf(store.openStream(sql, "initech"))).toMatchObject({ code: "overloaded" });
  first.cancel();
  await stream(sql, "initech");
});

test("one that nobody takes from ends by itself", async () => {
  const { core } = openStoreCore(`${dataDir}/beside`);
  await core.open();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { streams } = core.readQueue;
  const asker = { tenant: undefined, withheld: [] };
  const { id } = await streams.open({ sql: "FROM range(100000000)" }, 60_000, asker);
  expect(await streams.next(id)).toBeInstanceOf(Uint8Array);
  await vi.advanceTimersByTimeAsync(30_000);
  vi.useRealTimers();
  expect(await faultOf(streams.next(id))).toMatchObject({ code: "store_unavailable" });
  await core.close();
});

test("work beyond its time ends a stream, rest does not", async () => {
  const { core } = openStoreCore(`${dataDir}/beside`);
  await core.open();
  const { streams } = core.readQueue;
  const asker = { tenant: undefined, withheld: [] };
  const endless =
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t";
  const opened = await faultOf(
    streams.open({ sql: endless }, 100, asker).then(({ id }) => streams.next(id)),
  );
  expect(opened).toMatchObject({
    code: "query_rejected",
    detail: expect.stringContaining("100 ms"),
  });
  await core.close();
});

test("the end of the store ends its streams", async () => {
  const { core } = openStoreCore(`${dataDir}/beside`);
  await core.open();
  const { streams } = core.readQueue;
  const asker = { tenant: undefined, withheld: [] };
  const { id } = await streams.open({ sql: "FROM range(100000000)" }, 60_000, asker);
  expect(streams).toBeInstanceOf(RowStreams);
  await core.close();
  expect(await faultOf(streams.next(id))).toMatchObject({ code: "store_unavailable" });
});
