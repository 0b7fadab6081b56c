// The keeper of quotas on a real file, with a fake clock: what it warns of, the turn of a month, what a
// start finds, and files that are none.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createQuotaMemory } from "../../../src/http/access/quota-memory.ts";
import { QuotaGuard } from "../../../src/http/access/quotas.ts";
import { EarlierPaidReads } from "../../../src/service/usage/metering.ts";
import { openQuotas } from "../../../src/service/usage/quota-manager.ts";
import { createUsageCounts } from "../../../src/contract/usage.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";

async function openKeeper(dataDir = temporaryDirectory()) {
  const clock = { nowMs: Date.parse("2026-01-31T23:59:59.000Z") };
  const now = () => clock.nowMs;
  const used = new Map<string, number>();
  const events: string[] = [];
  const memory = createQuotaMemory();
  const quotas = await openQuotas({
    dataDir,
    memory,
    look: () => undefined,
    paidIn: (month, tenant) => used.get(`${month} ${tenant}`) ?? 0,
    clock: now,
    logger: { warn: (event, fields) => void events.push(`${event} ${String(fields?.["tenant"])}`) },
  });
  return { dataDir, clock, used, events, quotas, guard: new QuotaGuard(memory, now) };
}

it("warns at 80 % and at the end, once a month, and a new month begins with all of it", async () => {
  const { clock, used, events, quotas, guard } = await openKeeper();
  await quotas.set("acme", 10);
  const read = (month: string, count: number) => {
    used.set(`${month} acme`, count);
    quotas.tell();
  };
  read("2026-01", 7);
  expect(events).toEqual([]);
  read("2026-01", 8);
  read("2026-01", 9);
  expect(events).toEqual(["quota_nearly_used acme"]);
  read("2026-01", 10);
  quotas.tell();
  expect(events).toEqual(["quota_nearly_used acme", "quota_used_up acme"]);
  expect(guard.readStatus("acme")?.fault?.retryAfterSec).toBe(1);
  expect(quotas.find("acme")).toEqual({
    tenant: "acme",
    paid_reads_per_month: 10,
    used: 10,
    remaining: 0,
    resets_at: "2026-02-01T00:00:00.000Z",
  });
  clock.nowMs += 1000;
  quotas.tell();
  expect(guard.readStatus("acme")).toMatchObject({
    headers: ["RateLimit-Policy", '"month";q=10;w=2419200', "RateLimit", '"month";r=10;t=2419200'],
    fault: undefined,
  });
  read("2026-02", 9);
  expect(events.slice(2)).toEqual(["quota_nearly_used acme"]);
});

it("quotas are there after a start, and gone when they were taken away", async () => {
  const { dataDir, quotas } = await openKeeper();
  await Promise.all([quotas.set("acme", 10), quotas.set("other", 0), quotas.set("acme", 20)]);
  const again = await openKeeper(dataDir);
  expect(again.quotas.list()).toMatchObject([
    { tenant: "acme", paid_reads_per_month: 20 },
    { tenant: "other", paid_reads_per_month: 0 },
  ]);
  expect(again.guard.readStatus("other")?.fault?.code).toBe("quota_exceeded");
  await again.quotas.remove("other");
  expect(again.guard.readStatus("other")).toBeUndefined();
  await expect(again.quotas.remove("other")).rejects.toMatchObject({ code: "not_found" });
  expect((await openKeeper(dataDir)).quotas.list()).toHaveLength(1);
});

it("a file that is no list of quotas ends the start: none may vanish by a slip", async () => {
  const { dataDir, quotas } = await openKeeper();
  await quotas.set("acme", 10);
  const file = join(dataDir, "quotas.json");
  const good = readFileSync(file, "utf8");
  for (const text of ["", "[]", good.replace("10", "-1"), good.replace("10", '"10"')]) {
    writeFileSync(file, text);
    await expect(openKeeper(dataDir)).rejects.toThrow(/quotas\.json` is no list of quotas/);
  }
});

it("reads of earlier processes count, and those of later months are nobody's", async () => {
  const row = (meter: string, verify: number) => ({
    meter,
    day: "",
    key_id: "",
    tenant: "acme",
    ...createUsageCounts(),
    verify,
    test: 99,
  });
  const asked: unknown[] = [];
  const earlier = new EarlierPaidReads({
    store: {
      waitUntilApplied: async (position) => void asked.push(position),
      readUsage: async (range) => {
        asked.push(range);
        return [row("", 40), row("own", 2)];
      },
    },
    meter: "own",
    since: 17,
    month: "2026-01",
    logger: { warn: () => undefined },
  });
  expect(earlier.paidIn("2026-01", "acme")).toBe(0);
  await earlier.load();
  expect(asked).toEqual([
    17,
    expect.objectContaining({ from: "2026-01-01", to: "2026-01-31", isByTenant: true }),
  ]);
  expect(earlier.paidIn("2026-01", "acme")).toBe(40);
  expect(earlier.paidIn("2026-02", "acme")).toBe(0);
  earlier.close();
});
