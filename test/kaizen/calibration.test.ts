// Start-up calibration: an operator's own rate and slope from a few hundred outcomes, no agent ranked
// or denied otherwise, nothing from too little, no row tested twice.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  calibrateBothScorecards,
  applyStartUpCalibration,
  fitStartUpCalibration,
} from "../../src/kaizen/calibration.ts";
import { predictDenials, forecastRows } from "../../src/kaizen/model/holdout.ts";
import type { FitRows } from "../../src/kaizen/model/holdout.ts";
import type { KaizenRunOptions } from "../../src/kaizen/run.ts";
import { isCalibrationDue, computeStateAfterRun } from "../../src/kaizen/service/files.ts";
import { GATES } from "../../src/kaizen/gates/register.ts";
import type { KaizenState } from "../../src/kaizen/service/files.ts";
import { runDaily } from "../../src/kaizen/service/schedule.ts";
import type { RunRequest } from "../../src/kaizen/kaizen.ts";
import { CONFIG, evidenceFrom } from "./_evidence.ts";
import { ASKED, NOW_MS, openStage, outcomesOf } from "./_service.ts";

const MORE = { ...CONFIG.check, intercept: CONFIG.check.intercept + 1 };

function runOver(evidence: FitRows, count: number, testedToMs = 0) {
  const options: KaizenRunOptions = {
    id: "k-test",
    nowMs: evidence.timesMs[count - 1]! + 1,
    isSignedOff: false,
    isPilot: true,
    testedToMs: { check: testedToMs, handshake: testedToMs },
    gapMs: 0,
  };
  return calibrateBothScorecards({ check: evidence, handshake: evidence }, CONFIG, options);
}

describe("a start-up calibration", () => {
  it("follows an operator whose agents fail more often, soon", () => {
    const found = runOver(evidenceFrom(3, 2000, MORE), 2000);
    const [check] = found.sides;
    const ids = GATES.filter((gate) => "isInCalibration" in gate).map(({ id }) => id);
    expect(ids).toEqual(["G1", "G2", "G3"]);
    expect(check!.gates.map(({ id }) => id)).toEqual(ids);
    expect(check!.passed, check!.reason).toBe(true);
    expect(check!.challenger!.intercept - CONFIG.check.intercept).toBeGreaterThan(0.3);
    expect(found.config!.name).toBe("calibration k-test");
    expect(check!.rows).toMatchObject({ training: 1000, holdout: 1000 });
  });

  it("leaves shipped weights that are right, nearly always", () => {
    const promoted = Array.from({ length: 40 }, (_, seed) =>
      runOver(evidenceFrom(200 + seed, 600, CONFIG.check), 600),
    ).filter(({ sides }) => sides[0]!.passed);
    expect(promoted.length).toBeLessThanOrEqual(1);
  });

  it("asks for two hundred outcomes, and for new ones the next time", () => {
    const evidence = evidenceFrom(3, 600, MORE);
    expect(runOver(evidence, 150).sides[0]!.reason).toContain("150 outcomes, needed 200");
    // As many as there were at the last test.
    const again = runOver(evidence, 600, evidence.timesMs[550]);
    expect(again.sides[0]!.reason).toBe("insufficient evidence: 600 outcomes, needed 1100");
    expect(again.sides[0]!.challenger).toBeUndefined();
    expect(runOver(evidence, 600, evidence.timesMs[290]).sides[0]!.gates[0]!.id).toBe("G1");
  });

  it("changes no order and denies nobody else", () => {
    const evidence = evidenceFrom(4, 2000, MORE);
    const open = { ...CONFIG, deny_floor: 0.1, check: { ...CONFIG.check, deny_at: 0.35 } };
    const found = fitStartUpCalibration(evidence, 2000, open.check, evidence.weights)!;
    expect(found.level).not.toBeCloseTo(found.centre, 1);
    const before = forecastRows(evidence, [0, 2000], open.check, open);
    const own = applyStartUpCalibration(open.check, found, open);
    const after = forecastRows(evidence, [0, 2000], own, open);
    const orderOf = (logits: Float64Array) =>
      [...logits.keys()].toSorted((a, b) => logits[a]! - logits[b]!);
    expect(orderOf(after.logits)).toEqual(orderOf(before.logits));
    expect(predictDenials(after, open)).toEqual(predictDenials(before, open));
    expect(predictDenials(before, open)).toContain(true);
  });

  it("gives nothing on rows that are no numbers", () => {
    const evidence = evidenceFrom(5, 300, MORE);
    evidence.rows.values[2] = Number.NaN;
    expect(fitStartUpCalibration(evidence, 300, CONFIG.check, evidence.weights)).toBeNull();
  });
});

