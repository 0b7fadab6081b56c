// The pigeonhole bootstrap: the same by its seed, sure of a real gain, unsure of none.
import { describe, expect, it } from "vitest";
import { runPigeonholeBootstrap } from "../../../src/kaizen/model/bootstrap.ts";
import { forecastRows } from "../../../src/kaizen/model/holdout.ts";
import type { Holdout } from "../../../src/kaizen/model/holdout.ts";
import { CONFIG, evidenceFrom } from "../_evidence.ts";

const TRUE_MODEL = { ...CONFIG.handshake, intercept: -1.2, mean: 0.4 };

function holdoutOf(seed: number, isChampionTrue: boolean): Holdout {
  const truth = isChampionTrue ? CONFIG.handshake : TRUE_MODEL;
  const evidence = evidenceFrom(seed, 2500, truth);
  const { failures, subjects, reporters, weights } = evidence;
  return {
    failures,
    subjects,
    reporters,
    weights,
    config: CONFIG,
    champion: forecastRows(evidence, [0, 2500], CONFIG.handshake, CONFIG),
    challenger: forecastRows(evidence, [0, 2500], TRUE_MODEL, CONFIG),
  };
}

describe("the bootstrap", () => {
  it("gives the same answer for the same seed and another for another", () => {
    const holdout = holdoutOf(1, false);
    expect(runPigeonholeBootstrap(holdout, 7)).toEqual(runPigeonholeBootstrap(holdout, 7));
    expect(runPigeonholeBootstrap(holdout, 8)).not.toEqual(runPigeonholeBootstrap(holdout, 7));
  });

  it("is sure of a real gain and sees a real loss", () => {
    const gain = runPigeonholeBootstrap(holdoutOf(2, false), 1);
    expect(gain.log_loss.high).toBeLessThan(0);
    expect(gain.log_loss.p).toBeLessThan(0.01);
    const loss = runPigeonholeBootstrap(holdoutOf(2, true), 1);
    expect(loss.log_loss.low).toBeGreaterThan(0);
    expect(loss.log_loss.p).toBeGreaterThan(0.9);
  });
});
