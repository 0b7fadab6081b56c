// Figures of the live weights: taken from runs that tested them, not from dry ones, and kept over a start.
import { expect, test } from "vitest";
import type { RunRecord, RunState, WatchRecord } from "../../../src/kaizen/kaizen.ts";
import type { Promotion } from "../../../src/kaizen/service/files.ts";
import { LiveFigures } from "../../../src/kaizen/service/figures.ts";

const ENDED = "2026-03-02T03:00:00.000Z";

function runOf(state: RunState, champion: number, challenger: number, more = {}): RunRecord {
  const model = (loss: number) => ({ log_loss: loss, calibration_error: loss / 10 });
  const figures = { champion: model(champion), challenger: model(challenger) };
  const sides = [{ side: "check", passed: true, figures }];
  const run = { run_id: "k-1", state, finished_at: ENDED, findings: { sides }, ...more };
  return run as unknown as RunRecord;
}

function open(runs: readonly RunRecord[], live?: Partial<Promotion>, watch?: WatchRecord) {
  const files = { listRuns: () => [...runs].toReversed(), loadWatch: () => watch };
  const figures = new LiveFigures(files, { live: () => live as Promotion | undefined });
  figures.open((id) => runs.find((run) => run.run_id === id));
  return figures;
}

const checkOf = (figures: LiveFigures) =>
  figures.figures().sides.find(({ side }) => side === "check")!;

test("before any run nothing is known", () => {
  const figures = open([]);
  expect(figures.figures()).toMatchObject({ lastRun: undefined, championMs: undefined });
  expect(checkOf(figures)).toEqual({
    side: "check",
    logLoss: undefined,
    calibrationError: undefined,
    watchLossIncrease: undefined,
  });
});

test("a kept run speaks of the champion, a promoted one of what it promoted", () => {
  const figures = open([runOf("kept", 0.5, 0.25)]);
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.5, calibrationError: 0.05 });
  figures.take(runOf("promoted", 0.5, 0.25));
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.25, calibrationError: 0.025 });
  expect(figures.figures().lastRun).toEqual({ state: "promoted", endedMs: Date.parse(ENDED) });
});

test("a dry or failed run ends, and says nothing of the weights", () => {
  const figures = open([runOf("kept", 0.5, 0.25)]);
  figures.take(runOf("dry_run", 0.1, 0.1));
  figures.take({ ...runOf("failed", 0.1, 0.1), findings: undefined } as unknown as RunRecord);
  expect(checkOf(figures).logLoss).toBe(0.5);
  expect(figures.figures().lastRun?.state).toBe("failed");
  figures.take({ ...runOf("running", 0.1, 0.1), finished_at: undefined } as unknown as RunRecord);
  expect(figures.figures().lastRun?.state).toBe("failed");
});

test("the newest comparison is that of the promotion that is live", () => {
  const sides = [
    {
      side: "check" as const,
      rollback_due: false,
      numbers: { loss_increase: -0.01 },
      sentence: "",
    },
  ];
  const promotion = { run_id: "k-1", at_ms: 5 };
  const figures = open([runOf("promoted", 0.5, 0.25)], promotion, { at: ENDED, sides });
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.25, watchLossIncrease: -0.01 });
  expect(figures.figures().championMs).toBe(5);
});
