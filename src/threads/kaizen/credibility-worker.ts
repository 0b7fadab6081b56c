// Worker entry of a credibility batch: reads the journal, walks the graph, answers with the records
// to write. Writes nothing itself: a crash here changes no standing.
import type { StandingsPart } from "../../engine/reading.ts";
import { readStandingHistory } from "../../kaizen/replay/credibility-history.ts";
import {
  computeRingMarks,
  computeStandingBatch,
  createStandingPolicy,
  type RingMarks,
  type StandingHistory,
} from "../../kaizen/credibility/standings.ts";
import { encodeStandings } from "../../journal/standings.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type { CredibilityResult, CredibilityTask } from "../../kaizen/service/worker-pool.ts";

/**
 * Records that a batch without seeds reads, the newest: its memory, some 20 bytes an outcome, is no
 * choice of the operator's.
 */
const RECORDS_WITHOUT_SEEDS_MAX = 2_000_000;

function encodeChanges(history: StandingHistory, standings: StandingsPart, uptoLsn: number) {
  const { isInForce, stakesHigh } = history;
  const isSame =
    isInForce === standings.isInForce &&
    standings.agents.length === 0 &&
    standings.stakesHigh === stakesHigh;
  const before = { isInForce, stakesHigh };
  return isSame ? [] : encodeStandings({ ...standings, computedFrom: uptoLsn }, before);
}

const countRings = ({ rings }: RingMarks) => ({
  rings: rings.length,
  ring_members: rings.reduce((sum, { length }) => sum + length, 0),
});

/** The task function that the pool calls. */
export default function runCredibilityTask(task: CredibilityTask): CredibilityResult {
  const { journal, uptoLsn, rules, config, isOff } = task;
  lowerThreadPriority();
  if (rules === undefined || isOff) {
    // Without outcomes no ring is found, and every mark goes.
    const afterLsn = isOff ? uptoLsn : Math.max(0, uptoLsn - RECORDS_WITHOUT_SEEDS_MAX);
    const history = readStandingHistory(journal, uptoLsn, config, { afterLsn });
    const marks = computeRingMarks(history);
    return { payloads: encodeChanges(history, marks.standings, uptoLsn), ...countRings(marks) };
  }
  const history = readStandingHistory(journal, uptoLsn, config);
  const batch = computeStandingBatch(history, rules, createStandingPolicy(config));
  if (batch === undefined) return { payloads: [], rings: 0, ring_members: 0 };
  const { standings, figures, graph } = batch;
  const payloads = encodeChanges(history, standings, uptoLsn);
  return { payloads, figures, graph: graph(), ...countRings(batch) };
}
