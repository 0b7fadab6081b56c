// View of conditions and stops, those that have ended included: each change in the journal beside the next one about
// the same subject. The order of the journal decides, as in contract/conditions/book.ts.
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import type { ViewDefinition } from "../view.ts";

/** A JSON member of epoch ms as a TIMESTAMP in UTC. */
const buildTimeSql = (member: string) => `epoch_ms(CAST(${member} AS BIGINT))`;
const EVENTS = ["condition.set", "condition.lifted", "stop.set", "stop.lifted"];
const LEVELS = `[${TOOL_LEVELS.map((level) => `'${level}'`).join(", ")}]`;
/** Their words sort as they rank. */
const STOPPED_LEVELS = `if(word->>'$.above' IS NULL, NULL,
  list_filter(${LEVELS}, lambda level: level > (word->>'$.above')))`;

/** The view's columns: expression, name, comment for analysts. */
const COLUMNS: readonly (readonly [string, string, string])[] = [
  ["subject", "subject", "agent, or namespace such as agent://acme/*; null: all agents (a stop)"],
  ["tenant", "tenant", "whose word it is; null: the bureau's, for all tenants"],
  [
    "coalesce(word->>'$.state', 'stopped')",
    "state",
    "suspended, watch or cleared; stopped: a stop of all agents",
  ],
  [
    `if(event = 'stop.set', ${STOPPED_LEVELS}, CAST(word->'$.levels' AS VARCHAR[]))`,
    "levels",
    "tool levels that it is about; null: all",
  ],
  [
    "CAST(word->>'$.max_stakes' AS DOUBLE)",
    "max_stakes",
    "of cleared: up to these stakes; null: those that a level assumes",
  ],
  ["until", "until", "its end, UTC; null: when it is lifted"],
  ["word->>'$.reason.code'", "reason_code", "why, for programs"],
  ["word->>'$.reason.text'", "reason_text", "why, for people; or null"],
  ["word->>'$.case'", "case_id", "number or address of the case, or null"],
  ["acted_at", "set_at", "when it was set, UTC"],
  ["actor", "set_by", "API key that set it"],
  [
    "if(over_at <= utc_now, over_at, NULL)",
    "ended_at",
    "when it was lifted or replaced, or ended by itself, UTC; null while it is in force",
  ],
  [
    `CASE WHEN over_at IS NULL OR over_at > utc_now THEN NULL
      WHEN until <= over_at THEN 'expired'
      WHEN next_event LIKE '%.lifted' THEN 'lifted' ELSE 'replaced' END`,
    "ended_how",
    "lifted, replaced by another one, or expired; null while it is in force",
  ],
  [
    "if(until <= over_at, NULL, next_actor)",
    "ended_by",
    "API key that lifted or replaced it, or null",
  ],
  ["position", "position", "its record in the evidence journal"],
];

export const CONDITION_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  conditions: {
    sql: (from) => `WITH changes AS (
        SELECT position, event, tenant, detail->>'$.subject' AS subject,
          ${buildTimeSql("detail->>'$.at_ms'")} AS acted_at, detail->>'$.actor' AS actor,
          coalesce(detail->'$.condition', detail->'$.stop') AS word
        FROM ${from("audit_rows")} WHERE event IN (${EVENTS.map((each) => `'${each}'`).join(", ")})
      ), chained AS (
        SELECT *, ${buildTimeSql("word->>'$.until_ms'")} AS until,
          lead(event) OVER later AS next_event, lead(acted_at) OVER later AS next_at,
          lead(actor) OVER later AS next_actor,
          epoch_ms(epoch_ms(now())) AS utc_now
        FROM changes WINDOW later AS (PARTITION BY tenant, subject ORDER BY position)
      ), ended AS (SELECT *, least(next_at, until) AS over_at FROM chained WHERE event LIKE '%.set')
      SELECT ${COLUMNS.map(([sql, name]) => `${sql} AS ${name}`).join(", ")} FROM ended`,
    comment: "conditions of agents and namespaces, and stops of all agents, with how they ended",
    columns: COLUMNS.map(([, name, comment]) => [name, comment] as const),
  },
};
