// bench -- decision-counts: decisions as an analyst reads them, against what generators were answered. Three tenants ask at
// a fixed rate, half of it let through. Counts by tenant, level and verdict must be equal, the share let through by
// `sum(weight)` must have the truth within its own interval, and outcomes must find the decisions that they name.
import { parseArgs } from "node:util";
import { startGenerator } from "./load/open-loop-client.ts";
import type { Offered } from "./load/open-loop.ts";
import { ADMIN_KEY, machine, startService } from "./server-process.ts";

const HELP = `npm run bench -- decision-counts [options]

  --seconds S      of load (default 60)
  --rate N         verifies offered a second, of all tenants together (default 5000)
  --smoke          a short run, to see that it works

One JSON object on the last line.
`;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    rate: { type: "string", default: "5000" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const seconds = values.smoke ? 2 : Number(values.seconds);
const rate = values.smoke ? 600 : Number(values.rate);
const TENANTS = ["acme", "globex", "initech"];
const AGENTS = 700;
/** Verifies whose outcome is reported, by tenant. */
const REPORTED = values.smoke ? 10 : 200;
/** Standard errors of an interval of 99 %. */
const STANDARD_ERRORS = 2.576;
const LEVELS = { L0: "ALLOW", L3: "CHALLENGE" } as const;

const bodyOf = (level: string, agent: string) =>
  JSON.stringify({ agent_id: agent, action: "order.place", tool_level: level, context: {} });

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const service = await startService("--no-sample");

async function ask<Answer>(path: string, body: unknown, key = ADMIN_KEY): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const json: unknown = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(json));
  return json as Answer;
}

const readRows = async (sql: string) =>
  (await ask<{ rows: unknown[][] }>("/v1/query", { sql })).rows;

interface Asked {
  readonly tenant: string;
  readonly offered: Offered;
  /** Verifies beside the load, whose outcomes were reported. */
  readonly requestIds: readonly string[];
}

/** Asks beside the load, and reports what came of it. */
async function reportSome(key: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < REPORTED; n += 1) {
    const agent = `agent://reported/a${n}`;
    const request = { agent_id: agent, action: "order.place", tool_level: "L0", context: {} };
    const { request_id: id } = await ask<{ request_id: string }>("/v1/trust/verify", request, key);
    const said = { subject: agent, reporter: "agent://gateway/one", outcome: 1, stakes: 1 };
    const settled = { grade: "counterparty", settled_at: new Date().toISOString() };
    await ask("/v1/outcomes", { ...said, ...settled, request_id: id }, key);
    ids.push(id);
  }
  return ids;
}

async function askAs(tenant: string): Promise<Asked> {
  const scopes = ["score:read", "outcomes:write"];
  const { key } = await ask<{ key: string }>("/v1/keys", { tenant, scopes, label: tenant });
  const generator = startGenerator();
  const levels = Object.keys(LEVELS);
  const bodies = Array.from({ length: AGENTS }, (_, n) =>
    bodyOf(levels[n % 2]!, `agent://nobody/a${n}`),
  );
  const plan = {
    url: service.url,
    route: "/v1/trust/verify",
    key,
    bodies,
    perSecond: rate / TENANTS.length,
  };
  const load = generator.run({ ...plan, seconds, connections: 16, isSpinning: false });
  const [offered, requestIds] = await Promise.all([load, reportSome(key)]);
  await generator.close();
  return { tenant, offered, requestIds };
}

/** Answers by tenant, level and verdict. */
function countAnswers({ tenant, offered, requestIds }: Asked): [string, number][] {
  const sent = offered.offered - offered.unsent;
  if (offered.answered !== sent)
    throw new Error(`${sent - offered.answered} requests were not answered`);
  const ofL3 = Math.floor(sent / 2);
  return [
    [`${tenant} L0 ${LEVELS.L0}`, sent - ofL3 + requestIds.length],
    [`${tenant} L3 ${LEVELS.L3}`, ofL3],
  ];
}

try {
  const asked = await Promise.all(TENANTS.map(askAs));
  const truth = asked.flatMap(countAnswers).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const counted = await readRows(
    `SELECT concat_ws(' ', tenant, tool_level, result), sum(decisions)::INTEGER
     FROM decisions_minutely WHERE kind = 'verify' GROUP BY 1 ORDER BY 1`,
  );
  const [[rows, weights, allowed, variance] = []] = (await readRows(
    `WITH each AS (SELECT weight / stands_for AS one, stands_for AS n, effective = 'allow' AS is_allowed FROM decisions),
     share AS (SELECT sum(one * n) FILTER (is_allowed) / sum(one * n) AS p FROM each)
     SELECT count(*)::INTEGER, sum(one * n), any_value(p),
     sum(one * (one - 1) * n * pow(is_allowed::INTEGER - p, 2)) / pow(sum(one * n), 2) FROM each, share`,
  )) as [number, number, number, number][];
  const total = truth.reduce((sum, [, count]) => sum + count, 0);
  const isAllowed = (key: string) => key.endsWith("ALLOW");
  const share = truth.filter(([key]) => isAllowed(key)).reduce((sum, [, n]) => sum + n, 0) / total;
  const ids = asked.flatMap(({ requestIds }) => requestIds).map((id) => `'${id}'`);
  const [[kept, joined] = []] = (await readRows(
    `SELECT (SELECT count(*)::INTEGER FROM decisions WHERE request_id IN (${ids.join(",")})),
     (SELECT count(*)::INTEGER FROM outcomes o JOIN decisions d ON d.request_id = o.request_id)`,
  )) as [number, number][];
  const report = {
    bench: "decision-counts",
    machine: machine(),
    seconds,
    offered_per_second: rate,
    decisions: total,
    late: asked.reduce((sum, { offered }) => sum + offered.unsent, 0),
    are_counts_equal: JSON.stringify(counted) === JSON.stringify(truth),
    entries: rows,
    sum_of_weights: weights,
    share_allowed: share,
    share_by_weight: allowed,
    interval_99: STANDARD_ERRORS * Math.sqrt(variance!),
    reported: ids.length,
    kept_of_reported: kept,
    found_by_outcomes: joined,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
} finally {
  await service.stop();
}
