// Views of reporters to look at, with or without seeds: rings, lenient and harsh reporters, repeated
// times and amounts; the view `findings` is what of them is beyond chance.
import type { ViewDefinition } from "../view.ts";

/** Weight, in outcomes, of the rate of all outcomes in the rate that is expected of a subject. */
const PRIOR_OUTCOMES = 5;
/** Outcomes of a pair from which its times and amounts are compared. */
const REPEATS_MIN = 5;

/** What of the views is a finding: none in clean markets of 20,000 and 200,000 outcomes. */
const SEVERITY_FINDING = { outcomes: 50, deviation: 6, lenientRatio: 1 / 3, harshRatio: 2 };
const REPETITION_FINDING = { outcomes: 20, share: 0.9 };

/** Members of rings as marked last. */
const buildMembersSql = (standings: string) => `SELECT agent, cluster AS ring FROM (
    SELECT agent, cluster, in_ring FROM ${standings}
    QUALIFY row_number() OVER (PARTITION BY agent ORDER BY position DESC) = 1) WHERE in_ring`;

const RINGS: ViewDefinition = {
  sql: (from) => `WITH members AS (${buildMembersSql(from("standing_rows"))}),
    told AS (SELECT s.ring, s.agent, r.ring IS NOT DISTINCT FROM s.ring AS is_inside, o.outcome
      FROM ${from("outcome_rows")} AS o JOIN members AS s ON s.agent = o.subject
        LEFT JOIN members AS r ON r.agent = o.reporter
      WHERE o.agent_fault AND o.reporter <> o.subject),
    given AS (SELECT r.agent, count(*) AS praise,
        count(*) FILTER (s.ring IS NOT DISTINCT FROM r.ring) AS inside_praise
      FROM ${from("outcome_rows")} AS o JOIN members AS r ON r.agent = o.reporter
        LEFT JOIN members AS s ON s.agent = o.subject
      WHERE o.agent_fault AND o.reporter <> o.subject AND o.outcome = 1 GROUP BY r.agent)
    SELECT m.ring, m.agent, CAST(count(*) OVER (PARTITION BY m.ring) AS BIGINT) AS members,
      coalesce(any_value(g.inside_praise) / any_value(g.praise), 0) AS closed_share,
      count(*) FILTER (t.is_inside) AS inside_outcomes,
      count(*) FILTER (t.is_inside AND t.outcome = 0) / nullif(count(*) FILTER (t.is_inside), 0)
        AS inside_failure_rate,
      count(*) FILTER (NOT t.is_inside) AS outside_outcomes,
      count(*) FILTER (NOT t.is_inside AND t.outcome = 0)
        / nullif(count(*) FILTER (NOT t.is_inside), 0) AS outside_failure_rate
    FROM members AS m LEFT JOIN told AS t ON t.agent = m.agent LEFT JOIN given AS g ON g.agent = m.agent
    GROUP BY m.ring, m.agent`,
  comment:
    "members of rings, closed groups that praise one another and fail outsiders, as found last; over the outcomes that are kept",
  columns: [
    ["ring", "number of the ring: reporters of one number are one voice"],
    ["agent", "a member"],
    ["members", "members of the ring"],
    ["closed_share", "share of its praise that goes to members, 0 to 1"],
    ["inside_outcomes", "outcomes that members reported about it"],
    ["inside_failure_rate", "failures among them, 0 to 1; null for none"],
    ["outside_outcomes", "outcomes that others reported about it"],
    ["outside_failure_rate", "failures among them, 0 to 1; null for none"],
  ],
};

/**
 * Failures of a reporter against those expected of its subjects by what others say of the same ones. The
 * deviation is of square roots (Anscombe), whose variance is 1 whatever the expected count of failures.
 */
const REPORTER_SEVERITY: ViewDefinition = {
  sql: (from) => `WITH pairs AS (
      SELECT reporter, subject, count(*) AS n, count(*) FILTER (outcome = 0) AS failed
      FROM ${from("outcome_rows")} WHERE agent_fault AND reporter <> subject GROUP BY ALL),
    subjects AS (SELECT subject, sum(n) AS n, sum(failed) AS failed FROM pairs GROUP BY subject),
    everything AS (SELECT sum(failed) / sum(n) AS rate FROM pairs),
    sums AS (SELECT p.reporter, sum(p.n) AS outcomes, count(*) AS subjects, sum(p.failed) AS failures,
        sum(p.n * (s.failed - p.failed + ${PRIOR_OUTCOMES} * e.rate)
          / (s.n - p.n + ${PRIOR_OUTCOMES})) AS expected
      FROM pairs AS p JOIN subjects AS s USING (subject) CROSS JOIN everything AS e
      GROUP BY p.reporter)
    SELECT reporter, CAST(outcomes AS BIGINT) AS outcomes, subjects,
      CAST(failures AS BIGINT) AS failures, expected AS expected_failures,
      failures / outcomes AS failure_rate, expected / outcomes AS expected_failure_rate,
      2 * (sqrt(failures + 0.375) - sqrt(expected + 0.375)) AS deviation
    FROM sums`,
  comment:
    "how often a reporter reports failures, against what others report of the same agents; of the outcomes that are kept",
  columns: [
    ["reporter", "the agent that reports"],
    ["outcomes", "outcomes that it reported of other agents, their doing"],
    ["subjects", "distinct agents among them"],
    ["failures", "of those outcomes, failures"],
    ["expected_failures", "failures expected of the same agents by the reports of others"],
    ["failure_rate", "failures / outcomes, 0 to 1"],
    ["expected_failure_rate", "expected_failures / outcomes, 0 to 1"],
    ["deviation", "standard errors from what is expected: below 0 lenient, above 0 harsh"],
  ],
};

