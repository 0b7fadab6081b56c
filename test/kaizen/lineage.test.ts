// Lineage of the live weights: the change a scorecard rests on, and what one taken back leaves.
import { describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import {
  isSameScoring,
  findNewestChange,
  computeConfigWithoutStep,
} from "../../src/kaizen/lineage.ts";
import type { PromotionStep } from "../../src/kaizen/lineage.ts";
import type { ScorecardSide } from "../../src/kaizen/model/scorecard.ts";

const SHIPPED = loadDefaultConfig();

/** A config whose intercepts are moved by so much. */
function moved(check: number, handshake: number): ScoringConfig {
  const by = (side: ScorecardSide, step: number) => ({
    ...SHIPPED[side],
    intercept: SHIPPED[side].intercept + step,
  });
  const name = `${check} ${handshake}`;
  return { ...SHIPPED, name, check: by("check", check), handshake: by("handshake", handshake) };
}

const step = (before: ScoringConfig, after: ScoringConfig, isTakenBack = false): PromotionStep => ({
  before,
  after,
  isTakenBack,
});

describe("the newest change", () => {
  const calibration = step(SHIPPED, moved(1, 1));
  const refit = step(calibration.after, moved(1, 2));

  it("is each scorecard's own", () => {
    const steps = [calibration, refit];
    expect(findNewestChange(steps, refit.after, "check")).toBe(calibration);
    expect(findNewestChange(steps, refit.after, "handshake")).toBe(refit);
    expect(findNewestChange([], SHIPPED, "check")).toBeUndefined();
  });

  it("is none that was taken back, and none that is not what is live", () => {
    const steps = [calibration, { ...refit, isTakenBack: true }];
    expect(findNewestChange(steps, calibration.after, "handshake")).toBe(calibration);
    // As where the files of a promotion between are lost.
    expect(findNewestChange([calibration], moved(1, 7), "handshake")).toBeUndefined();
  });
});

describe("without a step", () => {
  it("what rests on it goes back, what others changed stays", () => {
    const calibration = step(SHIPPED, moved(1, 1));
    const refit = step(calibration.after, moved(1, 2));
    const steps = [calibration, refit];
    expect(
      isSameScoring(computeConfigWithoutStep(steps, refit.after, calibration), moved(0, 2)),
    ).toBe(true);
    expect(computeConfigWithoutStep(steps, refit.after, refit)).toEqual(calibration.after);
  });

  it("never goes back to what was itself taken back", () => {
    const first = step(SHIPPED, moved(1, 1), true);
    const second = step(first.after, moved(1, 2));
    const live = moved(0, 2);
    expect(isSameScoring(computeConfigWithoutStep([first, second], live, second), SHIPPED)).toBe(
      true,
    );
    // The same weights promoted once more do stand.
    const again = step(moved(0, 2), moved(0, 1));
    const third = step(again.after, moved(0, 3));
    const steps = [first, { ...second, isTakenBack: true }, again, third];
    expect(isSameScoring(computeConfigWithoutStep(steps, third.after, third), moved(0, 1))).toBe(
      true,
    );
  });

  it("leads back to its own release", () => {
    const older = { ...SHIPPED, pair_cap: SHIPPED.pair_cap + 1, name: "older" };
    const only = step(older, moved(1, 0));
    expect(computeConfigWithoutStep([only], only.after, only)).toEqual(older);
  });
});
