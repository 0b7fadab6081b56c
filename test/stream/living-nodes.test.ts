// Living nodes: a report that changes, whatever clock its node has.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  listLivingNodes,
  measureKeptAges,
  NODE_AWAY_MS,
  ReportWatch,
} from "../../src/stream/living-nodes.ts";

const keptAt = (revision: number, keptMs = 0, atMs = 0) => ({ told: { atMs }, revision, keptMs });

describe("a watch of reports", () => {
  test("a node lives while its report changes, though its clock is two minutes behind or ahead", () => {
    let nowMs = 0;
    const watch = new ReportWatch(() => nowMs);
    for (let revision = 1; nowMs < 3 * NODE_AWAY_MS; revision++, nowMs += 5000) {
      const reports = { behind: -120_000, ahead: 120_000 };
      const kept = Object.entries(reports).map(
        ([node, skewMs]) => [node, keptAt(revision, nowMs, nowMs + skewMs)] as const,
      );
      const ages = watch.update(new Map([...kept, ["dead", keptAt(1, 0, 1e15)]]));
      const dead = nowMs <= NODE_AWAY_MS ? ["dead"] : [];
      expect(listLivingNodes(ages)).toEqual(["ahead", "behind", ...dead].toSorted());
    }
    // It goes on counting where nobody can be asked.
    nowMs += NODE_AWAY_MS;
    expect(listLivingNodes(watch.measureAges())).toEqual([]);
    expect(watch.update(new Map())).toEqual(new Map());
  });

  test("a node whose report is gone, or written over, is counted until it would be away", () => {
    let nowMs = 0;
    const watch = new ReportWatch(() => nowMs, 100_000);
    watch.update(new Map([["a", keptAt(1)]]));
    nowMs += 100_000;
    expect(listLivingNodes(watch.update(new Map()), 100_000)).toEqual(["a"]);
    nowMs += 1;
    expect(watch.update(new Map())).toEqual(new Map());
  });

  test("no order of looks makes a node older than its newest change, nor a stale copy younger", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(20), fc.nat(9000)), { minLength: 1 }), (looks) => {
        let nowMs = 0;
        const watch = new ReportWatch(() => nowMs);
        let newest = { revision: -1, ms: 0 };
        for (const [revision, passedMs] of looks) {
          nowMs += passedMs;
          if (revision > newest.revision) newest = { revision, ms: nowMs };
          const ages = watch.update(new Map([["a", keptAt(revision)]]));
          expect(ages.get("a")).toBe(nowMs - newest.ms);
        }
      }),
    );
  });

  test("a single look goes by the clocks of the log's servers", () => {
    const ages = measureKeptAges(new Map([["a", keptAt(1, 40_000, 1e15)]]), 100_000);
    expect([...ages]).toEqual([["a", 60_000]]);
  });
});
