// The review queue as rows: what was opened, claimed and decided, as the journal has it, and the view
// that folds it into one row for each review, by the rules of contract/reviews/book.ts. Calls that are
// counted later are rows of their own, which the daily upkeep adds up.
import { appendRows, appendValues, readNumber, type Connection } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";

/** Texts of an event in append order; those that every event has come first. */
const COMMON_TEXT_MEMBERS = ["reviewId", "tenant", "agent", "level", "event"] as const;
const OPTIONAL_TEXT_MEMBERS = [
  "who",
  "actor",
  "decision",
  "note",
  "kind",
  "day",
  "reason",
  "requestId",
  "statement",
  "contact",
  "disputedRequestId",
] as const;

/**
 * An opening, a claim or a decision; members that do not apply are null. `who` is the reviewer and
 * `actor` the key that acted: both are null for an opening by calls.
 */
export interface ReviewEventRow
  extends
    Readonly<Record<(typeof COMMON_TEXT_MEMBERS)[number], string>>,
    Readonly<Record<(typeof OPTIONAL_TEXT_MEMBERS)[number], string | null>> {
  readonly atMs: number;
  /** End of a lease, or of the time for which a decision holds. */
  readonly untilMs: number | null;
  readonly maxStakes: number | null;
  /** Of an opening. */
  readonly stakes: number | null;
}

/** Calls that a review stands for. */
export interface ReviewCallRow {
  readonly reviewId: string;
  readonly calls: number;
  readonly lastRequestId: string;
  readonly lastMs: number;
  readonly stakesMax: number;
}

/** A row with the position of its journal record. */
export type PositionedRow<Row> = Row & { readonly position: number };

export function buildReviewQueueTableSql(): string[] {
  return [
    `CREATE TABLE review_event_rows (position BIGINT NOT NULL, acted_at TIMESTAMP NOT NULL,
      until TIMESTAMP, stakes DOUBLE, max_stakes DOUBLE, review_id VARCHAR NOT NULL,
      tenant VARCHAR NOT NULL, agent VARCHAR NOT NULL, level VARCHAR NOT NULL,
      event VARCHAR NOT NULL, who VARCHAR, actor VARCHAR, decision VARCHAR, note VARCHAR,
      kind VARCHAR, day VARCHAR, reason VARCHAR, request_id VARCHAR, statement VARCHAR,
      contact VARCHAR, disputed_request_id VARCHAR)`,
    `CREATE TABLE review_call_rows (position BIGINT NOT NULL, calls BIGINT NOT NULL,
      last_at TIMESTAMP NOT NULL, stakes_max DOUBLE NOT NULL, review_id VARCHAR NOT NULL,
      last_request_id VARCHAR NOT NULL)`,
  ];
}

/** Appends the rows, inside the open transaction. */
export async function appendReviewQueue(
  connection: Connection,
  events: readonly PositionedRow<ReviewEventRow>[],
  calls: readonly PositionedRow<ReviewCallRow>[],
): Promise<void> {
  await appendRows(connection, "review_event_rows", events, (appender, row) => {
    appendValues(appender, BigInt(row.position), { epochMs: row.atMs });
    appendValues(appender, { epochMs: row.untilMs ?? Number.NaN }, row.stakes, row.maxStakes);
    appendValues(appender, ...COMMON_TEXT_MEMBERS.map((name) => row[name]));
    appendValues(appender, ...OPTIONAL_TEXT_MEMBERS.map((name) => row[name]));
  });
  await appendRows(connection, "review_call_rows", calls, (appender, row) => {
    appendValues(appender, BigInt(row.position), BigInt(row.calls), { epochMs: row.lastMs });
    appendValues(appender, row.stakesMax, row.reviewId, row.lastRequestId);
  });
}

/** Rows of calls that others of the same review stand beside. */
export function countSpareCallRows(connection: Connection): Promise<number> {
  return readNumber(
    connection,
    "SELECT count(*) - count(DISTINCT review_id) FROM review_call_rows",
  );
}

const CALL_SUMS_SQL = `SELECT max(position) AS position, sum(calls)::BIGINT AS calls,
    max(last_at) AS last_at, max(stakes_max) AS stakes_max, review_id,
    arg_max(last_request_id, last_at) AS last_request_id`;

