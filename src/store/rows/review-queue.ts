// The review queue as rows: what was opened, claimed and decided, as the journal has it, and the view
// that folds it into one row for each review, by the rules of contract/reviews/book.ts. Calls that are
// counted later are rows of their own, which the daily upkeep adds up.
import type { Connection, RowAppender } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";

/** An opening, a claim or a decision; what does not belong to it is null. */
export interface ReviewEventRow {
  readonly event: string;
  readonly reviewId: string;
  readonly tenant: string;
  readonly agent: string;
  readonly level: string;
  readonly atMs: number;
  /** The reviewer, and the key that acted; null for an opening by calls. */
  readonly who: string | null;
  readonly actor: string | null;
  /** Until when a lease or a decision holds. */
  readonly untilMs: number | null;
  readonly decision: string | null;
  readonly note: string | null;
  readonly maxStakes: number | null;
  /** Of an opening. */
  readonly kind: string | null;
  readonly day: string | null;
  readonly reason: string | null;
  readonly requestId: string | null;
  readonly stakes: number | null;
  readonly statement: string | null;
  readonly contact: string | null;
  readonly disputedRequestId: string | null;
}

/** Calls that a review stands for. */
export interface ReviewCallRow {
  readonly reviewId: string;
  readonly calls: number;
  readonly lastRequestId: string;
  readonly lastMs: number;
  readonly stakesMax: number;
}

type PositionedReviewRow<Row> = Row & { readonly position: number };

const EVENT_TEXT_MEMBERS = [
  "reviewId",
  "tenant",
  "agent",
  "level",
  "event",
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
  events: readonly PositionedReviewRow<ReviewEventRow>[],
  calls: readonly PositionedReviewRow<ReviewCallRow>[],
): Promise<void> {
  if (events.length > 0) {
    await connection.append("review_event_rows", (appender) => {
      for (const row of events) appendEvent(appender, row);
    });
  }
  if (calls.length === 0) return;
  await connection.append("review_call_rows", (appender) => {
    for (const row of calls) {
      appender.appendBigInt(BigInt(row.position));
      appender.appendBigInt(BigInt(row.calls));
      appender.appendInstant(row.lastMs);
      appender.appendDouble(row.stakesMax);
      appender.appendVarchar(row.reviewId);
      appender.appendVarchar(row.lastRequestId);
      appender.endRow();
    }
  });
}

function appendEvent(appender: RowAppender, row: PositionedReviewRow<ReviewEventRow>): void {
  appender.appendBigInt(BigInt(row.position));
  appender.appendInstant(row.atMs);
  if (row.untilMs === null) appender.appendNull();
  else appender.appendInstant(row.untilMs);
  for (const value of [row.stakes, row.maxStakes]) {
    if (value === null) appender.appendNull();
    else appender.appendDouble(value);
  }
  for (const name of EVENT_TEXT_MEMBERS) {
    const value = row[name];
    if (value === null) appender.appendNull();
    else appender.appendVarchar(value);
  }
  appender.endRow();
}

/** Rows of calls that others of the same review stand beside. */
export async function countSpareCallRows(connection: Connection): Promise<number> {
  const [row] = await connection.rows(
    "SELECT count(*) - count(DISTINCT review_id) FROM review_call_rows",
  );
  return Number(row?.[0]);
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
