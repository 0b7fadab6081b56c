// Replay of the journal for the back-test of a policy: each outcome as the bureau would have read
// its subject right before it settled, with the weights that are live now.
import { BACKTEST_QUESTIONS } from "../../contract/schemas/backtest.ts";
import type { BacktestFindings } from "../../contract/schemas/backtest.ts";
import { SIGNATURES } from "../../contract/vocabulary.ts";
import { VOICE_STRANGER } from "../../contract/voices.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { TableReader } from "../../engine/reader.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { PolicyBacktest } from "../../policy/backtest.ts";
import { createWordColumn, readOutcomeHistory } from "./history.ts";
import type { OutcomeHistory } from "./history.ts";
import { replayHistory } from "./replay.ts";

const UNSIGNED = SIGNATURES.indexOf("none");
const VERIFY = BACKTEST_QUESTIONS.indexOf("verify");
const VERIFY_WITH_STAKES = BACKTEST_QUESTIONS.indexOf("verify_with_stakes");
const HANDSHAKE = BACKTEST_QUESTIONS.indexOf("handshake");
const HANDSHAKE_WITH_STAKES = BACKTEST_QUESTIONS.indexOf("handshake_with_stakes");

/** What a back-test needs: plain data, sent to its thread. */
export interface BacktestTask {
  readonly journal: string;
  /** End of the journal to read; must be durable. */
  readonly uptoLsn: number;
  readonly config: ScoringConfig;
  readonly live: ActivePolicy;
  readonly given?: ActivePolicy | undefined;
  /** Outcomes settled from here on, and before `toMs`, epoch ms. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** True: outcomes of keys that nobody vouches for count, too. */
  readonly includesUnvouched: boolean;
}

/** Outcomes to judge, by index. */
interface OutcomeSelection {
  readonly wanted: Uint32Array;
  /** Outcomes in the window that a stranger's key sent unsigned. */
  readonly unvouched: number;
  readonly countsUnvouched: boolean;
}

/**
 * Anyone with a key can post outcomes unsigned, and invent them: they would paint a policy as better
 * or worse than it is. They count where asked for, or where there is nothing else.
 */
function selectOutcomes(history: OutcomeHistory, task: BacktestTask): OutcomeSelection {
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = task;
  const vouched = createWordColumn();
  const inWindow = createWordColumn();
  for (let i = 0; i < history.settledMs.length; i++) {
    const settledMs = history.settledMs[i]!;
    if (settledMs < fromMs || settledMs >= toMs) continue;
    inWindow.push(i);
    const isUnvouched = history.voices[i]! >= VOICE_STRANGER && history.signatures[i] === UNSIGNED;
    if (!isUnvouched) vouched.push(i);
  }
  const unvouched = inWindow.length - vouched.length;
  const countsUnvouched = unvouched > 0 && (task.includesUnvouched || vouched.length === 0);
  const wanted = (countsUnvouched ? inWindow : vouched).values();
  return { wanted, unvouched, countsUnvouched };
}

/** Sums beside the policy's own: how many outcomes, when, and of how many the stakes are known. */
class OutcomeTotals {
  bad = 0;
  count = 0;
  withoutStakes = 0;
  firstMs = Number.POSITIVE_INFINITY;
  lastMs = Number.NEGATIVE_INFINITY;

  add(settledMs: number, isBad: boolean, isStakesKnown: boolean): void {
    this.count += 1;
    if (isBad) this.bad += 1;
    if (!isStakesKnown) this.withoutStakes += 1;
    this.firstMs = Math.min(this.firstMs, settledMs);
    this.lastMs = Math.max(this.lastMs, settledMs);
  }
}

function formatBacktestTime(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}

/** Puts every outcome of the window to both policies. Calls `onShare` with the progress, 0 to 1. */
export function backtestJournal(
  task: BacktestTask,
  onShare: (share: number) => void,
): BacktestFindings {
  const history = readOutcomeHistory(task.journal, task.uptoLsn, (share) => onShare(share / 3));
  const { wanted, unvouched, countsUnvouched } = selectOutcomes(history, task);
  const { live, given } = task;
  const agentCount = history.agents.length;
  const backtest = new PolicyBacktest({ live, given, agentCount });
  const totals = new OutcomeTotals();
  const judge = (reader: TableReader, i: number) => {
    const agent = history.subjects[i]!;
    const subject = history.agents[agent]!;
    const viewer = history.agents[history.reporters[i]!]!;
    const isBad = history.failures[i] === 1;
    const settledMs = history.settledMs[i]!;
    // Stakes that came with the outcome alone could not have been named, and are not money.
    const isStakesKnown = history.stakesKnown[i] === 1;
    const stakes = isStakesKnown ? history.stakes[i]! : 0;
    totals.add(settledMs, isBad, isStakesKnown);
    const about = { agent, agentId: subject, nowMs: settledMs, isBad, stakes };
    // A reader's readings are reused: each is judged before the next is made.
    const judgeAs = (question: number, reading: AgentScore) =>
      backtest.add(question, { ...about, reading });
    judgeAs(VERIFY, reader.check(subject, 0, settledMs));
    judgeAs(HANDSHAKE, reader.handshake(viewer, subject, 0, settledMs)[0]);
    if (!isStakesKnown) return;
    judgeAs(VERIFY_WITH_STAKES, reader.check(subject, stakes, settledMs));
    judgeAs(HANDSHAKE_WITH_STAKES, reader.handshake(viewer, subject, stakes, settledMs)[0]);
  };
  replayHistory(history, task.config, {
    wanted,
    visit: judge,
    onShare: (share) => onShare((1 + 2 * share) / 3),
  });
  return {
    outcomes: totals.count,
    good: totals.count - totals.bad,
    bad: totals.bad,
    unvouched,
    counts_unvouched: countsUnvouched,
    without_stakes: totals.withoutStakes,
    first_at: formatBacktestTime(totals.firstMs),
    last_at: formatBacktestTime(totals.lastMs),
    ...backtest.buildFindings(history.agents),
  };
}