/** Makes one row of those of each review, inside the open transaction. */
export async function compactCallRows(connection: Connection): Promise<void> {
  const sums = "review_call_sums";
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE ${sums} AS ${CALL_SUMS_SQL} FROM review_call_rows GROUP BY review_id`,
  );
  await connection.run("DELETE FROM review_call_rows");
  await connection.run(`INSERT INTO review_call_rows SELECT * FROM ${sums}`);
  await connection.run(`DROP TABLE ${sums}`);
}

/**
 * A decision settles its own review, also one that is decided already, and all that waited about the
 * same subject: of a review's later decisions these are its own and the first.
 */
const buildSettledSql = (
  events: string,
) => `SELECT o.review_id, d.position, d.acted_at, d.who, d.decision, d.note,
    d.until, d.max_stakes, nullif(d.review_id, o.review_id) AS settled_by
  FROM ${events} AS o JOIN ${events} AS d ON d.event = 'review.decided'
    AND d.tenant = o.tenant AND d.agent = o.agent AND d.level = o.level
    AND d.position > o.position
  WHERE o.event = 'review.opened'
  QUALIFY d.review_id = o.review_id
    OR row_number() OVER (PARTITION BY o.review_id ORDER BY d.position) = 1`;

export const REVIEW_QUEUE_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  review_queue: {
    sql: (from) => {
      const events = from("review_event_rows");
      return `WITH opened AS (
          SELECT * FROM ${events} WHERE event = 'review.opened'
          QUALIFY row_number() OVER (PARTITION BY review_id ORDER BY position) = 1
        ), counted AS (
          ${CALL_SUMS_SQL} FROM ${from("review_call_rows")} GROUP BY review_id
        ), claimed AS (
          SELECT review_id, position, who, until FROM ${events} WHERE event = 'review.claimed'
          QUALIFY row_number() OVER (PARTITION BY review_id ORDER BY position DESC) = 1
        ), decided AS (
          FROM (${buildSettledSql(events)})
          QUALIFY row_number() OVER (PARTITION BY review_id ORDER BY position DESC) = 1
        )
        SELECT o.review_id, o.tenant, o.kind, o.agent, o.level, CAST(o.day AS DATE) AS day,
          o.reason, n.calls, o.acted_at AS opened_at,
          n.last_at,
          o.request_id AS first_request_id,
          n.last_request_id,
          o.stakes AS first_stakes, n.stakes_max,
          o.statement, o.contact, o.disputed_request_id,
          if(d.review_id IS NULL, c.who, NULL) AS claimed_by,
          if(d.review_id IS NULL, c.until, NULL) AS claimed_until,
          d.decision, d.who AS decided_by, d.acted_at AS decided_at, d.note, d.until, d.max_stakes,
          d.settled_by,
          greatest(o.position, n.position, c.position, d.position) AS position
        FROM opened AS o LEFT JOIN counted AS n USING (review_id)
        LEFT JOIN claimed AS c USING (review_id) LEFT JOIN decided AS d USING (review_id)`;
    },
    comment: "agents held back until a person has looked, and disputes; decided ones stay",
    columns: [
      ["review_id", "id of the review"],
      ["tenant", "whose review it is"],
      ["kind", "held: calls were held back; dispute: somebody asked for it"],
      ["agent", "the agent"],
      ["level", "tool level that was asked for; connect for check and handshake"],
      ["day", "UTC day of the calls"],
      ["reason", "the rule that held the first call back; of a dispute that of its decision"],
      ["calls", "calls that it stands for"],
      ["opened_at", "when it was opened, UTC"],
      ["last_at", "when the last call came, UTC"],
      ["first_request_id", "decision that opened it"],
      ["last_request_id", "decision on the last call"],
      ["first_stakes", "stakes of the first call"],
      ["stakes_max", "highest stakes of its calls"],
      ["statement", "what a dispute says, text of whoever sent it; else null"],
      ["contact", "where a dispute is to be answered, or null"],
      ["disputed_request_id", "decision that a dispute is about, or null"],
      ["claimed_by", "who claimed it last; null once it is decided"],
      ["claimed_until", "end of that claim's lease, UTC"],
      ["decision", "overturned or upheld; null while it waits"],
      ["decided_by", "who decided, or null"],
      ["decided_at", "when, UTC, or null"],
      ["note", "what the reviewer wrote, or null"],
      ["until", "the decision holds before this, UTC, or null"],
      ["max_stakes", "overturned up to these stakes; null for any"],
      ["settled_by", "review whose decision settled this one as well, or null"],
      ["position", "newest record of the evidence journal about it"],
    ],
  },
};
