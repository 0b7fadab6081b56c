// Slow, obvious streaks: the latest outcomes, failures in a row against a good record, and the praise
// of those who have a good record themselves.
import type { ScoringConfig } from "../../src/engine/config.ts";

const BROKEN_MAX = 12;
const SURPRISE_MAX = 3;
const STRENGTH_MAX = 3;

export interface Streak {
  latest: number;
  broken: number;
  praise: number;
  reportedLatest: number;
  /** In steps of 1/65535. */
  failing: number;
}

export const noStreak = (): Streak => ({
  latest: 0,
  broken: 0,
  praise: 0,
  reportedLatest: 0,
  failing: 0,
});

interface Party {
  mA: number;
  streak: Streak;
}

/**
 * Returns the praise in the outcome. `expected`: the log-odds of failure before it; `spoken`: its weight
 * as one of a row; `shareWeight`: in the failing share of recent ones.
 */
export function takeStreaks(
  c: ScoringConfig,
  subject: Party,
  reporter: Party,
  y: number,
  weight: number,
  { spoken: said, shareWeight }: { readonly spoken: number; readonly shareWeight: number },
  expected: number,
): number {
  const own = subject.streak;
  const gain = Math.min(1, said * c.latest_gain!);
  own.latest = Math.fround(own.latest + gain * (y - own.latest));
  const part = Math.min(1, shareWeight * c.failing_gain!);
  own.failing = Math.round((own.failing + part * (y - own.failing)) * 65_535) / 65_535;
  const surprise = Math.min(SURPRISE_MAX, Math.max(0, -expected));
  const broken = y === 1 ? own.broken + said * surprise : own.broken * (1 - gain);
  own.broken = Math.fround(Math.min(BROKEN_MAX, broken));
  const strength = Math.min(STRENGTH_MAX, Math.max(0, -reporter.mA));
  const praise = y === 0 && said > 0 ? weight * strength : 0;
  const told = Math.min(1, said * c.viewer_gain!);
  const theirs = reporter.streak;
  theirs.reportedLatest = Math.fround(theirs.reportedLatest + told * (y - theirs.reportedLatest));
  return praise;
}
