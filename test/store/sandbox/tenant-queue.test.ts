// Turns of tenants in the line of queries, its bounds, and the waits after queries stopped by force.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  SANDBOX_QUERIES_MAX,
  SANDBOX_QUERIES_PER_TENANT_MAX,
  TenantQueryQueue,
  QUERY_TRIAL_MS,
  QueryBackoff,
  QueryTrialEnded,
} from "../../../src/store/sandbox/tenant-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A line whose queries end one by one, as the test says. */
function openLine() {
  const line = new TenantQueryQueue(30_000);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (tenant: string) => {
    const asked = line.run(tenant, () => {
      begun.push(tenant);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    asked.catch(() => undefined);
    return asked;
  };
  const endOne = async () => {
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { line, begun, ask, endOne };
}

test("tenants take turns, however many queries one of them has in line", async () => {
  const { line, begun, ask, endOne } = openLine();
  for (let n = 0; n < SANDBOX_QUERIES_PER_TENANT_MAX; n++) void ask("many");
  void ask("one");
  void ask("two");
  expect(line.length).toBe(SANDBOX_QUERIES_PER_TENANT_MAX + 2);
  await vi.advanceTimersByTimeAsync(0);
  for (let n = 0; n < 4; n++) await endOne();
  expect(begun).toEqual(["many", "many", "one", "two", "many"]);
});

test("next is the tenant with the fewest seconds in the last minute", async () => {
  const { begun, ask, endOne } = openLine();
  const askFor = async (tenant: string, ms: number) => {
    void ask(tenant);
    await vi.advanceTimersByTimeAsync(ms);
    await endOne();
  };
  await askFor("eight", 8000);
  await askFor("three", 3000);
  begun.length = 0;
  void ask("runs");
  for (const tenant of ["eight", "three", "none"]) void ask(tenant);
  for (let n = 0; n < 5; n++) await endOne();
  expect(begun).toEqual(["runs", "none", "three", "eight"]);
  // A minute later everybody is equal again, in the order of asking.
  await vi.advanceTimersByTimeAsync(60_000);
  begun.length = 0;
  void ask("runs");
  for (const tenant of ["eight", "three", "none"]) void ask(tenant);
  for (let n = 0; n < 5; n++) await endOne();
  expect(begun).toEqual(["runs", "eight", "three", "none"]);
});

test("a query that begins while others wait is tried first, and waits again for its full time", async () => {
  const line = new TenantQueryQueue(30_000);
  const begun: string[] = [];
  const askLong = (tenant: string) =>
    line.run(tenant, async ({ isTrial }) => {
      begun.push(isTrial ? `${tenant} tried` : tenant);
      await vi.advanceTimersByTimeAsync(isTrial ? QUERY_TRIAL_MS : 8000);
      if (isTrial) throw new QueryTrialEnded();
      return tenant;
    });
  const asked = ["a", "b", "c"].map(askLong);
  const quick = line.run("quick", async () => begun.push("quick"));
  expect(await Promise.all(asked)).toEqual(["a", "b", "c"]);
  await quick;
  expect(begun).toEqual(["a tried", "b tried", "c tried", "quick", "a", "b", "c"]);
});

test("a tenant's part and the whole line are bounded, and a place that is free is given again", async () => {
  const { ask, endOne } = openLine();
  for (let n = 0; n < SANDBOX_QUERIES_PER_TENANT_MAX; n++) void ask("many");
  await expect(ask("many")).rejects.toMatchObject({ code: "rate_limited" });
  for (let n = SANDBOX_QUERIES_PER_TENANT_MAX; n < SANDBOX_QUERIES_MAX; n++) void ask(`t${n}`);
  await expect(ask("last")).rejects.toMatchObject({ code: "overloaded" });
  await endOne();
  void ask("last");
  await expect(ask("later")).rejects.toMatchObject({ code: "overloaded" });
});

test("who still prepares holds up nobody, and counts as waiting", async () => {
  const { line, begun, ask } = openLine();
  let isReady = () => undefined as void;
  const before = () => new Promise<void>((resolve) => (isReady = resolve));
  const slow = line.run("slow", async () => void begun.push("slow"), before);
  void ask("quick");
  expect(line.length).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toEqual(["quick"]);
  isReady();
  await vi.advanceTimersByTimeAsync(0);
  line.close(new Error("over"));
  await expect(slow).rejects.toThrow("over");
  expect(line.length).toBe(1);
});

test("who waits too long leaves the line, and those behind keep their turns", async () => {
  const { line, begun, ask, endOne } = openLine();
  void ask("slow");
  const waits = ask("waits");
  await vi.advanceTimersByTimeAsync(29_999);
  void ask("behind");
  await vi.advanceTimersByTimeAsync(1);
  await expect(waits).rejects.toMatchObject({ code: "overloaded" });
  await endOne();
  expect(begun).toEqual(["slow", "behind"]);
  await endOne();
  expect(line.length).toBe(0);
});

test("its end sends everybody away who waits", async () => {
  const { line, ask } = openLine();
  void ask("runs");
  const waits = ask("waits");
  line.close(new Error("over"));
  await expect(waits).rejects.toThrow("over");
  expect(line.length).toBe(1);
});

test("each query stopped by force costs its tenant twice the wait of the one before", () => {
  const book = new QueryBackoff();
  const waitOf = (tenant: string, nowMs: number) => {
    try {
      book.assertMayQuery(tenant, nowMs);
      return 0;
    } catch (fault) {
      return (fault as { retryAfterSec: number }).retryAfterSec;
    }
  };
  expect(waitOf("a", 0)).toBe(0);
  book.recordForcedEnd("a", 0);
  expect([waitOf("a", 0), waitOf("b", 0), waitOf("a", 5000)]).toEqual([5, 0, 0]);
  const waits = Array.from({ length: 7 }, () => {
    book.recordForcedEnd("a", 6000);
    return waitOf("a", 6000);
  });
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
  // After a quarter of an hour without another one it is forgotten.
  book.recordForcedEnd("a", 6000 + 15 * 60_000);
  expect(waitOf("a", 6000 + 15 * 60_000)).toBe(5);
});
