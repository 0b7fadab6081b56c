// The watch over a promotion: rarely wrong however often one looks, sure to see real harm.
import { describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import {
  computeMixtureBoundary,
  monitorScorecards,
  decideRollback,
} from "../../src/kaizen/monitor.ts";
import type { MonitoredOutcomes } from "../../src/kaizen/monitor.ts";
import { createSeededRandom } from "../../src/kaizen/model/bootstrap.ts";
import { evidenceFrom } from "./_evidence.ts";

function watched(seed: number, count: number, harm: number): MonitoredOutcomes {
  const random = createSeededRandom(seed);
  const failures = new Uint8Array(count);
  const probabilities = new Float64Array(count).fill(0.1);
  const oldLosses = new Float64Array(count);
  const newLosses = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    failures[i] = random.uniform() < 0.1 ? 1 : 0;
    oldLosses[i] = 0.3;
    newLosses[i] = 0.3 + harm + random.normal() * 0.2;
  }
  const ids = Uint32Array.from(failures, (_, i) => i);
  const successes = failures.filter((y) => y === 0).length;
  return {
    failures,
    subjects: ids,
    reporters: ids,
    newLosses,
    oldLosses,
    probabilities,
    refused: 0,
    successes,
  };
}

function prefix(all: MonitoredOutcomes, n: number): MonitoredOutcomes {
  const { failures, subjects, reporters, newLosses, oldLosses, probabilities } = all;
  return {
    failures: failures.subarray(0, n),
    subjects: subjects.subarray(0, n),
    reporters: reporters.subarray(0, n),
    newLosses: newLosses.subarray(0, n),
    oldLosses: oldLosses.subarray(0, n),
    probabilities: probabilities.subarray(0, n),
    refused: 0,
    successes: n,
  };
}

describe("the watch", () => {
  it("takes 2.85 standard deviations at three times the first variance", () => {
    expect(computeMixtureBoundary(3, 1) / Math.sqrt(3)).toBeCloseTo(2.85, 1);
  });

  it("seldom takes back a harmless promotion over 20 looks", () => {
    let back = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const all = watched(seed, 4000, 0);
      for (let n = 200; n <= 4000; n += 200) {
        if (!decideRollback(prefix(all, n)).isRollbackDue) continue;
        back++;
        break;
      }
    }
    expect(back).toBeLessThanOrEqual(4);
  });

  it("takes back a promotion that costs 10 % of the loss", () => {
    const seen = decideRollback(watched(3, 3000, 0.03));
    expect(seen.isRollbackDue).toBe(true);
    expect(seen.sentence).toMatch(/beyond the boundary/);
  });

  it("lets a calibration go for less than a re-fit, though not for one bad day", () => {
    const slight = { ...watched(6, 3000, 0.005), isCalibration: true };
    expect(decideRollback({ ...slight, isCalibration: false }).isRollbackDue).toBe(false);
    expect(decideRollback(slight).sentence).toMatch(/calibration has cost/);
    for (const harm of [-0.02, 0.001]) {
      const kept = decideRollback({ ...watched(6, 3000, harm), isCalibration: true });
      expect(kept.isRollbackDue).toBe(false);
    }
    const early = { ...prefix(watched(6, 3000, 0.05), 200), isCalibration: true };
    expect(decideRollback(early).isRollbackDue).toBe(false);
  });

  it("takes back at once what refuses good agents or gives no number", () => {
    expect(decideRollback({ ...watched(4, 500, 0), refused: 9 }).sentence).toMatch(/refused/);
    const broken = watched(5, 500, 0);
    broken.newLosses[3] = Number.NaN;
    expect(decideRollback(broken).isRollbackDue).toBe(true);
  });
});

