// Times of answers by minute, route and class of status: their block in a decision segment, their rows, and the
// view with percentiles. A row is a bucket of a histogram; parts of a minute are summed when read.
import { appendRows, appendValues, type Connection } from "../duckdb.ts";
import type { ViewDefinition } from "../view.ts";

/** Answers within two bounds in ms, the upper one inclusive; both are equal above the highest bound. */
export type LatencyBucket = readonly [lowerMs: number, upperMs: number, requests: number];

/** Answers of one minute, route and class of status, by the time they took. */
export interface LatencyCount {
  /** Epoch ms. */
  readonly minuteMs: number;
  readonly route: string;
  /** `1xx` to `5xx`. */
  readonly statusClass: string;
  /** Sum of the times, ms. */
  readonly totalMs: number;
  /** Those with answers, ascending. */
  readonly buckets: readonly LatencyBucket[];
}

/** Counts as the content of a block: JSON, a list of lists. */
export function encodeLatencies(counts: readonly LatencyCount[]): Buffer {
  const rows = counts.map(({ minuteMs, route, statusClass, totalMs, buckets }) => [
    minuteMs,
    route,
    statusClass,
    totalMs,
    buckets,
  ]);
  return Buffer.from(JSON.stringify(rows));
}

/** Reads them back; undefined where they cannot be counts. */
export function decodeLatencies(content: Buffer): LatencyCount[] | undefined {
  let rows: unknown;
  try {
    rows = JSON.parse(content.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows) || !rows.every(isLatencyRow)) return undefined;
  return rows.map(([minuteMs, route, statusClass, totalMs, buckets]) => {
    return { minuteMs, route, statusClass, totalMs, buckets };
  });
}

type LatencyRow = [number, string, string, number, LatencyBucket[]];

function isLatencyRow(row: unknown): row is LatencyRow {
  if (!Array.isArray(row) || row.length !== 5) return false;
  const [minuteMs, route, statusClass, totalMs, buckets] = row as unknown[];
  const areNamed = typeof route === "string" && typeof statusClass === "string";
  return (
    areNamed &&
    [minuteMs, totalMs].every(isAmount) &&
    Array.isArray(buckets) &&
    buckets.every((each) => Array.isArray(each) && each.length === 3 && each.every(isAmount))
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

export function buildLatencyTableSql(): string {
  return `CREATE TABLE latency_rows (minute_ms DOUBLE NOT NULL, node VARCHAR NOT NULL,
    route VARCHAR NOT NULL, status_class VARCHAR NOT NULL, lower_ms DOUBLE NOT NULL,
    upper_ms DOUBLE NOT NULL, requests BIGINT NOT NULL, total_ms DOUBLE NOT NULL)`;
}

/** Appends counts of a node (empty without a cluster), inside the open transaction. */
export async function appendLatencies(
  connection: Connection,
  counts: readonly LatencyCount[],
  node: string,
): Promise<void> {
  const rows = counts.flatMap(({ buckets, totalMs, ...named }) =>
    // The sum of the times stands in the first row.
    buckets.map((bucket, i) => ({ ...named, bucket, totalMs: i === 0 ? totalMs : 0 })),
  );
  await appendRows(connection, "latency_rows", rows, (appender, row) => {
    const [lowerMs, upperMs, requests] = row.bucket;
    appendValues(appender, row.minuteMs, node, row.route, row.statusClass, lowerMs, upperMs);
    appendValues(appender, BigInt(Math.round(requests)), row.totalMs);
  });
}

const KEY_COLUMNS = "minute_ms, node, route, status_class";

/** A percentile of the rows of a key, straight within its bucket, in whole microseconds. */
function buildPercentileSql(share: number): string {
  const within = `greatest(0, ${share} * total - below) / requests`;
  return `round(min(CASE WHEN below + requests >= ${share} * total
    THEN lower_ms + (upper_ms - lower_ms) * ${within} END), 3)`;
}

export const LATENCY_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  latency: {
    sql: (from) => `SELECT epoch_ms(CAST(minute_ms AS BIGINT)) AS minute, nullif(node, '') AS node,
      route, status_class, CAST(any_value(total) AS BIGINT) AS requests,
      round(sum(total_ms) / any_value(total), 3) AS mean_ms, ${buildPercentileSql(0.5)} AS p50_ms,
      ${buildPercentileSql(0.99)} AS p99_ms, ${buildPercentileSql(0.999)} AS p999_ms,
      list({'lower_ms': lower_ms, 'upper_ms': upper_ms, 'requests': requests} ORDER BY lower_ms, upper_ms)
        AS buckets
      FROM (SELECT *, sum(requests) OVER key AS total,
          sum(requests) OVER (key ORDER BY lower_ms, upper_ms) - requests AS below
        FROM (SELECT ${KEY_COLUMNS}, lower_ms, upper_ms, CAST(sum(requests) AS BIGINT) AS requests,
            sum(total_ms) AS total_ms
          FROM ${from("latency_rows")} GROUP BY ${KEY_COLUMNS}, lower_ms, upper_ms)
        WINDOW key AS (PARTITION BY ${KEY_COLUMNS}))
      GROUP BY ${KEY_COLUMNS}`,
    comment:
      "times from a whole request to its answer, by minute, route and class of status, of all tenants: the operator's. " +
      "A minute is there once it is over; a request counts in the minute of its answer, give or take a second",
    columns: [
      ["minute", "start of the minute, UTC"],
      ["node", "the node that answered; null without a cluster"],
      ["route", "name of the route, as in trustrank_http_request_duration_seconds"],
      ["status_class", "2xx, 4xx or 5xx: refusals are faster than answers"],
      ["requests", "number of answers"],
      ["mean_ms", "mean of their times, exact"],
      [
        "p50_ms",
        "half took no longer; straight within a bucket, which may be as wide as 2.5 times its lower end",
      ],
      ["p99_ms", "99 % took no longer, likewise"],
      ["p999_ms", "99.9 % took no longer, likewise; 10,000 stands for longer times, too"],
      [
        "buckets",
        "answers by bounds in ms, the upper one inclusive: add them up for longer times than a minute",
      ],
    ],
  },
};
