// The queries of examples/analyst, asked of a real service with the sample history, a day of
// decisions on it and their outcomes: each gives rows, by the route and by the command.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ROOT, type SampleService, startSampleService } from "./_sample-service.ts";

const FOLDER = "examples/analyst";
const AGENTS = ["agent://acme/ledger-sync", "agent://globex/price-scout"];
const DECISIONS = 20;

const names = (await readdir(path.join(ROOT, FOLDER))).filter((name) => name.endsWith(".sql"));
const textOf = (name: string) => readFile(path.join(ROOT, FOLDER, name), "utf8");

interface Rows {
  columns: { name: string }[];
  rows: unknown[][];
}

let service: SampleService;
const query = (sql: string) => service.post<Rows>("/v1/query", { sql, format: "json" });
const countOf = async (sql: string) => Number((await query(sql)).rows[0]![0]);

beforeAll(async () => {
  service = await startSampleService();
  for (let i = 0; i < DECISIONS; i += 1) {
    const subject = AGENTS[i % AGENTS.length]!;
    const { request_id } = await service.post<{ request_id: string }>("/v1/trust/verify", {
      agent_id: subject,
      action: "order.place",
      tool_level: i % 4 < 2 ? "L1" : "L2",
      context: {},
    });
    const reporter = "agent://acme/buyer";
    const grade = "counterparty";
    const outcome = subject === AGENTS[0] ? 1 : 0;
    await service.post("/v1/outcomes", {
      subject,
      reporter,
      outcome,
      stakes: 10,
      grade,
      request_id,
    });
  }
  const refused = await fetch(`${service.baseUrl}/v1/usage`, {
    headers: { Authorization: "Bearer not-a-key" },
  });
  if (refused.status !== 401) throw new Error(`a wrong key got ${refused.status}`);
  // Decisions and refusals get to the store a moment after their answers.
  const settled = async () => {
    // The sample's own requests were asked under another key.
    const own = "SELECT count(*) FROM decisions WHERE key_id <> 'sample'";
    expect(await countOf(own)).toBe(DECISIONS);
    expect(await countOf("SELECT count(*) FROM audit_events WHERE event = 'access.denied'")).toBe(
      1,
    );
  };
  await vi.waitFor(settled, { timeout: 30_000, interval: 200 });
});
afterAll(() => service.stop());

it("has the queries that its README lists", async () => {
  const readme = await readFile(path.join(ROOT, "examples/README.md"), "utf8");
  const listed = [...readme.matchAll(/`analyst\/([\w-]+\.sql)`/g)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set(names));
  expect(names.length).toBeGreaterThanOrEqual(20);
});

it.each(names)("%s gives rows, and says how it is run", async (name) => {
  const sql = await textOf(name);
  expect(sql).toMatch(/^\/\* [A-Z]/);
  expect(sql).toContain(`query "$(cat ${FOLDER}/${name})"`);
  const { columns, rows } = await query(sql);
  expect(columns.length).toBeGreaterThan(1);
  for (const { name: column } of columns) expect(column).toMatch(/^[a-z][a-z0-9_]*$/);
  // No batch has marked a ring here: test/store/rows/finding-views.test.ts has one.
  if (name !== "rings.sql") expect(rows.length).toBeGreaterThan(0);
});

const column = async (name: string, of: string) => {
  const { columns, rows } = await query(await textOf(name));
  return rows.map((row) => row[columns.findIndex((each) => each.name === of)]);
};

it("finds what the sample history hides", async () => {
  expect((await column("rising-failures.sql", "subject"))[0]).toBe("agent://globex/price-scout");
  expect((await column("worst-agents.sql", "subject"))[0]).toBe("agent://quickcash/loan-broker");
  expect((await column("money-lost.sql", "subject"))[0]).toBe("agent://quickcash/loan-broker");
  const contradicting = await column("reporter-agreement.sql", "reporter");
  expect(contradicting).toContainEqual(expect.stringMatching(/^agent:..umbrella.intern-/));
  expect((await column("harsh-reporters.sql", "failure_rate"))[0]).toBeGreaterThan(0.3);
  expect((await column("current-scores.sql", "worst"))[0]).toBe("agent://vandelay/exporter");
  // One day until the days before it are scored, a minute after a first start.
  expect(Number((await column("score-trend.sql", "days"))[0])).toBeGreaterThan(0);
  expect((await column("one-reporter.sql", "subject"))[0]).toMatch(/^agent:..mirror.echo-/);
  const deviations = (await column("lenient-reporters.sql", "deviation")).map(Number);
  expect(deviations[0]).toBeLessThan(-1);
  expect(deviations).toEqual(deviations.toSorted((a, b) => a - b));
  const [, least, , most] = await column("stakes-bands.sql", "failure_rate");
  expect(Number(most)).toBeGreaterThan(Number(least));
});

