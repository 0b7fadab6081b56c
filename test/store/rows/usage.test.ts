// Usage in the store: a row of each record, sums of them in the view and for a tenant's report, and
// rows that newer ones have replaced, which go.
import { expect, test } from "vitest";
import { createUsageCounts, type UsageRow } from "../../../src/contract/usage.ts";
import { encodeUsage } from "../../../src/contract/usage-records.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import {
  deleteReplacedUsageRows,
  countReplacedUsageRows,
  readUsageRows,
} from "../../../src/store/rows/usage.ts";
import { NOW_MS, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { askCore, catchUp, openJournal, openStoreCore } from "../_fixtures.ts";

const row = (meter: string, day: string, key: string, verify: number, more: object = {}) =>
  ({
    meter,
    day,
    key_id: key,
    tenant: "acme",
    ...createUsageCounts(),
    verify,
    ...more,
  }) as UsageRow;

test("the largest sums of each meter are added up, replayed or compacted or not", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const append = (...rows: UsageRow[]) => {
    const batch = new FrameBatch();
    for (const payload of encodeUsage(rows[0]!.meter, rows)) {
      batch.addEvent(FRAME_KINDS.usage, payload);
    }
    journal.commit([batch.drain()], NOW_MS);
  };
  const { core } = openStoreCore(dataDir);
  append(row("a", "2026-01-31", "k1", 2));
  await catchUp(core, journal.lsn);
  append(row("a", "2026-01-31", "k1", 5), row("a", "2026-02-01", "k1", 1));
  append(row("a", "2026-01-31", "k1", 5), row("a", "2026-01-31", "k2", 9, { tenant: "other" }));
  await catchUp(core, journal.lsn);
  append(row("b", "2026-01-31", "k1", 4, { check: 1, test: 7, outcomes: 3 }));
  await catchUp(core, journal.lsn);
  const shown = async () => {
    const sql = `SELECT day::VARCHAR, tenant, key_id, paid_reads, verify_reads, check_reads,
      test_reads, outcomes_reported, position FROM usage ORDER BY ALL`;
    return (await askCore(core, sql)).rows;
  };
  const all = [
    ["2026-01-31", "acme", "k1", 10, 9, 1, 7, 3, 4],
    ["2026-01-31", "other", "k2", 9, 9, 0, 0, 0, 3],
    ["2026-02-01", "acme", "k1", 1, 1, 0, 0, 0, 3],
  ];
  expect(await shown()).toEqual(all);
  const asked = (more: object) =>
    core.readQueue.read((reader) =>
      readUsageRows(reader, {
        from: "2026-01-31",
        to: "2026-01-31",
        meter: "",
        rowsMax: 10,
        ...more,
      }),
    );
  expect(await asked({ tenant: "acme", meter: "b" })).toMatchObject([
    { meter: "", key_id: "k1", verify: 5 },
    { meter: "b", key_id: "k1", verify: 4, check: 1 },
  ]);
  expect(await asked({ to: "2026-02-01" })).toMatchObject([
    { day: "2026-01-31", tenant: "acme", verify: 9 },
    { day: "2026-01-31", tenant: "other", verify: 9 },
    { day: "2026-02-01", tenant: "acme", verify: 1 },
  ]);
  expect(await asked({ tenant: "it's nobody" })).toEqual([]);
  let replaced = await core.readQueue.read(countReplacedUsageRows);
  expect(replaced).toBe(1);
  await core.write(deleteReplacedUsageRows);
  replaced = await core.readQueue.read(countReplacedUsageRows);
  expect(replaced).toBe(0);
  expect(await shown()).toEqual(all);
  await core.close();
  journal.close();
});
