// Worker entry of kaizen: replays the journal, fits, tests, and answers with findings. It owns a
// private engine memory and writes nothing: a crash here cannot change the live config.
import { workerData } from "node:worker_threads";
import { readStandingHistory } from "../../kaizen/replay/credibility-history.ts";
import { KAIZEN_STAGES } from "../../kaizen/service/worker-pool.ts";
import { type ReplayedEvidence, replayJournal } from "../../kaizen/replay/evidence.ts";
import {
  probeInPrivateEngine,
  openAttackJudge,
  playAttacksOnTable,
} from "../../kaizen/replay/private-engines.ts";
import { AttackStandings } from "../../kaizen/gates/attacks/credibility.ts";
import { GATE_POLICY } from "../../kaizen/gates/register.ts";
import { calibrateBothScorecards } from "../../kaizen/calibration.ts";
import { monitorScorecards } from "../../kaizen/monitor.ts";
import {
  findHoldoutStartMs,
  challengeBothScorecards,
  forecastNewestOutcomes,
  deriveSeed,
} from "../../kaizen/run.ts";
import type { SampleBounds } from "../../kaizen/replay/evidence.ts";
import { SCORECARD_SIDES } from "../../kaizen/model/scorecard.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { AttackReplay, RunFindings } from "../../kaizen/run.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type {
  KaizenResult,
  KaizenTask,
  KaizenWorkerData,
} from "../../kaizen/service/worker-pool.ts";

/** From this number of rows on, a deployment is no pilot any more. */
const PILOT_ROWS = 50_000;

const { progress } = workerData as KaizenWorkerData;

function reportStage(stage: (typeof KAIZEN_STAGES)[number], share = 0): void {
  Atomics.store(progress, 0, KAIZEN_STAGES.indexOf(stage));
  Atomics.store(progress, 1, Math.round(share * 1000));
}

function readAttackStandings({ journal, uptoLsn, champion, seeds, asOfMs }: KaizenTask) {
  if (seeds === undefined) return undefined;
  const history = readStandingHistory(journal, uptoLsn, champion, { asOfMs });
  return new AttackStandings(history, seeds, champion);
}

/** The findings, with what the live weights and those to come are worth on the newest outcomes. */
function addRecentFindings(
  findings: RunFindings,
  { evidence }: ReplayedEvidence,
  champion: ScoringConfig,
): RunFindings {
  return { ...findings, recent: forecastNewestOutcomes(evidence, champion, findings.config) };
}

/**
 * Rows for each part that a verdict rests on: training and test of both scorecards, and what came
 * after each change that is watched. A calibration counts outcomes, which equal parts would disguise.
 */
function buildSampleBounds({
  options,
  rowsMax,
  watch,
  isWatchOnly,
  isCalibration,
}: KaizenTask): SampleBounds {
  const watched = SCORECARD_SIDES.flatMap((side) => watch?.[side] ?? []);
  const tested = SCORECARD_SIDES.map((side) => findHoldoutStartMs(side, options));
  const since = watched.map(({ sinceMs }) => sinceMs);
  const bordersMs = isWatchOnly === true ? since : [...tested, ...since];
  // Days of a watch look at the same outcomes, and at those that came since.
  const id = isWatchOnly === true ? (watched[0]?.runId ?? options.id) : options.id;
  return { rowsMax, bordersMs: isCalibration === true ? [] : bordersMs, seed: deriveSeed(id) };
}

/** The task function that the pool calls. */
export default function runKaizenTask(task: KaizenTask): KaizenResult {
  lowerThreadPriority();
  const { journal, uptoLsn, champion, options } = task;
  reportStage("replay");
  const onShare = (share: number) => reportStage("replay", share);
  const { asOfMs, evidenceKinds: kinds } = task;
  const replayOptions = { asOfMs, kinds, sample: buildSampleBounds(task), onShare };
  const replayed = replayJournal(journal, uptoLsn, champion, replayOptions);
  const watch = task.watch && monitorScorecards(replayed.evidence, champion, task.watch);
  const rows = replayed.evidence.check.rows.count;
  const { rowsOf, rowsByKind } = replayed;
  const counts = { rows, rowsByKind, ...(rowsOf > rows ? { rowsOf } : {}) };
  const counted = { ...counts, ...(watch === undefined ? {} : { watch }) };
  if (task.isWatchOnly === true) {
    const recent = forecastNewestOutcomes(replayed.evidence, champion, undefined);
    const findings = { sides: [], recent, reason: "watched", policy: GATE_POLICY };
    return { findings, ...counted };
  }
  const runOptions = { ...options, gapMs: replayed.lagMs, isPilot: rows < PILOT_ROWS };
  if (task.isCalibration === true) {
    const findings = calibrateBothScorecards(replayed.evidence, champion, runOptions);
    return { findings: addRecentFindings(findings, replayed, champion), ...counted };
  }
  const attacks: AttackReplay = {
    play: () => {
      reportStage("attacks");
      return playAttacksOnTable(replayed, readAttackStandings(task));
    },
    judge: openAttackJudge(champion),
  };
  const findings = challengeBothScorecards(replayed.evidence, champion, runOptions, {
    attacks,
    onSide: (side) => reportStage(side, SCORECARD_SIDES.indexOf(side) / SCORECARD_SIDES.length),
    probe: probeInPrivateEngine,
  });
  reportStage("waiting");
  return { findings: addRecentFindings(findings, replayed, champion), ...counted };
}