it("joins decisions with how it went", async () => {
  const counts = (await column("calibration.sql", "outcomes")).map(Number);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(DECISIONS);
  const observed = (await column("calibration.sql", "observed")).filter((rate) => rate !== null);
  expect([observed.at(0), observed.at(-1)]).toEqual([0, 1]);
  expect(await column("losses-by-verdict.sql", "verdict")).toContain("QUARANTINE");
  const asked = (await column("approvals.sql", "decisions")).map(Number);
  const logged = await countOf("SELECT sum(decisions) FROM decisions_daily");
  expect(asked.reduce((sum, count) => sum + count, 0)).toBe(logged);
});

it("says whose score moved, once there are earlier days", async () => {
  await service.post("/v1/scores/daily", {});
  const moved = await vi.waitFor(
    async () => {
      const agents = await column("movers.sql", "agent");
      expect(agents).toHaveLength(30);
      return agents;
    },
    { timeout: 60_000, interval: 1000 },
  );
  // It turned bad ten days ago.
  expect(moved.slice(20)).toContain("agent://globex/price-scout");
  expect(await column("movers.sql", "span_days")).toEqual(
    [1, 7, 30].flatMap((span) => Array.from({ length: 10 }, () => span)),
  );
});

it("runs by the command that the heads name", async () => {
  const command = `npm run -s trustrank -- query --json "$(cat ${FOLDER}/money-lost.sql)"`;
  const rows: unknown = JSON.parse(await service.run("bash", ["-c", command]));
  expect(rows).toEqual(
    expect.arrayContaining([expect.objectContaining({ failures: expect.anything() })]),
  );
});

interface Verified {
  items: {
    result: { request_id: string; policy_action: { verdict: string; log_reason: string } };
  }[];
}

it("shows how those came out whom an audit let through by lot", async () => {
  const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" };
  const policy = JSON.stringify({ levels: { L2: { audit_one_in: 2 } } });
  const set = await fetch(`${service.baseUrl}/v1/policy`, { method: "PUT", headers, body: policy });
  expect(set.status).toBe(200);
  // Each agent twice: the second challenge of a day draws no lot.
  const agents = Array.from({ length: 80 }, (_, n) => `agent://unknown/${n % 40}`);
  const total = async (of: string) =>
    (await column("audit-sample.sql", of)).reduce<number>((sum, each) => sum + Number(each), 0);
  const heldBefore = await total("held_back");
  const items = agents.map((agent_id) => {
    return { agent_id, action: "order.place", tool_level: "L2", context: {} };
  });
  const { items: answers } = await service.post<Verified>("/v1/trust/verify/batch", { items });
  const labels = answers.map(({ result }) => result.policy_action.log_reason);
  expect(labels.slice(40).every((label) => label === "THIN_FILE")).toBe(true);
  const won = [...labels.keys()].filter((n) => labels[n] === "AUDIT_SAMPLE");
  expect(won.length).toBeGreaterThan(5);
  expect(won.length).toBeLessThan(35);
  const told = won.map((n, i) => ({
    subject: agents[n],
    reporter: "agent://acme/buyer",
    outcome: i === 0 ? 0 : 1,
    stakes: 1,
    grade: "counterparty",
    request_id: answers[n]!.result.request_id,
  }));
  await service.post("/v1/outcomes/batch", told);
  await vi.waitFor(async () => expect(await total("settled")).toBe(won.length), {
    timeout: 30_000,
    interval: 200,
  });
  expect(await total("let_through")).toBe(won.length);
  expect((await total("held_back")) - heldBefore).toBe(80 - won.length);
  const failed = (await column("audit-sample.sql", "failed")).filter((each) => each !== null);
  expect(failed).toEqual([expect.closeTo(1 / won.length, 2)]);
});
