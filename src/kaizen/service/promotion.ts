// Promotion of a finished dry run by a person, later: no way around a gate. What the run has proved
// must still hold, and a run that is not dry must not be able to do worse than this one.
import { DAY_MS } from "../../contract/units.ts";
import { isDeepStrictEqual } from "node:util";
import { ServiceFault } from "../../contract/faults.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { GATE_POLICY } from "../gates/register.ts";
import type { RunRecord, RunSummary } from "../kaizen.ts";
import type { RunFindings } from "../run.ts";
import type { Champion } from "./champion.ts";
import { computeStateAfterRun, readCalibratedToMs, computeConfigVersion } from "./files.ts";
import type { KaizenFiles, KaizenState } from "./files.ts";

/** Days after its end for which a dry run may be promoted: as long as between two weekly runs. */
const PROMOTABLE_DAYS = 7;

export interface PromotionContext {
  readonly files: Pick<KaizenFiles, "listRuns">;
  readonly champion: Pick<Champion, "state" | "promote">;
  /** Whether another run is under way. */
  readonly isRunning: boolean;
}

/** Who asks, and why. */
export interface PromotionApproval {
  /** Id of the API key. */
  readonly by: string;
  readonly reason: string;
}

/** Refuses a run that may not be promoted, or not any more: the detail says why. */
function createNotPromotableFault(detail: string): ServiceFault {
  return new ServiceFault("run_not_promotable", detail);
}

/** The answer where other weights are live than those that the run challenged. */
function createChampionChangedFault(run: RunRecord): ServiceFault {
  const detail = `the run challenged ${run.champion_version}, which is not live any more: run again`;
  return new ServiceFault("champion_changed", detail);
}

/** Every gate of each scorecard that would change has passed, in the config that was tested. */
function areGatesPassed({ sides, config }: RunFindings): boolean {
  const passed = sides.filter((side) => side.passed);
  return (
    passed.length > 0 &&
    passed.every(
      ({ side, gates, challenger }) =>
        gates.length > 0 &&
        gates.every((gate) => gate.passed) &&
        isDeepStrictEqual(challenger, config?.[side]),
    )
  );
}

/** Evidence of the test that a test which counted has used since. */
function isEvidenceSpent(run: RunRecord, { sides }: RunFindings, state: KaizenState): boolean {
  const tested = run.kind === "calibration" ? readCalibratedToMs(state) : state.tested_to_ms;
  return sides.some((side) => side.passed && tested[side.side] > side.holdout_from_ms);
}

/** A later run of the kind has tested newer evidence, with whatever result. */
function findNewerRunId(run: RunRecord, runs: readonly RunSummary[]): string | undefined {
  const { run_id: id, kind = "full" } = run;
  return runs.find(
    (each) =>
      each.run_id > id &&
      (each.kind ?? "full") === kind &&
      each.as_of === undefined &&
      ["kept", "promoted", "dry_run"].includes(each.state),
  )?.run_id;
}

/** The findings of a run whose record says that it may be promoted. */
function requireProvenFindings(
  run: RunRecord,
  state: KaizenState,
): RunFindings & { config: ScoringConfig } {
  const { findings } = run;
  const isPromoted = state.promotions.some(({ run_id: id }) => id === run.run_id);
  if (isPromoted) throw createNotPromotableFault("the run has been promoted already");
  if (run.state !== "dry_run")
    throw createNotPromotableFault("only a finished dry run can be promoted");
  if (run.as_of !== undefined)
    throw createNotPromotableFault("a run as of an earlier time changes nothing");
  const config = findings?.config;
  if (findings === undefined || config === undefined || !areGatesPassed(findings)) {
    throw createNotPromotableFault(`a gate has not passed: ${run.reason}`);
  }
  if (computeConfigVersion(config) !== run.challenger_version)
    throw createNotPromotableFault("the tested weights were changed");
  if (!isDeepStrictEqual({ ...findings.policy }, { ...GATE_POLICY })) {
    throw createNotPromotableFault("the gates ask for something else since then: run again");
  }
  return { ...findings, config };
}

/** Whether what it has proved still holds. */
function assertStillPromotable(
  run: RunRecord,
  findings: RunFindings,
  { champion: { state }, files, isRunning }: PromotionContext,
  nowMs: number,
): void {
  if (state.champion !== run.champion_version) throw createChampionChangedFault(run);
  if (isRunning) throw createNotPromotableFault("a run is under way: wait for its end");
  if (state.cool_down_runs > 0) {
    throw createNotPromotableFault(
      `a rollback asks for a pause of ${state.cool_down_runs} more runs`,
    );
  }
  const newer = findNewerRunId(run, files.listRuns());
  if (newer !== undefined) throw createNotPromotableFault(`run ${newer} has tested newer evidence`);
  if (isEvidenceSpent(run, findings, state))
    throw createNotPromotableFault("its evidence has been in another test since");
  const endedMs = Date.parse(run.finished_at ?? run.started_at);
  if (nowMs - endedMs > PROMOTABLE_DAYS * DAY_MS) {
    throw createNotPromotableFault(
      `the run ended more than ${PROMOTABLE_DAYS} days ago: run again`,
    );
  }
}

/** The state after the promotion: what the dry run has tested is spent now. */
function computeStateAfterPromotion(
  state: KaizenState,
  run: RunRecord,
  findings: RunFindings,
): KaizenState {
  const testedMs = Math.max(...findings.sides.map(({ holdout_to_ms: toMs }) => toMs));
  const request = {
    isDryRun: false,
    isSignedOff: false,
    startedBy: run.started_by,
    ...(run.kind && { kind: run.kind }),
  };
  return computeStateAfterRun(state, request, findings, { testedMs, position: run.position });
}

/**
 * Makes the weights of a dry run live, on record with who asked and why.
 * @throws ServiceFault `run_not_promotable` or `champion_changed`; the error of the engine, the journal
 *   or the disk. Nothing has changed then.
 */
export async function promoteDryRun(
  run: RunRecord,
  ground: PromotionContext,
  nowMs: number,
  order: PromotionApproval,
): Promise<void> {
  const { champion } = ground;
  const findings = requireProvenFindings(run, champion.state);
  assertStillPromotable(run, findings, ground, nowMs);
  const change = (state: KaizenState) => computeStateAfterPromotion(state, run, findings);
  const terms = { ...order, nowMs, basis: champion.state };
  const isPromoted = await champion.promote(run, findings.config, change, terms);
  if (!isPromoted) throw createChampionChangedFault(run);
}
