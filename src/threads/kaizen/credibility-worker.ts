// Worker entry of a credibility batch: reads the journal, walks the graph, answers with the records
// to write. Writes nothing itself: a crash here changes no standing.
import { readStandingHistory } from "../../kaizen/replay/credibility-history.ts";
import { computeStandingBatch, createStandingPolicy } from "../../kaizen/credibility/standings.ts";
import { encodeStandings } from "../../journal/standings.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type { CredibilityResult, CredibilityTask } from "../../kaizen/service/worker-pool.ts";

/** The task function that the pool calls. */
export default function runCredibilityTask({ journal, uptoLsn, rules, config }: CredibilityTask) {
  lowerThreadPriority();
  const { history, isInForce } = readStandingHistory(journal, uptoLsn, config);
  const batch = computeStandingBatch(history, rules, createStandingPolicy(config));
  if (batch === undefined) return { payloads: [] } satisfies CredibilityResult;
  const { standings, figures, graph } = batch;
  const before = { isInForce, stakesHigh: history.stakesHigh };
  const isSame =
    isInForce && standings.agents.length === 0 && standings.stakesHigh === history.stakesHigh;
  const payloads = isSame ? [] : encodeStandings({ ...standings, computedFrom: uptoLsn }, before);
  return { payloads, figures, graph: graph() } satisfies CredibilityResult;
}
