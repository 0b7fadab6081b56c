// The store equals the journal: after catching up, after a stall, after a crash in the middle.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { repairJournal } from "../../src/journal/repair.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { parseSegmentNames } from "../../src/journal/format.ts";
import { NOW_MS, recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import {
  askCore,
  catchUp,
  fillJournal,
  LIMITS,
  openJournal,
  openStore,
  openStoreCore,
} from "./_fixtures.ts";

test("every member of every outcome is there, in order", async () => {
  const dataDir = temporaryDirectory();
  const records = fillJournal(dataDir, 1, 450);
  const { store, log } = await openStore(dataDir);
  const { rows, columns } = await store.query("FROM outcomes ORDER BY position", LIMITS);
  expect(columns.map((column) => column.name)).toEqual([
    "position",
    "outcome_id",
    "subject",
    "subject_namespace",
    "reporter",
    "reporter_namespace",
    "outcome",
    "stakes",
    "grade",
    "signature",
    "settled_at",
    "recorded_at",
    "agent_fault",
    "tenant",
    "action",
    "request_id",
    "source",
    "kid",
    "jti",
    "evidence_id",
    "evidence_index",
    "body_digest",
    "incident_id",
    "stakes_scored",
    "counted_share",
    "signed_by",
    "claimed_grade",
    "attested",
    "transaction_id",
    "settled_local",
    "recorded_local",
  ]);
  expect(rows).toEqual(
    records.map((record, index) => [
      index + 1,
      record.outcomeId,
      record.subject,
      "shop",
      record.reporter,
      "shop",
      record.outcome,
      record.stakes,
      GRADES[record.gradeIndex],
      "none",
      new Date(record.settledAtMs).toISOString(),
      new Date(record.recordedAtMs).toISOString(),
      true,
      "acme",
      "purchase",
      "",
      "api",
      null,
      null,
      null,
      null,
      null,
      null,
      record.stakes,
      1,
      "none",
      GRADES[record.gradeIndex],
      null,
      null,
      new Date(record.settledAtMs).toISOString().replace("Z", "+00:00"),
      new Date(record.recordedAtMs).toISOString().replace("Z", "+00:00"),
    ]),
  );
  expect(log).toEqual([]);
  await store.close();
});

test("grades stand as they weigh, beside what was sent, in older records of strangers too", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const [onchain, counterparty] = [GRADES.indexOf("onchain"), GRADES.indexOf("counterparty")];
  const attestation = { attester: "cosigned", transactionId: "deal-1" } as const;
  const records = [
    { gradeIndex: onchain, voice: 7 },
    { gradeIndex: onchain, voice: 7, isFirstParty: true },
    { gradeIndex: counterparty, claimedGradeIndex: onchain },
    { gradeIndex: GRADES.indexOf("mediator"), claimedGradeIndex: counterparty, attestation },
  ].map((changes, index) => recordOf(index, changes));
  journal.commit([runOf(records)], NOW_MS);
  journal.close();
  const { store } = await openStore(dataDir);
  const sql =
    "SELECT grade, claimed_grade, attested, transaction_id FROM outcomes ORDER BY position";
  expect((await store.query(sql, LIMITS)).rows).toEqual([
    ["counterparty", "onchain", null, null],
    ["onchain", "onchain", null, null],
    ["counterparty", "onchain", null, null],
    ["mediator", "counterparty", "cosigned", "deal-1"],
  ]);
  await store.close();
});

test("the views say what their comments say", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const changes = [
    { outcome: 1, stakes: 10, reporter: "agent://r/1" },
    { outcome: 0, stakes: 30, reporter: "agent://r/2", signature: "reporter" },
    { outcome: 0, stakes: 5, reporter: "agent://r/2", isAgentFault: false },
  ] as const;
  const records = changes.map((change, index) => recordOf(index, { ...change, subject: "s" }));
  journal.commit([runOf(records)], NOW_MS);
  journal.close();
  const { store } = await openStore(dataDir);
  const ask = async (sql: string) => (await store.query(sql, LIMITS)).rows;
  expect(await ask("FROM agents_daily")).toEqual([["s", "2026-01-02", 2, 1, 1, 0.5, 40, 30, 2]]);
  const settled = ["2026-01-02T03:04:04.678Z", "2026-01-02T03:04:04.678Z"];
  const stranger = [null, false, null, false];
  expect(await ask("FROM reporters ORDER BY reporter")).toEqual([
    ["agent://r/1", 1, 1, 0, 0, 10, 0, ...settled, ...stranger],
    ["agent://r/2", 2, 1, 2, 1, 35, 0.5, ...settled, ...stranger],
  ]);
  // A plain string is an agent of its own, without a namespace.
  expect(await ask("SELECT DISTINCT subject_namespace FROM outcomes")).toEqual([[null]]);
  const undocumented = await ask(
    `SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL
     UNION ALL SELECT column_name FROM duckdb_columns()
     WHERE table_name = 'outcomes' AND comment IS NULL`,
  );
  expect(undocumented).toEqual([]);
  await store.close();
});

