// Repeated denials and the reading of the log under a flood: counted in one row a second, nothing
// lost from the sums, and a reader waits for no backlog.
import { mkdirSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import {
  IDENTICAL_PER_SECOND,
  DENIAL_KINDS_MAX,
} from "../../../src/store/decisions/denial-counts.ts";
import { DecisionSpool } from "../../../src/store/decisions/spool.ts";
import { StoreDecisionLog } from "../../../src/store/decision-log.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS, principalOf } from "../_decisions.ts";
import { askCore, openStoreCore } from "../_fixtures.ts";

/** A second's start, so that a test knows where it ends. */
const START_MS = NOW_MS - (NOW_MS % 1000);

function openLog(
  dataDir = temporaryDirectory(),
  life: {
    startMs?: number;
    decisionsKeptDays?: number;
    mayExpire?: () => boolean;
    readWaitMs?: number;
  } = {},
) {
  const ring = createDecisionRing();
  const { core } = openStoreCore(dataDir);
  const records = new StoreDecisionLog({
    core,
    rings: [ring],
    startMs: 1,
    decisionsKeptDays: 36_500,
    ...life,
  });
  const rowsOf = async (sql: string) => (await askCore(core, sql)).rows;
  return { core, records, writer: new DecisionRingWriter(ring, { waitMs: 0 }), rowsOf };
}

/** The same denial, under ids and times and drifting numbers of their own. */
function denial(n: number, change: object = {}) {
  const entry = entryOf(n, false);
  const same = { subject: "agent://shop/bad", stakes: 40, policyVersion: "p", ...change };
  return { ...entry, ...same, failureProbability: 0.5 + n / 1e6 };
}

test("a flood of one denial becomes a few rows, and every sum counts them all", async () => {
  const { core, records, writer, rowsOf } = openLog();
  const flood = 3 * 4000;
  for (let second = 0; second < 3; second++) {
    for (let n = 0; n < 4000; n++) {
      writer.record(denial(second * 4000 + n));
      if (n % 1000 === 999) records.ringDrain.drain(START_MS + second * 1000 + n / 5);
    }
  }
  writer.record(denial(1, { subject: "agent://shop/other" }));
  await records.ingestAll(START_MS + 3000);
  expect(
    await rowsOf(`SELECT subject, count(*), CAST(sum(stands_for) AS BIGINT), max(stands_for)
      FROM decisions GROUP BY ALL ORDER BY 1`),
  ).toEqual([
    ["agent://shop/bad", 3 * (IDENTICAL_PER_SECOND + 1), flood, 4000 - IDENTICAL_PER_SECOND],
    ["agent://shop/other", 1, 1, 1],
  ]);
  expect(await rowsOf("SELECT decisions, stakes_total FROM decisions_daily")).toEqual([
    [flood + 1, (flood + 1) * 40],
  ]);
  // A row that stands for others is a decision like any: its id, its inputs.
  const { legs } = await records.readDecisionPage(
    { tenant: undefined, limit: 1000, agent: "agent://shop/bad" },
    START_MS + 3000,
  );
  const counted = legs.find((leg) => leg.stands_for > 1)!;
  expect(counted.inputs[1]).toBe(Number(counted.request_id.slice("request-".length)) / 3);
  expect(records.readMetrics().decisionsCounted).toBe(3 * (4000 - IDENTICAL_PER_SECOND - 1));
  await records.close(START_MS + 3000);
  await core.close();
});

test.each([
  ["subject", { subject: "agent://shop/else" }],
  ["key", { principal: principalOf("other") }],
  ["level", { toolLevelIndex: 2 }],
  ["verdict", { verdictIndex: 1 }],
  ["reasons", { reasonCodes: ["THIN_FILE"] }],
  ["rule", { logReason: "SCORE_BELOW_MINIMUM" }],
  ["stakes", { stakes: 41 }],
])("denials that differ in %s are not counted together", async (_name, change) => {
  const { core, records, writer, rowsOf } = openLog();
  for (let n = 0; n < IDENTICAL_PER_SECOND + 5; n++) {
    writer.record(denial(n));
    writer.record(denial(n, change));
  }
  await records.ingestAll(START_MS);
  expect(
    await rowsOf("SELECT stands_for, count(*) FROM decisions GROUP BY ALL ORDER BY 1"),
  ).toEqual([
    [1, 2 * IDENTICAL_PER_SECOND],
    [5, 2],
  ]);
  await records.close(START_MS);
  await core.close();
});

test("denials of two callers by turns are told apart, whatever the lengths of their ids", async () => {
  const { core, records, writer, rowsOf } = openLog();
  const callers = ["shop", "émile"].map((tenant) => principalOf(tenant));
  const given = IDENTICAL_PER_SECOND + 3;
  for (let n = 0; n < given; n++) {
    for (const principal of callers) {
      writer.record(denial(n, { requestId: "r".repeat(1 + (n % 7)), principal }));
      writer.record(denial(n, { principal, reasonCodes: ["THIN_FILE", "NO_SOURCES"] }));
      writer.record(denial(n, { principal, reasonCodes: ["NO_SOURCES"], policyVersion: "q" }));
    }
  }
  await records.ingestAll(START_MS);
  const found = await rowsOf(`SELECT tenant, array_to_string(reason_codes, '+'), policy_version,
    count(*), CAST(sum(stands_for) AS BIGINT) FROM decisions GROUP BY ALL ORDER BY ALL`);
  expect(found).toHaveLength(6);
  for (const [tenant, codes, , rows, decisions] of found) {
    expect([tenant, codes, rows, decisions]).toEqual([
      expect.stringMatching(/shop|émile/),
      expect.any(String),
      IDENTICAL_PER_SECOND + 1,
      given,
    ]);
  }
  await records.close(START_MS);
  await core.close();
});

test("nothing goes while the clock is in doubt; then counts stay, a rebuild later too", async () => {
  const dataDir = temporaryDirectory();
  let isConfirmed = false;
  const life = { decisionsKeptDays: 30, mayExpire: () => isConfirmed };
  const first = openLog(dataDir, life);
  const given = 2 * IDENTICAL_PER_SECOND;
  const later = given + 30;
  const longAgo = { evaluatedAtMs: START_MS - 40 * 86_400_000 };
  for (let n = 0; n < given; n++) first.writer.record(denial(n, longAgo));
  first.records.ringDrain.drain(START_MS);
  for (let n = 0; n < later; n++) first.writer.record(denial(n, { evaluatedAtMs: START_MS }));
  await first.records.ingestAll(START_MS + 1000);
  const rows = "SELECT CAST(sum(stands_for) AS BIGINT) FROM decisions";
  const daily = "SELECT CAST(sum(decisions) AS BIGINT) FROM decisions_daily";
  expect(await first.rowsOf(rows)).toEqual([[given + later]]);
  isConfirmed = true;
  await first.records.ingestAll(START_MS + 2000);
  expect(await first.rowsOf(rows)).toEqual([[later]]);
  expect(await first.rowsOf(daily)).toEqual([[given + later]]);
  await first.records.close(START_MS + 3000);
  await first.core.close();
  for (const startMs of [2, 3]) {
    if (startMs === 3) rmSync(`${dataDir}/store`, { recursive: true });
    const next = openLog(dataDir, { ...life, startMs });
    await next.records.ingestAll(START_MS + 4000);
    expect(await next.rowsOf(rows)).toEqual([[later]]);
    expect(await next.rowsOf(daily)).toEqual([[given + later]]);
    await next.records.close(START_MS + 4000);
    await next.core.close();
  }
});

test("what lets through is never counted together, and many kinds are no burden", async () => {
  const { core, records, writer, rowsOf } = openLog();
  for (let n = 0; n < 150; n++) writer.record({ ...denial(n), isAllowed: true });
  records.ringDrain.drain(START_MS);
  for (let n = 0; n < DENIAL_KINDS_MAX + 100; n++) {
    writer.record(denial(n, { subject: `agent://shop/${n}` }));
    if (n % 4000 === 0) records.ringDrain.drain(START_MS);
  }
  records.ringDrain.drain(START_MS);
  // Beyond the bound they are rows of their own.
  const late = IDENTICAL_PER_SECOND + 10;
  for (let n = 0; n < late; n++) writer.record(denial(n, { subject: "agent://shop/late" }));
  await records.ingestAll(START_MS);
  const found = "SELECT count(*) FROM decisions WHERE subject = 'agent://shop/late'";
  expect(await rowsOf(found)).toEqual([[late]]);
  expect(await rowsOf("SELECT count(*) FROM decisions WHERE effective = 'allow'")).toEqual([[150]]);
  await records.close(START_MS);
  await core.close();
});

/** Eight bytes: the spool does not look into records. */
const recordLike = (value: number) => new Uint8Array(Float64Array.of(value).buffer);

test("the newest before a mark come first, and the oldest goes on waiting", () => {
  const spool = new DecisionSpool(temporaryDirectory(), 1);
  expect(spool.findNewestPendingBefore(spool.writtenUpTo)).toBeUndefined();
  spool.append([recordLike(1)], NOW_MS);
  spool.close();
  spool.append([recordLike(2)], NOW_MS + 1);
  const { writtenUpTo } = spool;
  const newest = spool.findNewestPendingBefore(writtenUpTo)!;
  spool.markIngested(newest.segment.name, newest.size, NOW_MS + 2);
  expect(spool.pendingSinceMs).toBe(NOW_MS);
  // What came since is for the next reader.
  spool.append([recordLike(3)], NOW_MS + 3);
  const oldest = spool.findNewestPendingBefore(writtenUpTo)!;
  expect(oldest).toEqual(spool.findOldestPending());
  expect(oldest.segment.name < newest.segment.name).toBe(true);
  spool.markIngested(oldest.segment.name, oldest.size, NOW_MS + 4);
  expect(spool.pendingSinceMs).toBe(NOW_MS + 4);
  expect(spool.findNewestPendingBefore(writtenUpTo)).toBeUndefined();
  expect(spool.findNewestPendingBefore(spool.writtenUpTo)).toMatchObject({ from: newest.size });
});

test("a read waits for no backlog: it has the newest decisions and says what is missing", async () => {
  const { core, records, writer } = openLog();
  let nowMs = START_MS;
  // Some 25 MB that the database has yet to take.
  for (let n = 0; n < 40_000; n++) {
    writer.record(denial(n, { subject: `agent://shop/${n}` }));
    if (n % 5000 === 4999) records.ringDrain.drain((nowMs += 50));
  }
  writer.record(denial(100_001, { subject: "agent://shop/newest" }));
  // The lane of the queries is taken for as long as the test lasts.
  let release = () => undefined as void;
  const query = core.readQueue.read(() => new Promise<void>((resolve) => (release = resolve)));
  const filter = { tenant: undefined, limit: 1 };
  const newest = await records.readDecisionPage(filter, nowMs);
  expect(newest.legs.map((leg) => leg.subject)).toEqual(["agent://shop/newest"]);
  // What was missing then may have been taken meanwhile; the other way round it would be a lie.
  if (newest.isComplete) expect(records.readMetrics().spoolBytes).toBe(0);
  release();
  await query;
  await records.ingestAll(nowMs);
  expect((await records.readDecisionPage(filter, nowMs)).isComplete).toBe(true);
  await records.close(nowMs);
  await core.close();
});

test("a first read has the newest decisions, however long the database takes to open", async () => {
  const { core, records, writer } = openLog(undefined, { readWaitMs: 0 });
  writer.record(denial(1));
  let release = () => undefined as void;
  const apply = core.write(() => new Promise<void>((resolve) => (release = resolve)));
  const filter = { tenant: undefined, limit: 1 };
  const page = records.readDecisionPage(filter, START_MS);
  // An apply is in front of it until the database has answered another reader.
  await core.logQueue.read(() => Promise.resolve());
  release();
  await apply;
  expect(await page).toMatchObject({ legs: [{ subject: "agent://shop/bad" }], isComplete: true });
  await records.close(START_MS);
  await core.close();
});

test("counts that the disk refuses are written once, when it takes them", async () => {
  const { core, records, writer, rowsOf } = openLog();
  const given = IDENTICAL_PER_SECOND + 20;
  for (let n = 0; n < given; n++) writer.record(denial(n));
  const spool = core.keptDirectory;
  rmSync(spool, { recursive: true });
  expect(() => records.ringDrain.drain(START_MS)).toThrow("ENOENT");
  expect(() => records.ringDrain.drain(START_MS + 1500)).toThrow("ENOENT");
  mkdirSync(spool);
  await records.ingestAll(START_MS + 3000);
  expect(await rowsOf("SELECT count(*), CAST(sum(stands_for) AS BIGINT) FROM decisions")).toEqual([
    [IDENTICAL_PER_SECOND + 1, given],
  ]);
  await records.close(START_MS + 3000);
  await core.close();
});
