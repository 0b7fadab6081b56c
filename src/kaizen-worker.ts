// Entry of kaizen's pool thread: replays the journal, fits, tests, and answers with findings. It
// owns a private engine memory and writes nothing: what it dies of leaves the champion in place.
import { workerData } from "node:worker_threads";
import type { ScoringConfig } from "./engine/config.ts";
import { KAIZEN_STAGES } from "./kaizen-pool.ts";
import { replayJournal } from "./kaizen-replay.ts";
import type { Replayed } from "./kaizen-replay.ts";
import { probeEngine } from "./kaizen-states.ts";
import { playAttacks } from "./kaizen/attacks.ts";
import type { AttackRows, AttackStage } from "./kaizen/attacks.ts";
import { GATE_POLICY } from "./kaizen/gate.ts";
import { watchSince } from "./kaizen/monitor.ts";
import type { SideWatch } from "./kaizen/monitor.ts";
import { kaizenRun, SIDES } from "./kaizen/run.ts";
import type { Findings, RunOptions, Side } from "./kaizen/run.ts";
import { appendRow, createRows } from "./kaizen/scorecard.ts";
import type { ScorecardRows } from "./kaizen/scorecard.ts";
import { yieldToOthers } from "./niceness.ts";

/** Shared with the service: [0] the stage, [1] its progress in thousandths. */
export interface KaizenWorkerData {
  progress: Int32Array;
}

export interface KaizenTask {
  journal: string;
  uptoLsn: number;
  champion: ScoringConfig;
  options: Omit<RunOptions, "gapMs" | "isPilot">;
  /** A promotion still watched: when it was, and the config it replaced. */
  watch?: { sinceMs: number; parent: ScoringConfig };
  /** No challenge, only the watch. */
  isWatchOnly?: boolean;
}

export interface KaizenResult {
  findings: Findings;
  rows: number;
  /** By scorecard that the promotion changed. */
  watch?: SideWatch[];
}

/** From so many signed outcomes on, a deployment is no pilot any more. */
const PILOT_ROWS = 50_000;

const { progress } = workerData as KaizenWorkerData;

function enter(stage: (typeof KAIZEN_STAGES)[number], share = 0): void {
  Atomics.store(progress, 0, KAIZEN_STAGES.indexOf(stage));
  Atomics.store(progress, 1, Math.round(share * 1000));
}

/** Both legs of every victim; the scripts ask for one, the other is kept beside it. */
function attackBoth(replayed: Replayed): Record<Side, AttackRows> | undefined {
  const { writer, reader, cast } = replayed;
  if (cast.frauds.length < 2) return undefined;
  const twins = new Map<ScorecardRows, ScorecardRows>();
  const stage: AttackStage = {
    fold: (outcome) => writer.fold(outcome),
    refresh: () => undefined,
    read: (rows, subject, nowMs) => {
      reader.check(subject, 0, nowMs);
      appendRow(rows, reader.legWords, reader.baseRate);
      const twin = twins.get(rows) ?? createRows(cast.frauds.length + cast.honest.length);
      twins.set(rows, twin);
      reader.handshake("agent://attack/viewer", subject, 0, nowMs);
      appendRow(twin, reader.legWords, reader.baseRate);
    },
  };
  const check = playAttacks(stage, cast);
  const entries = Object.entries(check).map(([script, { before, after }]) => [
    script,
    { before: twins.get(before)!, after: twins.get(after)! },
  ]);
  return { check, handshake: Object.fromEntries(entries) as AttackRows };
}

/** Both scorecards of a promotion against those it replaced. */
function watchBoth({ evidence }: Replayed, { watch, champion }: KaizenTask) {
  if (watch === undefined) return undefined;
  return watchSince(evidence, watch.sinceMs, champion, watch.parent);
}

/** The task function that the pool calls. */
export default function run(task: KaizenTask): KaizenResult {
  yieldToOthers();
  const { journal, uptoLsn, champion, options } = task;
  enter("replay");
  const replayed = replayJournal(journal, uptoLsn, champion, (share) => enter("replay", share));
  const watch = watchBoth(replayed, task);
  const rows = replayed.evidence.check.rows.count;
  const watched = watch === undefined ? {} : { watch };
  if (task.isWatchOnly === true) {
    const findings = { sides: [], reason: "watched", policy: GATE_POLICY };
    return { findings, rows, ...watched };
  }
  enter("attacks");
  const attacks = attackBoth(replayed);
  const findings = kaizenRun(
    replayed.evidence,
    attacks ?? {},
    champion,
    { ...options, gapMs: replayed.lagMs, isPilot: rows < PILOT_ROWS },
    (side) => enter(side, SIDES.indexOf(side) / SIDES.length),
    probeEngine,
  );
  enter("waiting");
  return { findings, rows, ...watched };
}
