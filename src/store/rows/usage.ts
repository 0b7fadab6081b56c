// Usage as rows: sums of each meter, key and day as the journal has them. A second of reads is a record
// and so a row; of the rows of one day the largest holds, and once a day the others go.
import {
  createUsageCounts,
  PAID_READS,
  USAGE_KINDS,
  type UsageKind,
  type UsageRow,
  UsageSums,
} from "../../contract/usage.ts";
import { appendRows, appendValues, readNumber, type Connection } from "../duckdb.ts";
import type { UsageRange } from "../store.ts";
import { quoteLiteral, type ViewDefinition } from "../view.ts";

/** Columns by what they count: `check` is a word of SQL, so kinds of reads say that they are. */
const USAGE_COLUMNS: Readonly<Record<UsageKind, readonly [name: string, comment: string]>> = {
  verify: ["verify_reads", "verdicts of verify, gateways and batches included"],
  check: ["check_reads", "scores of check"],
  handshake: ["handshake_reads", "handshakes; one read each, although two are scored"],
  explain: ["explain_reads", "explanations of an agent, reports on one, decisions judged again"],
  list: ["list_reads", "agents on the pages of lists"],
  history: ["history_reads", "an agent's days that hold scores; one read, however many days"],
  query: ["query_reads", "SQL over views of current scores; one read each, however many rows"],
  export: ["export_reads", "exported files of such views; one read each"],
  test: ["test_reads", "reads about the reserved test agents, which are free"],
  outcomes: ["outcomes_reported", "outcomes reported, which are free"],
};
const USAGE_COLUMN_NAMES = USAGE_KINDS.map((kind) => USAGE_COLUMNS[kind][0]);

export function buildUsageTableSql(): string[] {
  const counts = USAGE_COLUMN_NAMES.map((name) => `${name} BIGINT NOT NULL`);
  return [
    `CREATE TABLE usage_rows (position BIGINT NOT NULL, meter VARCHAR NOT NULL,
      day VARCHAR NOT NULL, key_id VARCHAR NOT NULL, tenant VARCHAR NOT NULL, ${counts.join(", ")})`,
  ];
}

/** Rows gathered for one transaction, the newest of each meter, key and day. */
export class UsageBatch {
  readonly #sums = new UsageSums();
  #position = 0;

  add(row: UsageRow, position: number): void {
    this.#sums.merge(row);
    this.#position = position;
  }

  /** Appends them, inside the open transaction. */
  async append(connection: Connection): Promise<void> {
    await appendRows(connection, "usage_rows", this.#sums.listRows(), (appender, row) => {
      appendValues(appender, BigInt(this.#position), row.meter, row.day, row.key_id, row.tenant);
      appendValues(appender, ...USAGE_KINDS.map((kind) => BigInt(row[kind])));
    });
  }
}

/** A row of each meter, key and day: its newest sums, which are its largest. */
const buildLargestSumsSql = (rows: string) =>
  `SELECT meter, day, key_id, any_value(tenant) AS tenant,
    ${USAGE_COLUMN_NAMES.map((name) => `max(${name}) AS ${name}`).join(", ")}, max(position) AS position
  FROM ${rows} GROUP BY meter, day, key_id`;

const NEWEST_ROWS_SQL = "SELECT meter, day, key_id, max(position) FROM usage_rows GROUP BY ALL";

/** Number of rows that a newer one has replaced. */
export function countReplacedUsageRows(connection: Connection): Promise<number> {
  const newest = `SELECT count(*) FROM (${NEWEST_ROWS_SQL})`;
  return readNumber(connection, `SELECT (SELECT count(*) FROM usage_rows) - (${newest})`);
}

/** Removes them, inside the open transaction. */
export function deleteReplacedUsageRows(connection: Connection): Promise<void> {
  return connection.run(
    `DELETE FROM usage_rows WHERE (meter, day, key_id, position) NOT IN (${NEWEST_ROWS_SQL})`,
  );
}

/** Sums by key and day; of the named meter apart, of all others together. */
export async function readUsageRows(
  connection: Connection,
  range: UsageRange,
): Promise<UsageRow[]> {
  const { from, to, tenant, meter, rowsMax, isByTenant = false } = range;
  const parts = isByTenant ? "'' AS day, '' AS key_id" : "day, key_id";
  const own = `if(meter = ${quoteLiteral(meter)}, meter, '')`;
  const whose = tenant === undefined ? "" : `AND tenant = ${quoteLiteral(tenant)}`;
  const rows = await connection.rows(
    `SELECT ${own} AS counted, ${parts}, tenant,
        ${USAGE_COLUMN_NAMES.map((name) => `sum(${name})::DOUBLE`).join(", ")}
      FROM (${buildLargestSumsSql("usage_rows")})
      WHERE day BETWEEN ${quoteLiteral(from)} AND ${quoteLiteral(to)} ${whose}
      GROUP BY ALL ORDER BY 2, 4, 3 LIMIT ${Math.floor(rowsMax)}`,
  );
  return rows.map(([counted, day, key, owner, ...sums]) => {
    const counts = createUsageCounts();
    for (const [index, kind] of USAGE_KINDS.entries()) counts[kind] = Number(sums[index]);
    const names = { meter: String(counted), day: String(day), key_id: String(key) };
    return { ...names, tenant: String(owner), ...counts };
  });
}

const PAID_READS_SQL = PAID_READS.map((kind) => USAGE_COLUMNS[kind][0]).join(" + ");

export const USAGE_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  usage: {
    sql: (
      from,
    ) => `SELECT CAST(day AS DATE) AS day, tenant, key_id, sum(${PAID_READS_SQL})::BIGINT AS paid_reads,
        ${USAGE_COLUMN_NAMES.map((name) => `sum(${name})::BIGINT AS ${name}`).join(", ")},
        max(position) AS position
      FROM (${buildLargestSumsSql(from("usage_rows"))}) GROUP BY ALL`,
    comment: "what each key has read and reported on each day, UTC; today's sums grow",
    columns: [
      ["day", "UTC day on which it was answered"],
      ["tenant", "whose key it is"],
      ["key_id", "API key that asked"],
      ["paid_reads", "what is billed: the sum of the columns up to export_reads"],
      ...USAGE_KINDS.map((kind) => USAGE_COLUMNS[kind]),
      ["position", "newest record of the evidence journal in these sums"],
    ],
  },
};
