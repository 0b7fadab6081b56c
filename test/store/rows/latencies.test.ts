// Times of answers in the store: their block, their rows over parts, restarts and a rebuilt database, percentiles
// against a slow count, who sees them and how long they stay.
import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreDecisionLog } from "../../../src/store/decision-log.ts";
import {
  decodeLatencies,
  encodeLatencies,
  type LatencyBucket,
  type LatencyCount,
} from "../../../src/store/rows/latencies.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { NOW_MS } from "../_decisions.ts";
import { askCore, LIMITS, openStoreCore } from "../_fixtures.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FIRST_MS = Math.floor(NOW_MS / MINUTE_MS) * MINUTE_MS;
/** Bounds of the histograms of these tests, ms; beyond the last the bounds are equal. */
const BOUNDS = [0, 0.1, 0.25, 0.5, 1, 2.5];

const anyBuckets = fc
  .array(fc.integer({ min: 0, max: 1000 }), { minLength: BOUNDS.length, maxLength: BOUNDS.length })
  .map((counts) =>
    counts.flatMap((count, i): LatencyBucket[] =>
      count === 0 ? [] : [[BOUNDS[i]!, BOUNDS[i + 1] ?? BOUNDS[i]!, count]],
    ),
  )
  .filter((found) => found.length > 0);
const latencies = fc.record({
  minuteMs: fc.constantFrom(FIRST_MS, FIRST_MS + MINUTE_MS),
  route: fc.constantFrom("verify", "outcomes"),
  statusClass: fc.constantFrom("2xx", "4xx"),
  totalMs: fc.integer({ min: 1, max: 100_000 }),
  buckets: anyBuckets,
});

function openLog(dataDir: string, startMs: number, { node = "", keptDays = 36_500 } = {}) {
  const { core } = openStoreCore(dataDir);
  const options = { core, rings: [], startMs, node, decisionsKeptDays: keptDays };
  const records = new StoreDecisionLog(options);
  const rowsOf = async (sql: string) => (await askCore(core, sql)).rows;
  const close = async (nowMs: number) => {
    await records.close(nowMs);
    await core.close();
  };
  return { core, records, rowsOf, close };
}

const COUNTS = `SELECT minute, route, status_class, requests::INTEGER, mean_ms, p50_ms, p99_ms, p999_ms
  FROM latency ORDER BY minute, route, status_class`;

/** The percentile of a list of bounds, one for each answer: straight within a bucket. */
function percentileOf(all: readonly LatencyBucket[], share: number): number {
  const sums = new Map<string, LatencyBucket>();
  for (const [lower, upper, requests] of all) {
    const key = `${lower} ${upper}`;
    sums.set(key, [lower, upper, requests + (sums.get(key)?.[2] ?? 0)]);
  }
  const total = [...sums.values()].reduce((sum, [, , requests]) => sum + requests, 0);
  let below = 0;
  for (const [lower, upper, requests] of [...sums.values()].toSorted(
    (a, b) => a[0] - b[0] || a[1] - b[1],
  )) {
    if (below + requests >= share * total)
      return lower + (upper - lower) * (Math.max(0, share * total - below) / requests);
    below += requests;
  }
  throw new Error("no answers");
}

function countSlowly(given: readonly LatencyCount[]): unknown[][] {
  const groups = Object.values(
    Object.groupBy(given, (each) => `${each.minuteMs} ${each.route} ${each.statusClass}`),
  ) as LatencyCount[][];
  return groups
    .map((parts) => {
      const { minuteMs, route, statusClass } = parts[0]!;
      const all = parts.flatMap((each) => each.buckets);
      const requests = all.reduce((sum, [, , count]) => sum + count, 0);
      const totalMs = parts.reduce((sum, each) => sum + each.totalMs, 0);
      const percentiles = [0.5, 0.99, 0.999].map((share) => percentileOf(all, share));
      return [minuteMs, route, statusClass, requests, totalMs / requests, ...percentiles] as const;
    })
    .toSorted((one, other) => (String(one.slice(0, 3)) < String(other.slice(0, 3)) ? -1 : 1))
    .map(([minuteMs, route, statusClass, requests, ...times]) => [
      new Date(minuteMs).toISOString(),
      route,
      statusClass,
      requests,
      ...times.map((ms) => expect.closeTo(ms, 2) as number),
    ]);
}

