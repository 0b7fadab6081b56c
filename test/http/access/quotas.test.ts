// The guard of quotas over the board that threads share: what callers are told, when they are refused,
// and how long they are told to wait.
import { expect, it } from "vitest";
import {
  createQuotaMemory,
  QuotaWriter,
  QUOTAS_MAX,
} from "../../../src/http/access/quota-memory.ts";
import { QuotaGuard } from "../../../src/http/access/quotas.ts";

const END_MS = Date.parse("2026-03-01T00:00:00.000Z");

function openGuard() {
  const clock = { nowMs: END_MS - 10 * 86_400_000 };
  const memory = createQuotaMemory();
  const board = new QuotaWriter(memory);
  board.monthEndMs = END_MS;
  return { clock, board, guard: new QuotaGuard(memory, () => clock.nowMs) };
}

it("a tenant with a quota is told what is left, others nothing", () => {
  const { board, guard } = openGuard();
  expect(guard.readStatus("acme")).toBeUndefined();
  board.write("käufer", 1000, 3);
  board.write("acme", 10, 4);
  expect(guard.readStatus("other")).toBeUndefined();
  expect(guard.readStatus("acme")).toEqual({
    headers: ["RateLimit-Policy", '"month";q=10;w=2419200', "RateLimit", '"month";r=6;t=864000'],
    fault: undefined,
  });
  expect(guard.readStatus("käufer")?.headers[3]).toBe('"month";r=997;t=864000');
});

it("one that has used it up is refused, until it is raised, taken away or the month is over", () => {
  const { clock, board, guard } = openGuard();
  board.write("acme", 10, 12);
  expect(guard.readStatus("acme")).toMatchObject({
    headers: ["RateLimit-Policy", expect.anything(), "RateLimit", '"month";r=0;t=864000'],
    fault: {
      code: "quota_exceeded",
      detail: "the tenant has used 12 of its 10 paid reads of this month",
      errors: [{ pointer: "/paid_reads_per_month", code: "quota_exceeded" }],
      retryAfterSec: 3600,
    },
  });
  clock.nowMs = END_MS - 2500;
  expect(guard.readStatus("acme")?.fault?.retryAfterSec).toBe(3);
  board.write("acme", 13, 12);
  expect(guard.readStatus("acme")?.fault).toBeUndefined();
  board.write("acme", 13, 13);
  expect(guard.readStatus("acme")?.fault?.code).toBe("quota_exceeded");
  board.write("acme", undefined, 0);
  expect(guard.readStatus("acme")).toBeUndefined();
  board.write("acme", 0, 0);
  expect(guard.readStatus("acme")?.fault?.code, "none at all").toBe("quota_exceeded");
});

it("what is told is made once while nothing changes", () => {
  const { clock, board, guard } = openGuard();
  board.write("acme", 10, 4);
  const told = guard.readStatus("acme");
  clock.nowMs += 10;
  expect(guard.readStatus("acme")).toBe(told);
  board.write("acme", 10, 5);
  expect(guard.readStatus("acme")).not.toBe(told);
});

it("the board has room for so many tenants, and finds each again", () => {
  const { board, guard } = openGuard();
  for (let n = 0; n < QUOTAS_MAX; n++) board.write(`tenant-${n}`, n, 0);
  expect([board.hasCapacityFor("tenant-7"), board.hasCapacityFor("more")]).toEqual([true, false]);
  expect(guard.readStatus("tenant-9999")?.headers[1]).toBe('"month";q=9999;w=2419200');
  expect(guard.readStatus("tenant-0")?.fault?.code).toBe("quota_exceeded");
});