test("an outcome is signed by its reporter alone where that signed it", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const changes = [
    { signature: "reporter" },
    // A first-party key carried what the reporter signed.
    { signature: "reporter", isFirstParty: true },
    { signature: "none", isFirstParty: true },
    { signature: "bureau", isFirstParty: true, source: "import:a" },
    { signature: "none" },
  ] as const;
  const records = changes.map((change, i) => recordOf(i, { ...change, reporter: "agent://r/1" }));
  journal.commit([runOf(records)], NOW_MS);
  journal.close();
  const { store } = await openStore(dataDir);
  const { rows } = await store.query("SELECT signed_by FROM outcomes ORDER BY position", LIMITS);
  expect(rows.flat()).toEqual(["reporter", "reporter", "bureau", "import", "none"]);
  const shares = await store.query("SELECT signed_share FROM reporters", LIMITS);
  expect(shares.rows).toEqual([[0.4]]);
  await store.close();
});

test("catches up from where it was, across segments, by parts", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 300);
  const { core } = openStoreCore(dataDir);
  await catchUp(core, 120);
  expect(core.applied).toMatchObject({ lsn: 120, outcomeCount: 120 });
  await core.close();
  fillJournal(dataDir, 301, 6000);
  const { core: next, log } = openStoreCore(dataDir);
  await catchUp(next, 6300);
  expect(next.applied.outcomeCount).toBe(6300);
  const { rows } = await askCore(
    next,
    "SELECT count(*), count(DISTINCT position), min(position), max(position) FROM outcomes",
  );
  expect(rows).toEqual([[6300, 6300, 1, 6300]]);
  expect(parseSegmentNames(fs.readdirSync(join(dataDir, "journal"))).length).toBeGreaterThan(3);
  expect(log).toEqual([]);
  await next.close();
});

test("never reads beyond what it was told is durable", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 50);
  const { core } = openStoreCore(dataDir);
  await catchUp(core, 17);
  expect((await askCore(core, "SELECT max(position) FROM outcomes")).rows).toEqual([[17]]);
  await core.close();
});

test("a journal of another bureau: rebuilt from what it holds now; so is one rewritten", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 200);
  const { store } = await openStore(dataDir);
  await store.close();
  fs.rmSync(join(dataDir, "journal"), { recursive: true });
  fs.rmSync(join(dataDir, "bureau.key"));
  fillJournal(dataDir, 1000, 150);
  const { store: behind, log } = await openStore(dataDir);
  expect(log).toMatchObject([{ event: "store_rebuild" }]);
  expect(behind.status()).toMatchObject({ rebuildCount: 1, outcomeCount: 150 });
  await behind.close();
  // The same length, other outcomes: told apart by the last record's checksum.
  fs.rmSync(join(dataDir, "journal"), { recursive: true });
  fillJournal(dataDir, 2000, 150);
  const { store: other, log: again } = await openStore(dataDir);
  expect(again).toMatchObject([{ event: "store_rebuild" }]);
  const { rows } = await other.query("SELECT min(stakes) FROM outcomes", LIMITS);
  expect(rows).toEqual([[2000.25]]);
  await other.close();
});

test.each([0, 150])(
  "a journal that ends at %i, before the rows: nothing is touched",
  async (end) => {
    const dataDir = temporaryDirectory();
    fillJournal(dataDir, 1, 200);
    const { store } = await openStore(dataDir);
    await store.close();
    fs.rmSync(join(dataDir, "journal"), { recursive: true });
    if (end > 0) fillJournal(dataDir, 1, end);
    await expect(openStore(dataDir)).rejects.toThrow(
      `positions ${end + 1} to 200 are missing at its end, says the store`,
    );
    expect(fs.readdirSync(join(dataDir, "store"))).toEqual(["outcomes.duckdb"]);
  },
);

test("a gap that repair declared is passed over", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 300);
  const journal = join(dataDir, "journal");
  const [first] = parseSegmentNames(fs.readdirSync(journal));
  const path = join(journal, first?.name ?? "");
  const bytes = fs.readFileSync(path);
  const at = bytes.indexOf("seller-3");
  bytes[at] = (bytes[at] as number) ^ 1;
  fs.writeFileSync(path, bytes);
  const key = loadBureauKey(join(dataDir, "bureau.key"));
  const report = repairJournal({
    files: diskFileLayer,
    directory: journal,
    key,
    epoch: 2,
    nowMs: NOW_MS,
  });
  expect(report.lost).toEqual([{ firstLost: 3, lastLost: 3 }]);
  const { store } = await openStore(dataDir);
  const { rows } = await store.query("SELECT count(*), max(position) FROM outcomes", LIMITS);
  expect(rows).toEqual([[299, 300]]);
  await store.close();
  const { store: again, log } = await openStore(dataDir);
  expect(log).toEqual([]);
  await again.close();
});
