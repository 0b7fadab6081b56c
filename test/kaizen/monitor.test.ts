// The watch over a promotion: rarely wrong however often one looks, sure to see real harm.
import { describe, expect, it } from "vitest";
import { mixtureBoundary, watchPromotion } from "../../src/kaizen/monitor.ts";
import type { Watched } from "../../src/kaizen/monitor.ts";
import { seededRandom } from "../../src/kaizen/random.ts";

function watched(seed: number, count: number, harm: number): Watched {
  const random = seededRandom(seed);
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

function prefix(all: Watched, n: number): Watched {
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
    expect(mixtureBoundary(3, 1) / Math.sqrt(3)).toBeCloseTo(2.85, 1);
  });

  it("seldom takes back a harmless promotion over 40 looks", () => {
    let back = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const all = watched(seed, 4000, 0);
      for (let n = 100; n <= 4000; n += 100) {
        if (!watchPromotion(prefix(all, n)).isRollbackDue) continue;
        back++;
        break;
      }
    }
    expect(back).toBeLessThanOrEqual(6);
  });

  it("takes back a promotion that costs 10 % of the loss", () => {
    const seen = watchPromotion(watched(3, 3000, 0.03));
    expect(seen.isRollbackDue).toBe(true);
    expect(seen.sentence).toMatch(/beyond the boundary/);
  });

  it("takes back at once what refuses good agents or gives no number", () => {
    expect(watchPromotion({ ...watched(4, 500, 0), refused: 9 }).sentence).toMatch(/refused/);
    const broken = watched(5, 500, 0);
    broken.newLosses[3] = Number.NaN;
    expect(watchPromotion(broken).isRollbackDue).toBe(true);
  });
});