describe("its place in the schedule", () => {
  const state: KaizenState = {
    champion: "c-1",
    promotions: [],
    tested_to_ms: { check: 5, handshake: 6 },
    cool_down_runs: 2,
    last_scheduled_ms: 7,
  };
  const fresh = { ...state, cool_down_runs: 0 };
  const promotion = { run_id: "k-1", version: "c-2", parent: "c-1", at_ms: 1 };

  it.each([
    ["enough has been recorded", fresh, 200, true],
    ["little has been recorded since the last", { ...fresh, calibrated_position: 150 }, 200, false],
    ["a rollback asks for a pause", state, 200, false],
    [
      "a calibration was promoted",
      { ...fresh, promotions: [{ ...promotion, kind: "calibration" as const }] },
      200,
      true,
    ],
    ["a full run was promoted", { ...fresh, promotions: [promotion] }, 200, false],
    [
      "that was taken back",
      { ...fresh, promotions: [{ ...promotion, rolled_back: { at_ms: 2, reason: "" } }] },
      200,
      true,
    ],
  ])("is due or not when %s", (_, now, position, expected) => {
    expect(isCalibrationDue(now, position)).toBe(expected);
  });

  it("spends rows and position of its own, no weekly turn and no pause", () => {
    const sides = [{ side: "check", challenger: CONFIG.check }] as never;
    const findings = { sides, reason: "", policy: {} as never };
    const request = { isDryRun: false, isSignedOff: false, startedBy: "schedule" };
    const until = { testedMs: 99, position: 1234 };
    const calibration = { ...request, kind: "calibration" as const };
    const next = computeStateAfterRun(state, calibration, findings, until);
    expect(next).toEqual({
      ...state,
      calibrated_to_ms: { check: 99, handshake: 0 },
      calibrated_position: 1234,
    });
    expect(computeStateAfterRun(state, request, findings, until)).toMatchObject({
      tested_to_ms: { check: 99, handshake: 6 },
      cool_down_runs: 1,
      last_scheduled_ms: 99,
    });
  });

  it("takes the place of the daily comparison when due", async () => {
    const asked: string[] = [];
    const daily = (isDue: boolean) =>
      runDaily({
        isCalibrationDue: isDue,
        watch: () => Promise.resolve(void asked.push("watch")),
        start: ({ kind, startedBy }: RunRequest) => {
          asked.push(`${startedBy} ${kind}`);
          return undefined;
        },
      });
    await daily(false);
    await daily(true);
    expect(asked).toEqual(["watch", "schedule calibration"]);
  });
});

it("is a run of the service with its kind on record, spending nothing of the weekly runs", async () => {
  const stage = await openStage();
  try {
    await stage.ledger.appendBatch(outcomesOf(1, 800));
    expect(stage.kaizen.isCalibrationDue).toBe(true);
    const run = await stage.kaizen.start({ ...ASKED, kind: "calibration" })!.done;
    expect(run).toMatchObject({ kind: "calibration", rows: 800 });
    expect(["kept", "promoted"]).toContain(run.state);
    for (const { gates, challenger } of run.findings!.sides) {
      expect(gates.map(({ id }) => id)).toEqual(["G1", "G2", "G3"]);
      expect(challenger).toBeDefined();
    }
    expect(stage.kaizen.isCalibrationDue).toBe(false);
    const state = JSON.parse(readFileSync(join(stage.dataDir, "kaizen", "state.json"), "utf8"));
    expect(state).toMatchObject({
      calibrated_to_ms: { check: NOW_MS, handshake: NOW_MS },
      calibrated_position: 800,
      tested_to_ms: { check: 0, handshake: 0 },
      last_scheduled_ms: 0,
    });
    for (const { kind } of state.promotions) expect(kind).toBe("calibration");
  } finally {
    await stage.kaizen.close();
    await stage.ledger.close();
  }
});
