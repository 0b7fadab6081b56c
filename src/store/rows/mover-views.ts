// View of movers: daily scores beside those of the same agent 1, 7 and 30 days before, with the inputs of the
// score that differ.
import type { ViewDefinition } from "../view.ts";

/** Days between the two scores of a row. */
const SPANS_DAYS = [1, 7, 30];
/** Weight of outcomes below which a change is no movement. */
const WEIGHT_CHANGE_MIN = 0.01;

/** Words of `moved` and when they are given, of the rows `later` and `earlier`. */
const MOVEMENTS: readonly (readonly [word: string, condition: string])[] = [
  ["config", "later.config_version <> earlier.config_version"],
  ...["failures", "successes"].flatMap((name) => [
    [`${name}_rose`, buildChangeCondition(name, ">", WEIGHT_CHANGE_MIN)] as const,
    [`${name}_faded`, buildChangeCondition(name, "<", -WEIGHT_CHANGE_MIN)] as const,
  ]),
  ["regime", "later.regime <> earlier.regime"],
  ["stakes", "later.stakes_proven > earlier.stakes_proven"],
  ["credibility", "later.credibility <> earlier.credibility"],
];

function buildChangeCondition(name: string, operator: string, change: number): string {
  const column = `${name}_14d`;
  return `later.${column} - earlier.${column} ${operator} ${change}`;
}

/** The view's columns: expression, name, comment for analysts. */
const MOVER_COLUMNS: readonly (readonly [string, string, string])[] = [
  ["later.day", "day", "UTC day of the later score"],
  ["span_days", "span_days", "days back to the earlier score: 1, 7 or 30"],
  ["later.agent", "agent", "the agent scored"],
  ["nullif(later.namespace, '')", "namespace", "namespace of an agent:// name, else null"],
  ["earlier.score", "score_before", "earlier score, 0 to 100"],
  ["later.score", "score", "later score, 0 to 100"],
  ["later.score - earlier.score", "change", "score less score_before; below 0: it fell"],
  [
    "earlier.failure_probability",
    "failure_probability_before",
    "expected at stakes of 0, 0 to 1, on the earlier day",
  ],
  ["later.failure_probability", "failure_probability", "the same on the later day"],
  ["earlier.tier", "tier_before", "A to D or REVIEW, on the earlier day"],
  ["later.tier", "tier", "the same on the later day"],
  [
    `list_filter([${MOVEMENTS.map(([word, condition]) => `if(${condition}, '${word}', NULL)`).join(", ")}],
      word -> word IS NOT NULL)`,
    "moved",
    "inputs of the score that differ: config, failures_rose, failures_faded, successes_rose, successes_faded " +
      "(by the weights of 14 days), regime, stakes, credibility",
  ],
  [
    "CAST(later.outcomes - earlier.outcomes AS BIGINT)",
    "new_outcomes",
    "outcomes about it that were folded in between",
  ],
  ...["successes_90d", "failures_90d", "successes_14d", "failures_14d", "stakes_proven"].map(
    (name) =>
      [
        `later.${name} - earlier.${name}`,
        `${name}_change`,
        `change of ${name} of scores_daily`,
      ] as const,
  ),
  [
    "nullif(earlier.regime, '')",
    "regime_before",
    "regime on the earlier day; null without history",
  ],
  ["nullif(later.regime, '')", "regime", "regime on the later day; null without history"],
  ["earlier.config_version", "config_version_before", "scoring config of the earlier day"],
  ["later.config_version", "config_version", "scoring config of the later day"],
];

const MOVER_SELECT_SQL = MOVER_COLUMNS.map(([expression, name]) => `${expression} AS ${name}`).join(
  ", ",
);

export const MOVER_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  movers: {
    sql: (from) => `SELECT ${MOVER_SELECT_SQL}
      FROM ${from("score_day_rows")} AS later
      CROSS JOIN (SELECT unnest([${SPANS_DAYS.join(", ")}]) AS span_days)
      JOIN ${from("score_day_rows")} AS earlier
        ON earlier.agent = later.agent AND earlier.day = later.day - CAST(span_days AS INTEGER)`,
    comment:
      "how far each agent's score moved within 1, 7 and 30 days, and which inputs of the score differ: one row " +
      "for each agent, day and span of which scores_daily has both days. A key needs score:read as well",
    columns: MOVER_COLUMNS.map(([, name, comment]) => [name, comment] as const),
  },
};
