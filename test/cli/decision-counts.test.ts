// A running server whose log has room for a fraction of its decisions: exact counts equal what callers were answered,
// by tenant, level and verdict, over two HTTP threads and the pool, after SIGKILL and in a rebuilt database; and the
// sum of weights is within its own interval around the truth.
import * as fs from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endAll, startCommand, type Started } from "./_process.ts";

const KEY = "an-admin-secret-of-the-operator-0123456789";
const TENANTS = ["acme", "globex", "initech"];
const PER_TENANT = 1500;
const AT_ONCE = 8;
/** Standard errors; an interval of 99 % has 2.6, which one run in fifty of these two would miss by chance. */
const STANDARD_ERRORS = 5;

let directory: string;
let server: Started;
let url: string;
/** Answers by tenant, level, verdict and effect. */
const given = new Map<string, number>();

async function start(): Promise<void> {
  const parameters = ["serve", "--port", "0", "--data-dir", `${directory}/data`, "--json"];
  server = startCommand([...parameters, "--no-sample", "--http-threads", "2"], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_DECISIONS_MB_PER_DAY: "4",
  });
  url = (JSON.parse(await server.firstLine) as { url: string }).url;
}

async function ask(path: string, body?: unknown, key = KEY) {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as never;
  if (!response.ok) throw new Error(JSON.stringify(json));
  return json as Record<string, never>;
}

const readRows = async (sql: string) =>
  (await ask("/v1/query", { sql }))["rows"] as unknown as unknown[][];

interface Verdict {
  readonly policy_action: { readonly verdict: string; readonly log_reason: string };
  readonly enforced: boolean;
}

function count(tenant: string, level: string, { policy_action: said, enforced }: Verdict): void {
  const effective = said.verdict === "ALLOW" || !enforced ? "allow" : "deny";
  const key = [tenant, level, said.verdict, said.log_reason, effective].join(" ");
  given.set(key, (given.get(key) ?? 0) + 1);
}

/** Half at a level that lets an unknown agent through, half at one that does not. */
const requestOf = (n: number) => ({
  agent_id: `agent://nobody/a${n % 700}`,
  action: "order.place",
  tool_level: n % 2 === 0 ? "L0" : "L3",
  context: {},
});

async function decideAll(tenant: string): Promise<void> {
  const scopes = ["score:read"];
  const made = await ask("/v1/keys", { tenant, scopes, label: tenant });
  const key = made["key"] as unknown as string;
  let next = 0;
  const decideSome = async () => {
    for (let n = next++; n < PER_TENANT; n = next++) {
      const request = requestOf(n);
      const verdict = await ask("/v1/trust/verify", request, key);
      count(tenant, request.tool_level, verdict as unknown as Verdict);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, decideSome));
  const items = Array.from({ length: 200 }, (_, n) => requestOf(n));
  const { items: verdicts } = await ask("/v1/trust/verify/batch", { items }, key);
  (verdicts as unknown as { result: Verdict }[]).forEach(({ result: verdict }, n) =>
    count(tenant, items[n]!.tool_level, verdict),
  );
}

const COUNTS = `SELECT concat_ws(' ', tenant, tool_level, result, log_reason, effective) AS key,
  sum(decisions)::INTEGER FROM decisions_minutely GROUP BY key ORDER BY key`;
const DAILY = `SELECT tenant, result, sum(decisions)::INTEGER FROM decisions_daily
  GROUP BY ALL ORDER BY ALL`;

const sortedTruth = () => [...given].toSorted(([one], [other]) => (one < other ? -1 : 1));

describe("a log with room for a fraction of the decisions", () => {
  beforeAll(async () => {
    directory = fs.mkdtempSync("/tmp/trustrank-counts-");
    await start();
    for (const tenant of TENANTS) await decideAll(tenant);
  });

  afterAll(async () => {
    await endAll();
    fs.rmSync(directory, { recursive: true });
  });

  it("counts every decision exactly, at once", async () => {
    expect(await readRows(COUNTS)).toEqual(sortedTruth());
    const total = TENANTS.length * (PER_TENANT + 200);
    expect(await readRows("SELECT sum(decisions)::INTEGER FROM decisions_daily")).toEqual([
      [total],
    ]);
    const { sampled, complete } = await ask("/v1/decisions?limit=10");
    expect([sampled, complete]).toEqual([true, false]);
  });

  it("sums weights to the truth, within their own interval", async () => {
    const [[rows]] = (await readRows("SELECT count(*)::INTEGER FROM decisions")) as [[number]];
    expect(rows).toBeLessThan(3000);
    for (const effective of ["allow", "deny"]) {
      const [[sum, variance]] = (await readRows(
        `SELECT sum(weight), sum((weight / stands_for) * (weight / stands_for - 1) * stands_for)
         FROM decisions WHERE effective = '${effective}'`,
      )) as [[number, number]];
      const truth = sortedTruth()
        .filter(([key]) => key.endsWith(effective))
        .reduce((all, [, each]) => all + each, 0);
      expect(variance).toBeGreaterThan(0);
      expect(Math.abs(sum - truth)).toBeLessThan(STANDARD_ERRORS * Math.sqrt(variance));
    }
    const facets = await ask("/v1/decisions/facets");
    const { complete, decisions } = facets as unknown as { complete: boolean; decisions: number };
    expect(complete).toBe(false);
    expect(decisions).toBeGreaterThan(rows);
  });

  it("has the time of each answer, of both threads, after a stop", async () => {
    server.process.kill("SIGTERM");
    await server.ended;
    await start();
    const times = `SELECT sum(requests)::INTEGER, bool_and(p50_ms > 0 AND p50_ms <= p99_ms AND p99_ms <= p999_ms)
      FROM latency WHERE route = 'verify' AND status_class = '2xx'`;
    expect(await readRows(times)).toEqual([[TENANTS.length * PER_TENANT, true]]);
  });

  it("keeps its counts over SIGKILL and in a new database", async () => {
    const daily = await readRows(DAILY);
    server.process.kill("SIGKILL");
    await server.ended;
    fs.rmSync(`${directory}/data/store`, { recursive: true });
    await start();
    expect(await readRows(COUNTS)).toEqual(sortedTruth());
    expect(await readRows(DAILY)).toEqual(daily);
  });
});
