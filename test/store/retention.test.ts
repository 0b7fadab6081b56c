// Outcomes that are past their time: rows go, daily counts stay, and a rebuild from a journal that
// still holds them brings none of them back.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFileLayer } from "../../src/platform/files.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { JournalFollower } from "../../src/store/journal-follower.ts";
import { decodeStoreRows } from "../../src/threads/store-payloads.ts";
import { recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { askCore, catchUp, LIMITS, openJournal } from "./_fixtures.ts";

const DAY_MS = 86_400_000;
const TODAY_MS = Date.UTC(2026, 4, 10);
const KEPT_DAYS = 30;
const DAYS = 40;
const PER_DAY = 12;

const DAILY = `SELECT day::VARCHAR, subject, outcomes, successes, failures, stakes_total,
  stakes_failed, reporters FROM agents_daily ORDER BY ALL`;

/** Outcomes of forty days, settled up to two days before they were recorded. */
function fill(dataDir: string): void {
  const journal = openJournal(dataDir);
  for (let day = 0; day < DAYS; day++) {
    const records = Array.from({ length: PER_DAY }, (_, n) => {
      const recordedAtMs = TODAY_MS - day * DAY_MS + n * 1000;
      const settledAtMs = recordedAtMs - (n % 3) * DAY_MS;
      const tenant = n % 2 === 0 ? "acme" : "zebra";
      return recordOf(day * PER_DAY + n, { recordedAtMs, settledAtMs, tenant });
    });
    journal.commit([runOf(records)], TODAY_MS);
  }
  journal.close();
}

function open(
  dataDir: string,
  clock: () => number,
  outcomesKeptDays = KEPT_DAYS,
  mayExpire = () => true,
): JournalFollower {
  return new JournalFollower({
    mayExpire,
    directory: join(dataDir, "store"),
    reader: new JournalReader(diskFileLayer, join(dataDir, "journal")),
    describeRecord: decodeStoreRows,
    outcomesKeptDays,
    clock,
    memoryMegabytes: 512,
    log: (event, detail) => {
      throw new Error(`${event}: ${detail}`);
    },
  });
}

const ACME = { tenant: "acme", withheld: [] };

const rowsOf = async (core: JournalFollower, sql: string) => (await askCore(core, sql)).rows;

test("rows go by whole days, counts of every day stay as they were", async () => {
  const dataDir = temporaryDirectory();
  fill(dataDir);
  let nowMs = TODAY_MS + 3_600_000;
  const core = open(dataDir, () => nowMs, 36_500);
  await catchUp(core, DAYS * PER_DAY);
  const before = await rowsOf(core, DAILY);
  const tenantBefore = (await core.readQueue.query({ sql: DAILY }, LIMITS, ACME)).rows;
  await core.close();

  const later = open(dataDir, () => nowMs);
  await later.expire();
  const kept = (KEPT_DAYS + 1) * PER_DAY;
  expect(
    await rowsOf(later, "SELECT count(*), min(recorded_at)::DATE::VARCHAR FROM outcomes"),
  ).toEqual([[kept, "2026-04-10"]]);
  expect(await rowsOf(later, DAILY)).toEqual(before);
  expect((await later.readQueue.query({ sql: DAILY }, LIMITS, ACME)).rows).toEqual(tenantBefore);
  // The next day takes the next rows.
  await later.expire();
  expect(await rowsOf(later, "SELECT count(*) FROM outcomes")).toEqual([[kept]]);
  nowMs += DAY_MS;
  await later.expire();
  expect(await rowsOf(later, "SELECT count(*) FROM outcomes")).toEqual([[kept - PER_DAY]]);
  expect(await rowsOf(later, DAILY)).toEqual(before);
  expect(later.applied).toMatchObject({ outcomeCount: 480, expiredCount: 480 - kept + PER_DAY });
  await later.close();
  // It adds up after a restart: no rebuild.
  const again = open(dataDir, () => nowMs);
  await catchUp(again, DAYS * PER_DAY);
  expect(again.rebuildCount).toBe(0);
  expect(await rowsOf(again, DAILY)).toEqual(before);
  await again.close();
});

test("a rebuild brings nothing back that has expired", async () => {
  const dataDir = temporaryDirectory();
  fill(dataDir);
  const clock = () => TODAY_MS + 3_600_000;
  const whole = open(dataDir, clock, 36_500);
  await catchUp(whole, DAYS * PER_DAY);
  const daily = await rowsOf(whole, DAILY);
  await whole.close();
  fs.rmSync(join(dataDir, "store"), { recursive: true });

  const core = open(dataDir, clock);
  // In several transactions: what has expired is never there, not even on the way.
  for (const upTo of [100, 200, 333, DAYS * PER_DAY]) {
    await catchUp(core, upTo);
    expect(
      await rowsOf(
        core,
        "SELECT count(*) FROM outcomes WHERE recorded_at < TIMESTAMP '2026-04-10'",
      ),
    ).toEqual([[0]]);
  }
  expect(await rowsOf(core, "SELECT count(*) FROM outcomes")).toEqual([
    [(KEPT_DAYS + 1) * PER_DAY],
  ]);
  expect(await rowsOf(core, DAILY)).toEqual(daily);
  await core.close();
});

test("nothing is too old while the clock is in doubt", async () => {
  const dataDir = temporaryDirectory();
  fill(dataDir);
  let isConfirmed = false;
  const setMs = TODAY_MS + 400 * DAY_MS;
  const core = open(
    dataDir,
    () => setMs,
    KEPT_DAYS,
    () => isConfirmed,
  );
  await catchUp(core, DAYS * PER_DAY);
  await core.expire();
  expect(await rowsOf(core, "SELECT count(*) FROM outcomes")).toEqual([[DAYS * PER_DAY]]);
  isConfirmed = true;
  await core.expire();
  expect(await rowsOf(core, "SELECT count(*) FROM outcomes")).toEqual([[0]]);
  await core.close();
});
