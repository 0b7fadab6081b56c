// Lists of agents and outcomes over a real database: whole when read page by page, in every order, and
// of no tenant but the asker's.
import * as fs from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  AGENT_ORDERS,
  type AgentOrder,
  type AgentListCursor,
} from "../../src/contract/schemas/agents.ts";
import type { OpenStore } from "../../src/store/client.ts";
import { LIMITS } from "./_fixtures.ts";
import { MARK, openTenants } from "./_tenants.ts";

let dataDir: string;
let store: OpenStore;

beforeAll(async () => {
  ({ dataDir, store } = await openTenants());
});
afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

const agentsOf = (tenant: string | undefined, more = {}) =>
  store.agentDirectory.read("agents", {
    tenant,
    isAnalyst: true,
    order: "name",
    limit: 100,
    ...more,
  });
const outcomesOf = (tenant: string | undefined, more = {}) =>
  store.agentDirectory.read("outcomes", { tenant, limit: 1000, ...more });

async function paged(order: AgentOrder, limit: number): Promise<string[]> {
  const names: string[] = [];
  for (let after: AgentListCursor | undefined; ;) {
    const { agents, last } = await agentsOf(undefined, { order, limit, after });
    names.push(...agents.map(({ agent_id }) => agent_id));
    if (last === undefined) return names;
    after = last;
  }
}

describe("agents", () => {
  test.each(AGENT_ORDERS)("are all there page by page, by %s", async (order) => {
    const { agents, total, last, asOfMs } = await agentsOf(undefined, { order });
    expect(agents).toHaveLength(total);
    expect([last, asOfMs > 0, total]).toEqual([undefined, true, 4]);
    const whole = agents.map(({ agent_id }) => agent_id);
    for (const limit of [1, 2, 3, 4]) expect(await paged(order, limit)).toEqual(whole);
    const sorted = (by: (agent: (typeof agents)[number]) => number) =>
      agents.map(by).toSorted((a, b) => (order.startsWith("-") ? b - a : a - b));
    if (order === "name") expect(whole).toEqual(whole.toSorted());
    else if (order.endsWith("score")) {
      expect(agents.map((agent) => agent.internal_score)).toEqual(
        sorted((agent) => agent.internal_score),
      );
    }
  });

  test("are chosen by name and tier; the total is of all pages", async () => {
    const prefixed = await agentsOf(undefined, { prefix: "agent://acme-shop/", limit: 1 });
    expect([prefixed.total, prefixed.agents.length]).toEqual([2, 1]);
    expect((await agentsOf(undefined, { contains: "-buyer" })).total).toBe(2);
    expect((await agentsOf(undefined, { contains: "%" })).total).toBe(0);
    const { agents } = await agentsOf(undefined);
    const tiers = new Set(agents.map(({ tier }) => tier));
    for (const tier of tiers) {
      const chosen = agents.filter((agent) => agent.tier === tier);
      expect((await agentsOf(undefined, { tier })).agents).toEqual(chosen);
    }
  });

  test("of a tenant are those of its view, and no other is counted", async () => {
    for (const tenant of ["acme", MARK, "nobody"]) {
      const own = await store.query("SELECT agent FROM agents ORDER BY 1", LIMITS, tenant);
      const { agents, total } = await agentsOf(tenant);
      expect(agents.map(({ agent_id }) => [agent_id])).toEqual(own.rows);
      expect(total).toBe(own.rows.length);
    }
    expect(JSON.stringify(await agentsOf("acme"))).not.toContain(MARK);
  });
});

test("without `analytics:read` an agent is listed that was asked about, reported on or is owned", async () => {
  const namesOf = async (tenant: string, isAnalyst: boolean) =>
    (await agentsOf(tenant, { isAnalyst })).agents.map(({ agent_id: agent }) => agent);
  // Another tenant reports of it in its own name: an analyst sees who, a reader does not.
  const known = await namesOf("acme", true);
  const own = await namesOf("acme", false);
  expect(known).toEqual(expect.arrayContaining(own));
  expect(own).toEqual(["agent://acme-shop/buyer", "agent://acme-shop/buyer-buyer"]);
  expect((await agentsOf("acme", { isAnalyst: false, limit: 0 })).total).toBe(own.length);
  expect(await namesOf("third", false)).toEqual(["agent://acme-shop/buyer"]);
  expect(await namesOf("nobody", false)).toEqual([]);
  expect(await namesOf("x' OR true --", false)).toEqual([]);
});

describe("outcomes", () => {
  test("come newest first, each once", async () => {
    const all = await outcomesOf(undefined);
    const positions = all.map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted((a, b) => b - a));
    const found: number[] = [];
    for (let before: number | undefined; ;) {
      const page = await outcomesOf(undefined, { before, limit: 50 });
      found.push(...page.map(({ position }) => position));
      before = page.at(-1)?.position;
      if (page.length < 50) break;
    }
    expect(found).toEqual(positions);
  });

  test("of a tenant are those of its view", async () => {
    for (const tenant of ["acme", MARK, "nobody"]) {
      const sql = "SELECT position FROM outcomes ORDER BY 1 DESC";
      const own = await store.query(sql, LIMITS, tenant);
      const listed = await outcomesOf(tenant);
      expect(listed.map(({ position }) => [position])).toEqual(own.rows);
    }
    expect(JSON.stringify(await outcomesOf("acme"))).not.toContain(MARK);
    const theirs = `agent://${MARK}-shop/seller-1`;
    expect(await outcomesOf("acme", { subject: theirs })).toEqual([]);
    const [one] = await outcomesOf(MARK, { subject: theirs });
    expect(one).toMatchObject({ subject: theirs, outcome: expect.any(Number), tenant: MARK });
    expect(one!.settled_at).toMatch(/Z$/);
    expect((await outcomesOf(MARK, { reporter: one!.reporter })).length).toBeGreaterThan(0);
  });
});

test("an agent's days hold what its views hold", async () => {
  const subject = `agent://${MARK}-shop/seller-1`;
  const isAnalyst = true;
  const daysOf = (tenant: string | undefined, agent: string, from = "2000-01-01") =>
    store.agentDirectory.read("days", { tenant, isAnalyst, agent, from });
  const { rows } = await store.query(
    `SELECT CAST(day AS VARCHAR), CAST(outcomes AS INTEGER), CAST(failures AS INTEGER)
     FROM agents_daily WHERE subject = '${subject}' ORDER BY 1`,
    LIMITS,
  );
  const days = await daysOf(undefined, subject);
  expect(days.map((day) => [day.day, day.outcomes, day.failures])).toEqual(rows);
  expect(rows.length).toBeGreaterThan(0);
  expect(await daysOf("acme", subject)).toEqual([]);
  // Judged by one tenant: the other does not learn of it.
  const judged = await daysOf(MARK, `agent://${MARK}/x`);
  expect(judged).toEqual([
    expect.objectContaining({ decisions: 10, outcomes: 0, score_from: "decision" }),
  ]);
  expect(judged[0]!.internal_score).toBeTypeOf("number");
  expect(await daysOf("acme", `agent://${MARK}/x`)).toEqual([]);
  expect(await daysOf(MARK, `agent://${MARK}/x`, "2999-01-01")).toEqual([]);
});