describe("the block of times", () => {
  it("is read back as it was written", () => {
    fc.assert(
      fc.property(fc.array(latencies), (given) => {
        expect(decodeLatencies(encodeLatencies(given))).toEqual(given);
      }),
    );
  });

  it("is none when its content cannot be times", () => {
    const good = [FIRST_MS, "verify", "2xx", 3, [[0, 0.1, 2]]];
    const decode = (content: unknown) => decodeLatencies(Buffer.from(JSON.stringify(content)));
    expect(decode([good])).toHaveLength(1);
    const others = ["x", -1, null, [], [[1, 2]], [[1, 2, "3"]], [[0, -1, 2]]];
    const cases = others.flatMap((each) => good.map((_, at) => [at, each] as const));
    for (const [i, other] of cases) {
      const changed = good.with(i, other as never);
      const isFine = (i === 1 || i === 2) && typeof other === "string";
      const isEmpty = i === 4 && Array.isArray(other) && other.length === 0;
      if (!isFine && !isEmpty) expect(decode([changed])).toBeUndefined();
    }
    for (const content of [{}, [good.slice(1)], 3]) expect(decode(content)).toBeUndefined();
    expect(decodeLatencies(Buffer.from("[["))).toBeUndefined();
  });
});

describe("the view of times", () => {
  it("sums parts of a minute, and has the percentiles of all of them", async () => {
    const { core, records, rowsOf, close } = openLog(temporaryDirectory(), 1);
    await fc.assert(
      fc.asyncProperty(fc.array(latencies, { minLength: 1, maxLength: 8 }), async (given) => {
        await records.ingestAll(NOW_MS);
        await core.write((writer) => writer.run("DELETE FROM latency_rows"));
        records.ringDrain.addLatencies(given.slice(0, 3));
        records.ringDrain.drain(NOW_MS);
        records.ringDrain.addLatencies(given.slice(3));
        await records.ingestAll(NOW_MS);
        expect(await rowsOf(COUNTS)).toEqual(countSlowly(given));
      }),
      { numRuns: 8 },
    );
    await close(NOW_MS);
  });

  it("is the same in a new database, names the node, and a disk that refused loses nothing", async () => {
    const dataDir = temporaryDirectory();
    const first = openLog(dataDir, 1, { node: "n-1" });
    const buckets: LatencyBucket[] = [
      [0, 0.1, 98],
      [0.1, 0.25, 1],
      [10_000, 10_000, 1],
    ];
    const named = { minuteMs: FIRST_MS, route: "verify", statusClass: "2xx" };
    first.records.ringDrain.addLatencies([{ ...named, totalMs: 10_010, buckets }]);
    expect(first.records.ringDrain.isDue(NOW_MS)).toBe(true);
    const kept = join(dataDir, "store-kept");
    fs.renameSync(kept, `${kept}-away`);
    expect(() => first.records.ringDrain.drain(NOW_MS)).toThrow(/ENOENT/);
    fs.renameSync(`${kept}-away`, kept);
    await first.records.ingestAll(NOW_MS + 2000);
    const ask = `SELECT node, requests::INTEGER, mean_ms, p50_ms, p99_ms, p999_ms,
      list_transform(buckets, b -> b.requests)::VARCHAR FROM latency`;
    const expected = [["n-1", 100, 100.1, 0.051, 0.25, 10_000, "[98, 1, 1]"]];
    expect(await first.rowsOf(ask)).toEqual(expected);
    await first.close(NOW_MS + 3000);
    fs.rmSync(join(dataDir, "store"), { recursive: true });
    const second = openLog(dataDir, 2, { node: "n-1" });
    await second.records.ingestAll(NOW_MS + 4000);
    expect(await second.rowsOf(ask)).toEqual(expected);
    await second.close(NOW_MS + 5000);
  });

  it("is the operator's, and forgets what is older than decisions are kept", async () => {
    const { core, records, rowsOf, close } = openLog(temporaryDirectory(), 1, { keptDays: 30 });
    const named = { route: "verify", statusClass: "2xx", totalMs: 1 };
    const buckets: LatencyBucket[] = [[0, 0.1, 5]];
    for (const daysAgo of [0, 29, 32]) {
      const minuteMs = FIRST_MS - daysAgo * DAY_MS;
      records.ringDrain.addLatencies([{ ...named, minuteMs, buckets }]);
    }
    await records.ingestAll(NOW_MS);
    const sql = "SELECT count(*)::INTEGER FROM latency";
    expect(await rowsOf(sql)).toEqual([[2]]);
    const rights = { tenant: "acme", withheld: [] };
    expect((await core.readQueue.query({ sql }, LIMITS, rights)).rows).toEqual([[0]]);
    await close(NOW_MS);
  });
});
