// The keeper of usage over real thread memory: what it journals, when the journal refuses, and at the
// turn of a month; a fake clock.
import { expect, it } from "vitest";
import type { Principal } from "../../../src/contract/principal.ts";
import { type UsageRow, UsageSums } from "../../../src/contract/usage.ts";
import { DAY_MS } from "../../../src/contract/units.ts";
import { createUsageMemory } from "../../../src/http/access/usage-memory.ts";
import { UsageMeter } from "../../../src/http/access/usage.ts";
import { decodeUsage } from "../../../src/contract/usage-records.ts";
import { UsageJournalWriter } from "../../../src/service/usage/usage-journal-writer.ts";

const KEYS = ["k0", "k1"];
const AGENT = "agent://shop/buyer";
const holder = (keyId: string) => ({ keyId, tenant: "acme" }) as Principal;

function openKeeper() {
  const clock = { nowMs: Date.parse("2026-01-31T23:59:59.900Z") };
  const now = () => clock.nowMs;
  const memories = [createUsageMemory(), createUsageMemory()];
  const meters = memories.map(
    (memory) => new UsageMeter({ now, memory, findKeyNumber: (keyId) => KEYS.indexOf(keyId) }),
  );
  const journal: UsageRow[][] = [];
  const events: string[] = [];
  const disk = { isFull: false };
  const keeper = new UsageJournalWriter({
    meter: "m",
    memories,
    accountOf: (number) => ({ keyId: KEYS[number]!, tenant: "acme" }),
    log: {
      appendUsage: async (payload) => {
        if (disk.isFull) throw new Error("no room");
        journal.push(decodeUsage(payload));
        return journal.length;
      },
    },
    clock: now,
    logger: { error: (event) => void events.push(event), info: (event) => void events.push(event) },
  });
  const read = (thread: number, key: string, times = 1) => {
    for (let n = 0; n < times; n++) meters[thread]!.countRead(holder(key), "verify", AGENT);
  };
  return { clock, journal, events, disk, keeper, read };
}

const brief = (rows: readonly UsageRow[] = []) =>
  rows.map(({ day, key_id: key, verify }) => `${day} ${key} ${verify}`);

it("journals sums over all threads, of the keys that rose alone, and nothing while nothing does", async () => {
  const { journal, keeper, read } = openKeeper();
  await keeper.keep();
  expect(journal).toEqual([]);
  read(0, "k0", 2);
  read(1, "k0", 3);
  read(1, "k1");
  await keeper.keep();
  expect(brief(journal[0])).toEqual(["2026-01-31 k0 5", "2026-01-31 k1 1"]);
  await keeper.keep();
  expect(journal).toHaveLength(1);
  read(0, "k1", 4);
  await keeper.keep();
  expect(brief(journal[1])).toEqual(["2026-01-31 k1 5"]);
  expect(keeper.journaledCount).toBe(3);
});

it("reads on both sides of midnight are billed to their months, and old days let go", async () => {
  const { clock, journal, keeper, read } = openKeeper();
  read(0, "k0", 2);
  clock.nowMs += 200;
  read(1, "k0", 3);
  await keeper.keep();
  expect(brief(journal[0])).toEqual(["2026-01-31 k0 2", "2026-02-01 k0 3"]);
  clock.nowMs += DAY_MS;
  // One thread begins the new day over the old cells, the other has not looked at the clock yet.
  read(0, "k0", 1);
  await keeper.keep();
  expect(brief(journal[1])).toEqual(["2026-02-02 k0 1"]);
  expect(brief(keeper.rows()).toSorted()).toEqual(["2026-02-01 k0 3", "2026-02-02 k0 1"]);
  const sums = new UsageSums();
  for (const row of journal.flat()) sums.merge(row);
  expect(brief(sums.listRows())).toEqual(["2026-01-31 k0 2", "2026-02-01 k0 3", "2026-02-02 k0 1"]);
});

it("a journal that refuses loses nothing: the next record has it all, told of once", async () => {
  const { journal, events, disk, keeper, read } = openKeeper();
  disk.isFull = true;
  read(0, "k0", 2);
  await keeper.keep();
  read(0, "k0");
  await keeper.keep();
  expect([journal.length, keeper.failedCount]).toEqual([0, 2]);
  disk.isFull = false;
  await keeper.close();
  expect(brief(journal[0])).toEqual(["2026-01-31 k0 3"]);
  expect(events).toEqual(["usage_not_journaled", "usage_journaled_again"]);
});

it("knows when each key was last used, to the look that found it", () => {
  const { clock, keeper, read } = openKeeper();
  const [began, times] = [clock.nowMs, () => Object.fromEntries(keeper.lastUses())];
  read(0, "k0");
  expect(times()).toEqual({ k0: began });
  clock.nowMs += 5000;
  read(1, "k1");
  expect(times()).toEqual({ k0: began, k1: began + 5000 });
  clock.nowMs += 5000;
  expect(times()).toEqual({ k0: began, k1: began + 5000 });
  read(1, "k0");
  expect(times()).toEqual({ k0: began + 10_000, k1: began + 5000 });
});
