// Graph of reports (reporter to subject) as typed arrays: a million outcomes take a few dozen
// megabytes and some hundred milliseconds. Agents are numbered from 0.

/** Outcomes as numbers. */
export interface ReportedEdges {
  agents: number;
  reporters: ArrayLike<number>;
  subjects: ArrayLike<number>;
  /** 1 failed, 0 succeeded. */
  failures: ArrayLike<number>;
  /** Evidence weight of each before credibility, 0 to 1; all 1 by default. */
  weights?: ArrayLike<number>;
  /** Number of valid entries. */
  count: number;
}

/** Compressed rows: the targets of each source with their weights. */
export interface PositiveReportGraph {
  starts: Uint32Array;
  targets: Uint32Array;
  weights: Float64Array;
  /** Sum of the weights of each source. */
  totals: Float64Array;
}

/** Outcomes of each reporter: numbers `order[starts[r]]` to `order[starts[r + 1] - 1]`. */
export interface OutcomesByReporter {
  starts: Uint32Array;
  order: Uint32Array;
}

/** Sorts outcomes by reporter; stable. */
export function groupOutcomesByReporter({
  agents,
  reporters,
  count,
}: ReportedEdges): OutcomesByReporter {
  const starts = new Uint32Array(agents + 1);
  for (let i = 0; i < count; i++) starts[reporters[i]! + 1]! += 1;
  for (let i = 0; i < agents; i++) starts[i + 1]! += starts[i]!;
  const next = starts.slice();
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[next[reporters[i]!]!++] = i;
  return { starts, order };
}

/** Distinct subjects of a reporter, ascending. */
export function listDistinctSubjects(
  { subjects }: ReportedEdges,
  { starts, order }: OutcomesByReporter,
  reporter: number,
): Uint32Array {
  const all = new Uint32Array(starts[reporter + 1]! - starts[reporter]!);
  for (let i = 0; i < all.length; i++) all[i] = subjects[order[starts[reporter]! + i]!]!;
  all.sort();
  let kept = 0;
  for (const subject of all) if (kept === 0 || all[kept - 1] !== subject) all[kept++] = subject;
  return all.subarray(0, kept);
}

/** Positive reports summed per pair and bounded: K (1 - exp(-n / K)) as the fold's pair cap. */
export function buildPositiveReportGraph(edges: ReportedEdges, cap: number): PositiveReportGraph {
  const { agents, subjects, failures, weights: own } = edges;
  const rows = groupOutcomesByReporter(edges);
  const starts = new Uint32Array(agents + 1);
  const targets = new Uint32Array(edges.count);
  const weights = new Float64Array(edges.count);
  const totals = new Float64Array(agents);
  const mass = new Float64Array(agents);
  let end = 0;
  for (let reporter = 0; reporter < agents; reporter++) {
    starts[reporter] = end;
    for (let at = rows.starts[reporter]!; at < rows.starts[reporter + 1]!; at++) {
      const i = rows.order[at]!;
      const subject = subjects[i]!;
      const weight = own === undefined ? 1 : own[i]!;
      if (failures[i] === 1 || subject === reporter || weight === 0) continue;
      if (mass[subject] === 0) targets[end++] = subject;
      mass[subject]! += weight;
    }
    for (let at = starts[reporter]!; at < end; at++) {
      const subject = targets[at]!;
      weights[at] = cap * (1 - Math.exp(-mass[subject]! / cap));
      totals[reporter]! += weights[at]!;
      mass[subject] = 0;
    }
  }
  starts[agents] = end;
  return { starts, targets: targets.subarray(0, end), weights: weights.subarray(0, end), totals };
}
