// Figures of the live weights: taken from runs and comparisons, by version, and kept over a start.
import { expect, test } from "vitest";
import type { RunRecord, RunState, WatchRecord } from "../../../src/kaizen/kaizen.ts";
import type { Promotion } from "../../../src/kaizen/service/files.ts";
import { LiveKaizenMetrics } from "../../../src/kaizen/service/health-metrics.ts";

const ENDED = "2026-03-02T03:00:00.000Z";

const SHIPPED = "c-shipped";
const NEXT = "c-next";

function runOf(state: RunState, champion: number, challenger: number, more = {}): RunRecord {
  const model = (loss: number) => ({ rows: 9, log_loss: loss, calibration_error: loss / 10 });
  const recent = [{ side: "check", champion: model(champion), challenger: model(challenger) }];
  const versions = { champion_version: SHIPPED, challenger_version: NEXT };
  const run = {
    run_id: "k-1",
    state,
    finished_at: ENDED,
    ...versions,
    findings: { recent },
    ...more,
  };
  return run as unknown as RunRecord;
}

function open(runs: readonly RunRecord[], watch?: WatchRecord) {
  const files = { listRuns: () => [...runs].toReversed() };
  const live: { version: string; promotion: Partial<Promotion> | undefined } = {
    version: SHIPPED,
    promotion: undefined,
  };
  const champion = {
    live: () => live.promotion as Promotion | undefined,
    get version() {
      return live.version;
    },
  };
  const figures = new LiveKaizenMetrics(files, champion, () => watch);
  figures.open((id) => runs.find((run) => run.run_id === id));
  return { figures, live };
}

const checkOf = (figures: LiveKaizenMetrics) =>
  figures.figures().sides.find(({ side }) => side === "check")!;

test("before any run nothing is known", () => {
  const { figures } = open([]);
  expect(figures.figures()).toMatchObject({ lastRun: undefined, championMs: undefined });
  expect(checkOf(figures)).toEqual({
    side: "check",
    logLoss: undefined,
    calibrationError: undefined,
    watchLossIncrease: undefined,
  });
});

test("the figures are those of the weights that are live, after a promotion and a rollback", () => {
  const { figures, live } = open([runOf("kept", 0.5, 0.25)]);
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.5, calibrationError: 0.05 });
  live.version = NEXT;
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.25, calibrationError: 0.025 });
  expect(figures.figures().lastRun).toEqual({ state: "kept", endedMs: Date.parse(ENDED) });
  live.version = SHIPPED;
  expect(checkOf(figures).logLoss).toBe(0.5);
  live.version = "c-of-somewhere-else";
  expect(checkOf(figures).logLoss).toBeUndefined();
});

test("a failed run ends and measures nothing, one under way has not ended", () => {
  const { figures } = open([runOf("kept", 0.5, 0.25)]);
  figures.take({ ...runOf("failed", 0.1, 0.1), findings: undefined } as unknown as RunRecord);
  expect(checkOf(figures).logLoss).toBe(0.5);
  expect(figures.figures().lastRun?.state).toBe("failed");
  figures.take({ ...runOf("running", 0.1, 0.1), finished_at: undefined } as unknown as RunRecord);
  expect([checkOf(figures).logLoss, figures.figures().lastRun?.state]).toEqual([0.5, "failed"]);
});

test("the newest comparison is that of the weights that are live", () => {
  const sides = [
    {
      side: "check" as const,
      rollback_due: false,
      numbers: { loss_increase: -0.01 },
      sentence: "",
    },
  ];
  const { figures, live } = open([runOf("promoted", 0.5, 0.25)], { at: ENDED, sides });
  live.version = NEXT;
  live.promotion = { run_id: "k-1", at_ms: 5 };
  expect(checkOf(figures).watchLossIncrease).toBeUndefined();
  figures.takeWatch();
  expect(checkOf(figures)).toMatchObject({ logLoss: 0.25, watchLossIncrease: -0.01 });
  expect(figures.figures().championMs).toBe(5);
  live.version = SHIPPED;
  expect(checkOf(figures).watchLossIncrease).toBeUndefined();
});
