// Turns of tenants in the line of queries, its bounds, and the waits after queries stopped by force.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  SANDBOX_QUERIES_MAX,
  SANDBOX_QUERIES_PER_TENANT_MAX,
  TenantQueryQueue,
  QUERY_TRIAL_MS,
  QueryBackoff,
  QueryNeedsMemory,
  QueryTrialEnded,
  type QueryTurn,
} from "../../../src/store/sandbox/tenant-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A line whose queries end one by one, as the test says. */
function openLine() {
  const line = new TenantQueryQueue({ runningMax: 1, waitMsMax: 30_000 });
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
  const line = new TenantQueryQueue({ runningMax: 1, waitMsMax: 30_000 });
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

/** Queries that run side by side until the test ends them; names with a number share their tenant. */
function openShared() {
  const line = new TenantQueryQueue({ waitMsMax: 30_000 });
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => Promise<void>>();
  const turns = new Map<string, QueryTurn>();
  const ask = async (name: string) => {
    const asked = line.run(name.replace(/\d/, ""), (turn) => {
      begun.push(turn.isTrial ? `${name} tried` : name);
      turns.set(name, turn);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, async (error) => {
          if (error === undefined) resolve(name);
          else reject(error);
          await vi.advanceTimersByTimeAsync(0);
        });
      });
    });
    asked.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    return { asked };
  };
  const end = (name: string, error?: Error) => ends.get(name)!(error);
  return { line, begun, turns, ask, end };
}

test("two long queries of different tenants run at once, and short ones beside them", async () => {
  const { begun, ask, end } = openShared();
  for (const name of ["a1", "b", "a2", "c", "d"]) await ask(name);
  expect(begun).toEqual(["a1", "b", "c tried"]);
  await end("c");
  expect(begun.at(-1)).toBe("d tried");
  await end("d", new QueryTrialEnded());
  // Its time is over, and the places for whole runs are taken: that for trials stays free.
  await ask("e");
  expect(begun.slice(3)).toEqual(["d tried", "e tried"]);
  await end("e");
  await end("a1");
  expect(begun.slice(5)).toEqual(["a2 tried", "d"]);
});

test("one tenant runs one query at a time, whatever is free", async () => {
  const { begun, ask, end } = openShared();
  await ask("a1");
  await ask("a2");
  expect(begun).toEqual(["a1"]);
  await end("a1");
  expect(begun).toEqual(["a1", "a2"]);
});

test("a query that found no memory beside another runs once more, beside trials only", async () => {
  const { begun, turns, ask, end } = openShared();
  await ask("a");
  const { asked } = await ask("b");
  expect([turns.get("a")!.isAlone(), turns.get("b")!.isAlone()]).toEqual([false, false]);
  await end("b", new QueryNeedsMemory());
  await ask("c");
  await end("c");
  expect(begun).toEqual(["a", "b", "c tried"]);
  await end("a");
  expect(begun.at(-1)).toBe("b");
  expect(turns.get("b")!.isAlone()).toBe(true);
  await ask("d");
  expect(begun.at(-1)).toBe("d tried");
  await end("d", new QueryTrialEnded());
  expect(begun.at(-1)).toBe("d tried");
  await end("b");
  expect(await asked).toBe("b");
  expect(begun.at(-1)).toBe("d");
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
