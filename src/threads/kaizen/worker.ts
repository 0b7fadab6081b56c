// Worker entry of kaizen: replays the journal, fits, tests, and answers with findings. It owns a
// private engine memory and writes nothing: a crash here cannot change the live config.
import { workerData } from "node:worker_threads";
import { readStandingHistory } from "../../kaizen/replay/credibility-history.ts";
import { KAIZEN_STAGES } from "../../kaizen/service/task.ts";
import { replayJournal } from "../../kaizen/replay/replay.ts";
import type { Replayed } from "../../kaizen/replay/replay.ts";
import { probeEngine } from "../../kaizen/replay/probe-engine.ts";
import { AttackStandings } from "../../kaizen/gates/attack-credibility.ts";
import { INVENTED, playAttacks } from "../../kaizen/gates/attacks.ts";
import type { AttackCredibility, AttackRows, AttackStage } from "../../kaizen/gates/attacks.ts";
import { GATE_POLICY } from "../../kaizen/gates/gate.ts";
import { watchSince } from "../../kaizen/monitor.ts";
import { kaizenRun, SIDES } from "../../kaizen/run.ts";
import type { Side } from "../../kaizen/run.ts";
import { appendRow, createRows } from "../../kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../../kaizen/model/scorecard.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type { KaizenResult, KaizenTask, KaizenWorkerData } from "../../kaizen/service/task.ts";

/** From this number of signed outcomes on, a deployment is no pilot any more. */
const PILOT_ROWS = 50_000;

const { progress } = workerData as KaizenWorkerData;

function enter(stage: (typeof KAIZEN_STAGES)[number], share = 0): void {
  Atomics.store(progress, 0, KAIZEN_STAGES.indexOf(stage));
  Atomics.store(progress, 1, Math.round(share * 1000));
}

interface Attacks {
  rows?: Record<Side, AttackRows>;
  credibility: AttackCredibility;
}

/**
 * The scripts of gate G9 after the replayed history; both legs of every victim, though the scripts
 * ask for one. A deployment with seeds gets standings that are up to date before the attack, and
 * again after its first wave, as the service would write them: an attack takes longer than an hour.
 */
function attackBoth(replayed: Replayed, task: KaizenTask): Attacks {
  const { writer, reader, attackAgents } = replayed;
  const isInForce = () => reader.areStandingsInForce;
  if (attackAgents.frauds.length < 2)
    return { credibility: { isInForce: isInForce(), believed: 0 } };
  const standings = attackStandings(task);
  const twins = new Map<ScorecardRows, ScorecardRows>();
  const stage: AttackStage = {
    fold: (outcome) => {
      writer.fold(outcome);
      standings?.add(outcome);
    },
    refresh: () => {
      const written = standings?.batch();
      if (written !== undefined) writer.applyStandings(written);
    },
    read: (rows, subject, nowMs) => {
      reader.check(subject, 0, nowMs);
      appendRow(rows, reader.legWords, reader.baseRate);
      const twin =
        twins.get(rows) ?? createRows(attackAgents.frauds.length + attackAgents.honest.length);
      twins.set(rows, twin);
      reader.handshake(`${INVENTED}viewer`, subject, 0, nowMs);
      appendRow(twin, reader.legWords, reader.baseRate);
    },
  };
  stage.refresh();
  const check = playAttacks(stage, attackAgents);
  const entries = Object.entries(check).map(([script, { before, after }]) => [
    script,
    { before: twins.get(before)!, after: twins.get(after)! },
  ]);
  const handshake = Object.fromEntries(entries) as AttackRows;
  const believed = standings?.believed ?? 0;
  return { rows: { check, handshake }, credibility: { isInForce: isInForce(), believed } };
}

function attackStandings({ journal, uptoLsn, champion, seeds, asOfMs }: KaizenTask) {
  if (seeds === undefined) return undefined;
  const { history } = readStandingHistory(journal, uptoLsn, champion, asOfMs);
  return new AttackStandings(history, seeds, champion);
}

/** Both scorecards of a promotion against those it replaced. */
function watchBoth({ evidence }: Replayed, { watch, champion }: KaizenTask) {
  if (watch === undefined) return undefined;
  return watchSince(evidence, watch.sinceMs, champion, watch.parent);
}

/** The task function that the pool calls. */
export default function run(task: KaizenTask): KaizenResult {
  lowerThreadPriority();
  const { journal, uptoLsn, champion, options } = task;
  enter("replay");
  const onShare = (share: number) => enter("replay", share);
  const replayed = replayJournal(journal, uptoLsn, champion, onShare, task.asOfMs);
  const watch = watchBoth(replayed, task);
  const rows = replayed.evidence.check.rows.count;
  const watched = watch === undefined ? {} : { watch };
  if (task.isWatchOnly === true) {
    const findings = { sides: [], reason: "watched", policy: GATE_POLICY };
    return { findings, rows, ...watched };
  }
  enter("attacks");
  const attacks = attackBoth(replayed, task);
  const findings = kaizenRun(
    replayed.evidence,
    attacks.rows ?? {},
    champion,
    {
      ...options,
      gapMs: replayed.lagMs,
      isPilot: rows < PILOT_ROWS,
      credibility: attacks.credibility,
    },
    (side) => enter(side, SIDES.indexOf(side) / SIDES.length),
    probeEngine,
  );
  enter("waiting");
  return { findings, rows, ...watched };
}