const REPEATED_REPORTS: ViewDefinition = {
  sql: (from) => `WITH told AS (SELECT reporter, subject, stakes, date_diff('second',
        lag(settled_at) OVER (PARTITION BY reporter, subject ORDER BY settled_at), settled_at) AS gap
      FROM ${from("outcome_rows")} WHERE agent_fault AND reporter <> subject),
    amounts AS (SELECT reporter, subject, sum(n) AS outcomes, max(n) AS same,
        arg_max(stakes, n) AS usual
      FROM (SELECT reporter, subject, stakes, count(*) AS n FROM told GROUP BY ALL)
      GROUP BY reporter, subject HAVING sum(n) >= ${REPEATS_MIN}),
    gaps AS (SELECT reporter, subject, sum(n) AS intervals, max(n) AS same, arg_max(gap, n) AS usual
      FROM (SELECT reporter, subject, gap, count(*) AS n FROM told WHERE gap IS NOT NULL GROUP BY ALL)
      GROUP BY reporter, subject)
    SELECT reporter, subject, CAST(a.outcomes AS BIGINT) AS outcomes, a.usual AS usual_stakes,
      a.same / a.outcomes AS same_stakes_share, g.usual AS usual_gap_seconds,
      g.same / g.intervals AS same_gap_share
    FROM amounts AS a JOIN gaps AS g USING (reporter, subject)`,
  comment: `amounts and intervals that repeat themselves in what one agent reports of another, from ${REPEATS_MIN} outcomes on`,
  columns: [
    ["reporter", "the agent that reports"],
    ["subject", "the agent reported on"],
    ["outcomes", "outcomes that it reported of it"],
    ["usual_stakes", "stakes that occur most often"],
    ["same_stakes_share", "share of the outcomes with those stakes, 0 to 1"],
    ["usual_gap_seconds", "seconds between two outcomes that occur most often"],
    ["same_gap_share", "share of the intervals of that length, 0 to 1"],
  ],
};

const FINDINGS: ViewDefinition = {
  sql: (from) => {
    const { outcomes, deviation, lenientRatio, harshRatio } = SEVERITY_FINDING;
    const { outcomes: repeats, share } = REPETITION_FINDING;
    return `WITH severity AS (${REPORTER_SEVERITY.sql(from)}), rings AS (${RINGS.sql(from)})
    SELECT 'ring' AS kind, agent, NULL AS about, ring, outside_outcomes AS outcomes,
      outside_failure_rate AS observed, inside_failure_rate AS expected FROM rings
    UNION ALL SELECT 'lenient', reporter, NULL, NULL, outcomes, failure_rate, expected_failure_rate
      FROM severity WHERE outcomes >= ${outcomes} AND deviation <= -${deviation}
        AND failures <= ${lenientRatio} * expected_failures
        AND reporter NOT IN (SELECT agent FROM rings)
    UNION ALL SELECT 'harsh', reporter, NULL, NULL, outcomes, failure_rate, expected_failure_rate
      FROM severity WHERE outcomes >= ${outcomes} AND deviation >= ${deviation}
        AND failures >= ${harshRatio} * expected_failures
    UNION ALL SELECT 'repetition', reporter, subject, NULL, outcomes, same_gap_share, NULL
      FROM (${REPEATED_REPORTS.sql(from)})
      WHERE outcomes >= ${repeats} AND same_stakes_share >= ${share} AND same_gap_share >= ${share}`;
  },
  comment:
    "reporters to look at: members of rings, lenient and harsh reporters, repeated times and amounts beyond chance",
  columns: [
    ["kind", "ring, lenient, harsh or repetition"],
    ["agent", "the agent to look at"],
    ["about", "of a repetition: the agent reported on; else null"],
    ["ring", "number of the ring, else null"],
    ["outcomes", "outcomes that it rests on; of a ring: those by outsiders about the agent"],
    [
      "observed",
      "failure rate: towards outsiders (ring), reported (lenient, harsh), 0 to 1; of a repetition the share of equal intervals",
    ],
    [
      "expected",
      "failure rate: inside (ring), by others of the same agents (lenient, harsh), 0 to 1; else null",
    ],
  ],
};

export const FINDING_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  findings: FINDINGS,
  repeated_reports: REPEATED_REPORTS,
  reporter_severity: REPORTER_SEVERITY,
  rings: RINGS,
};
