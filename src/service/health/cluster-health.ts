// Readiness of a node by its place along the ordered log of its cluster.
import type { StreamFigures } from "../../stream/figures.ts";

/** Age of a node's answers that is worth a word. */
const LAG_WARNED_MS = 5000;
/** Age from which traffic should go elsewhere. */
const LAG_MAX_MS = 30_000;

interface ClusterHealth {
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
}

/** Neither reasons nor warnings where the process is the whole bureau. */
export function clusterHealth(
  figures: Pick<StreamFigures, "applied" | "known" | "answeredMs" | "lagMs"> | undefined,
  nowMs: number,
): ClusterHealth {
  const lagMs = figures?.lagMs(nowMs) ?? 0;
  if (figures === undefined || lagMs <= LAG_WARNED_MS) return { reasons: [], warnings: [] };
  const { applied, known, answeredMs } = figures;
  const since = answeredMs === 0 ? "the start" : new Date(answeredMs).toISOString();
  const places = `at message ${applied} of ${known}`;
  const age = Number.isFinite(lagMs) ? `by ${Math.round(lagMs / 1000)} s ` : "";
  const detail =
    nowMs - answeredMs > LAG_WARNED_MS
      ? `ordered log unreachable since ${since}: ${places}`
      : `behind the cluster ${age}${places}`;
  return lagMs > LAG_MAX_MS
    ? { reasons: [detail], warnings: [] }
    : { reasons: [], warnings: [detail] };
}