describe("the hard triggers, each on its own", () => {
  const HARMED = 0.0001;

  it("refused successes: only what the old weights would not have refused", () => {
    const harmless = watched(11, 2000, -0.01);
    const seen = decideRollback({ ...harmless, refused: 12 });
    expect(seen).toMatchObject({ isRollbackDue: true, numbers: { refused: 12 } });
    const same = decideRollback({ ...harmless, refused: 12, refusedBefore: 12 });
    expect(same.isRollbackDue).toBe(false);
  });

  it("failures far from what was expected, unless the old weights do worse", () => {
    const off = (harm: number): MonitoredOutcomes => {
      const all = watched(12, 3000, harm);
      return { ...all, probabilities: all.probabilities.map(() => 0.05) };
    };
    expect(decideRollback(off(HARMED)).sentence).toMatch(/times the expected failures/);
    expect(decideRollback(off(-0.05)).isRollbackDue).toBe(false);
  });

  const DAY_MS = 86_400_000;
  /** Scores around 550 before; since then shifted on the days in `drifted`. */
  function drifting(drifted: readonly number[], harm: number): MonitoredOutcomes {
    const random = createSeededRandom(13);
    const all = watched(13, 2400, harm);
    const timesMs = Float64Array.from(all.failures, (_, i) => Math.floor(i / 400) * DAY_MS + i);
    const scores = Array.from(timesMs, (timeMs) => {
      const isDrifted = drifted.includes(Math.floor(timeMs / DAY_MS));
      return 550 + (isDrifted ? 80 : 0) + 40 * random.normal();
    });
    const reference = Array.from({ length: 4000 }, () => 550 + 40 * random.normal());
    return { ...all, drift: { scores, timesMs, sinceMs: 0, reference } };
  }

  it("drift of the scores on two days in a row", () => {
    expect(decideRollback(drifting([], HARMED)).isRollbackDue).toBe(false);
    expect(decideRollback(drifting([2], HARMED)).isRollbackDue).toBe(false);
    expect(decideRollback(drifting([1, 3], HARMED)).isRollbackDue).toBe(false);
    const seen = decideRollback(drifting([2, 3], HARMED));
    expect(seen).toMatchObject({ isRollbackDue: true, numbers: { drifted_days: 2 } });
    expect(seen.sentence).toMatch(/drifted for 2 days/);
    expect(decideRollback(drifting([2, 3], -0.05)).isRollbackDue).toBe(false);
  });

  it("does not take days with a handful of outcomes for drift", () => {
    const few = drifting([0, 1, 2, 3, 4, 5], HARMED);
    const every = few.drift!.scores.flatMap((_, i) => (i % 100 === 0 ? [i] : []));
    const scores = every.map((i) => few.drift!.scores[i]!);
    const timesMs = Float64Array.from(every, (i) => few.drift!.timesMs[i]!);
    const seen = decideRollback({ ...few, drift: { ...few.drift!, scores, timesMs } });
    expect(seen.numbers["drifted_days"]).toBe(0);
  });
});

describe("the shadow champion", () => {
  it("keeps being compared on live outcomes, long after, and only where weights changed", () => {
    const parent = loadDefaultConfig();
    const evidence = evidenceFrom(21, 9000, parent.handshake);
    const worse: ScoringConfig = {
      ...parent,
      handshake: { ...parent.handshake, intercept: parent.handshake.intercept + 1.5 },
    };
    const sides = { check: evidence, handshake: evidence };
    const since = (parentOf: ScoringConfig) => ({
      runId: "k-20261122-030000000",
      sinceMs: evidence.timesMs[1000]!,
      parent: parentOf,
      isCalibration: false,
    });
    // 9,000 hours are a year: most of it lies beyond the four weeks of the sequential test.
    const found = monitorScorecards(sides, worse, { handshake: since(parent) });
    expect(found.map(({ side }) => side)).toEqual(["handshake"]);
    expect(found[0]).toMatchObject({ isRollbackDue: true, numbers: { rows: 8000 } });
    const [better] = monitorScorecards(sides, parent, { handshake: since(worse) });
    expect(better!.isRollbackDue).toBe(false);
    expect(monitorScorecards(sides, parent, {})).toEqual([]);
  });

  it("compares each scorecard from its own change on", () => {
    const parent = loadDefaultConfig();
    const evidence = evidenceFrom(22, 3000, parent.handshake);
    const change = (row: number) => ({
      runId: "k-20261122-030000000",
      sinceMs: evidence.timesMs[row]!,
      parent,
      isCalibration: false,
    });
    const sides = { check: evidence, handshake: evidence };
    const found = monitorScorecards(sides, parent, {
      check: change(1000),
      handshake: change(2500),
    });
    expect(found.map(({ side, numbers }) => [side, numbers["rows"]])).toEqual([
      ["check", 2000],
      ["handshake", 500],
    ]);
  });
});
