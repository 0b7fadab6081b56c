// Checks of sections 1 and 3: what the service is for, and its value sets (see _lines-service.ts).
import { expect } from "vitest";
import { checkApproval } from "../../src/client/gates/approval.ts";
import { withTrustRank } from "../../src/client/gates/with-trust-rank.ts";
import * as library from "../../src/client/entry.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { answerHeaders } from "../../src/client/ruling.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError } from "../../src/client/errors.ts";
import { DECISIONS, RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import {
  ask,
  expectRefused,
  importHistory,
  type LineChecks,
  type LineSetting,
  makeKey,
  newAgent,
  report,
  SAMPLE_AGENTS,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import { BY_DECISION, VERIFY } from "./_line-requests.ts";
import { AGENTS, type Door } from "./_world.ts";

const buildBody = (agent_id: string) => ({ agent_id, action: "order.place", tool_level: "L2" });

/** Decision between a clear agent and another. */
const shake = (door: Door, other: string) => door.handshake(TEST_AGENTS.connect, other, 50);

/** An agent with a good record whose stakes wait for a person, at the live service. */
async function holdBack(setting: LineSetting): Promise<{ subject: string; id: string }> {
  const subject = newAgent();
  await importHistory(setting, subject, Array<0 | 1>(60).fill(1));
  const { json } = await send(setting, "POST", "/v1/check", { subject, stakes: 1e9 });
  expect(json).toMatchObject({ decision: "escalate", allowed: false });
  return { subject, id: json.review.id as string };
}

export const SERVICE_CHECKS: Readonly<Record<string, LineChecks>> = {
  "1-authorize": {
    async all(door) {
      const good = await ask(door, SAMPLE_AGENTS[0]);
      const bad = await ask(door, AGENTS.failing);
      expect([good, bad].map((it) => it.policy_action.verdict)).toEqual(["ALLOW", "BLOCK"]);
      expect(bad.reason_codes).toContain("FAILURE_HISTORY");
    },
  },
  "1-history": {
    async all(door) {
      const agent = newAgent();
      const { trust_evaluation: before } = await ask(door, agent);
      await report(door, agent, 1, { count: 8 });
      const { trust_evaluation: after } = await ask(door, agent);
      expect(after.internal_score).toBeGreaterThan(before.internal_score);
    },
  },
  "1-provenance": {
    async all(door) {
      const found = await ask(door, TEST_AGENTS.hallucinated, "L3");
      expect(found).toMatchObject({
        provenance_data: { is_hallucinated: true },
        policy_action: { verdict: "BLOCK", log_reason: "CONTENT_HALLUCINATED" },
      });
    },
  },
  "1-behavior": {
    async all(door) {
      const agent = newAgent();
      await report(door, agent, 1, { count: 8 });
      const first = await ask(door, agent, "L3");
      for (let at = 0; at < 50; at += 1)
        await ask(door, agent, "L3", { action: `burst.call-${at}` });
      const last = await ask(door, agent, "L3");
      expect(last.trust_evaluation, "rates of calls do not count yet").toEqual(
        first.trust_evaluation,
      );
      expect(last.policy_action).toEqual(first.policy_action);
      expect((await ask(door, SAMPLE_AGENTS[2])).trust_evaluation.regime).not.toBe("stable");
    },
  },
  "1-content": {
    async all(door) {
      for (const agent of [AGENTS.trusted, TEST_AGENTS.hallucinated]) {
        const { provenance_data: found } = await ask(door, agent);
        expect(found.is_hallucinated).toBe(agent === TEST_AGENTS.hallucinated);
        expect(found.source_verified).toBe(false);
      }
    },
    async HTTP(setting) {
      await send(setting, "PUT", "/v1/evidence/lines:price", { text: "The price is 12 euros." });
      const context = { cited_sources: ["lines:price"] };
      const { json } = await send(setting, "POST", VERIFY, { ...buildBody(newAgent()), context });
      expect(json.provenance_data.source_verified).toBe(true);
    },
  },
  "1-verify": {
    async all(door) {
      const { trust_evaluation: trust, policy_action: policy } = await ask(door, AGENTS.failing);
      expect(trust).toMatchObject({ score: 0, threshold_met: false, risk_level: "CRITICAL" });
      expect(policy.verdict).toBe("BLOCK");
    },
  },
  "1-handshake": {
    async all(door) {
      const answer = await shake(door, TEST_AGENTS.refuse);
      expect(answer).toMatchObject({
        a_to_b: { decision: "refuse" },
        b_to_a: { decision: "connect" },
        decision: "refuse",
      });
    },
  },
  "1-outcomes": {
    async all(door) {
      const agent = newAgent();
      const before = await door.check(agent, 1);
      await report(door, agent, 0, { count: 4 });
      expect((await door.check(agent, 1)).effective_score).toBeLessThan(before.effective_score);
    },
  },
  "1-kaizen": {
    async HTTP(setting) {
      await importHistory(setting, newAgent(), [1, 0, 1]);
      const { status, json } = await send(setting, "POST", "/v1/kaizen/run", { dry_run: true });
      expect(status, JSON.stringify(json)).toBe(200);
      expect(json.rows).toBeGreaterThanOrEqual(3);
    },
  },
  "1-gates": {
    async HTTP(setting) {
      const { json: before } = await send(setting, "POST", VERIFY, buildBody(newAgent()));
      const { json: run } = await send(setting, "POST", "/v1/kaizen/run", {});
      expect(run, "too little evidence for any gate").toMatchObject({ state: "kept" });
      expect(run.reason).toContain("insufficient evidence");
      const { json: after } = await send(setting, "POST", VERIFY, buildBody(newAgent()));
      expect(after.config_version).toBe(before.config_version);
    },
  },
  "1-levels": {
    async client({ world }) {
      const away = new TrustRankClient({ baseUrl: "http://127.0.0.1:9", apiKey: world.key });
      const gateway = new TrustGateway({ client: away, onAlert: () => undefined });
      const answers = TOOL_LEVELS.map((toolLevel) =>
        gateway.authorize({ agentId: AGENTS.trusted, action: "order.place", toolLevel }),
      );
      const allowed = (await Promise.all(answers)).map((answer) => answer.allowed);
      expect(allowed).toEqual([true, true, false, false]);
    },
  },
  "1-free": {
    async HTTP(setting) {
      const key = await makeKey(setting, {
        tenant: "lines-free",
        scopes: ["score:read", "outcomes:write"],
      });
      const quota = { paid_reads_per_month: 1 };
      expect((await send(setting, "PUT", "/v1/quotas/lines-free", quota)).status).toBe(200);
      expect((await send(setting, "POST", VERIFY, buildBody(newAgent()), key)).status).toBe(200);
      // Use is added up several times a second.
      await expect
        .poll(async () => (await send(setting, "POST", VERIFY, buildBody(newAgent()), key)).status)
        .toBe(429);
      const outcome = {
        subject: newAgent(),
        reporter: "agent://lines/by-1",
        outcome: 1,
        stakes: 1,
        grade: "counterparty",
      };
      expect((await send(setting, "POST", "/v1/outcomes", outcome, key)).status).toBe(201);
      const { json } = await send(setting, "GET", "/v1/usage", undefined, key);
      expect(json.keys).toMatchObject([{ outcomes_reported: 1 }]);
    },
  },
  "1-paid": {
    async HTTP(setting) {
      const key = await makeKey(setting, { tenant: "lines-paid", scopes: ["score:read"] });
      const agent = newAgent();
      const body = { initiator: agent, counterparty: newAgent(), stakes: 1 };
      await send(setting, "POST", VERIFY, buildBody(agent), key);
      await send(setting, "POST", "/v1/check", { subject: agent, stakes: 1 }, key);
      await send(setting, "POST", "/v1/handshake", body, key);
      const { json } = await send(setting, "GET", "/v1/usage", undefined, key);
      expect(json.keys).toMatchObject([
        { paid_reads: 3, reads: { verify: 1, check: 1, handshake: 1 }, test_reads: 0 },
      ]);
      const quota = { paid_reads_per_month: 3 };
      expect((await send(setting, "PUT", "/v1/quotas/lines-paid", quota)).status).toBe(200);
      const named = encodeURIComponent(agent);
      for (const route of ["/v1/agents", `/v1/agents/${named}`, `/v1/agents/${named}/history`]) {
        const read = () => send(setting, "GET", route, undefined, key);
        await expect.poll(async () => (await read()).status, { message: route }).toBe(429);
        const refused = await read();
        expect(refused, route).toMatchObject({ status: 429, json: { code: "quota_exceeded" } });
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      }
    },
  },
  "1-integration": {
    async client() {
      const { trustRankApproval, mutualHandshakeApproval, trustGate, outcomeHook } = library;
      for (const each of [trustRankApproval, mutualHandshakeApproval, trustGate, outcomeHook])
        expect(each).toBeTypeOf("function");
      const client = new library.TrustRankClient({ baseUrl: "http://127.0.0.1:9" });
      expect(client).toBeInstanceOf(TrustRankClient);
    },
  },
  "3-tool-levels": {
    async all(door) {
      const labels = [];
      for (const level of TOOL_LEVELS)
        labels.push((await ask(door, AGENTS.failing, level)).policy_action.verdict);
      expect(TOOL_LEVELS).toEqual(["L0", "L1", "L2", "L3"]);
      expect(labels).toEqual(["ALLOW", "ALLOW", "BLOCK", "BLOCK"]);
    },
    async HTTP(setting) {
      await expectRefused(
        setting,
        VERIFY,
        { ...buildBody(newAgent()), tool_level: "L4" },
        "/tool_level",
      );
    },
  },
  "3-risk-levels": {
    async all(door) {
      expect(RISK_LEVELS).toEqual(["LOW", "MEDIUM", "HIGH", "CRITICAL"]);
      const given = new Set<string>();
      for (const agent of await listRiskyAgents(door))
        given.add((await ask(door, agent)).trust_evaluation.risk_level);
      expect(given).toEqual(new Set(RISK_LEVELS));
    },
  },
  "3-verdicts": {
    async all(door) {
      const given = new Set<string>();
      for (const agent of Object.values(TEST_AGENTS))
        for (const level of TOOL_LEVELS)
          given.add((await ask(door, agent, level)).policy_action.verdict);
      expect(given).toEqual(new Set(VERDICTS));
      expect(VERDICTS).toEqual(["ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK"]);
    },
  },
  "3-decisions": {
    async all(door) {
      const given = [];
      for (const agent of BY_DECISION) given.push((await door.check(agent, 50)).decision);
      expect(given).toEqual(["connect", "connect_with_verification", "escalate", "refuse"]);
      expect(given).toEqual([...DECISIONS]);
    },
  },
  "3-connect": {
    async all(door) {
      expect(await shake(door, TEST_AGENTS.connect)).toMatchObject({
        decision: "connect",
        connected: true,
        reasons: [],
      });
    },
    async client({ client }) {
      const run = withTrustRank((word: string) => word, {
        client,
        agentId: () => TEST_AGENTS.connect,
        stakes: () => 50,
      });
      expect(await run("ran")).toBe("ran");
    },
  },
  "3-verification": {
    async all(door) {
      const answer = await shake(door, TEST_AGENTS.verification);
      expect(answer).toMatchObject({ decision: "connect_with_verification", connected: true });
      expect(answer.a_to_b.decision, "the weaker leg").toBe("connect_with_verification");
      expect(answer.b_to_a.decision).toBe("connect");
    },
    async client({ client }) {
      const asked: string[] = [];
      const decide = (isVerified: boolean) =>
        withTrustRank(() => "ran", {
          client,
          agentId: () => TEST_AGENTS.verification,
          stakes: () => 50,
          verification: (_, weakerLeg) => {
            asked.push(weakerLeg.subject);
            return isVerified;
          },
        });
      expect(await decide(true)()).toBe("ran");
      await expect(decide(false)()).rejects.toBeInstanceOf(TrustGateError);
      expect(asked).toEqual([TEST_AGENTS.verification, TEST_AGENTS.verification]);
      const gateway = new TrustGateway({ client, handshake: { agentId: TEST_AGENTS.connect } });
      const admitted = await gateway.admit({ agentId: TEST_AGENTS.verification });
      expect(admitted.allowed, "without a callback: admitted with a mark").toBe(true);
      expect(answerHeaders(admitted)["X-Trust-Verification"]).toBe("due");
    },
  },
  "3-escalate": {
    async all(door) {
      const answer = await shake(door, TEST_AGENTS.escalate);
      expect(answer).toMatchObject({ decision: "escalate", connected: false });
      expect(answer.a_to_b.review?.wait).toMatch(/^\/v1\/reviews\/rv-/);
    },
    async HTTP(setting) {
      const { subject, id } = await holdBack(setting);
      const decision = {
        decision: "overturned",
        max_stakes: "any",
        who: "ann",
        until: new Date(Date.now() + 3_600_000).toISOString(),
      };
      const decided = await send(setting, "POST", `/v1/reviews/${id}/decision`, decision);
      expect(decided.status, JSON.stringify(decided.json)).toBe(200);
      const { json } = await send(setting, "POST", "/v1/check", { subject, stakes: 1e9 });
      expect(json).toMatchObject({ decision: "connect", allowed: true });
    },
  },
  "3-parked": {
    async client({ client }) {
      const policy = checkApproval({
        client,
        agentId: () => TEST_AGENTS.escalate,
        stakes: () => 50,
      });
      const { action } = await policy({ toolName: "pay", input: {}, callId: "1" });
      expect(action).toBe("park");
    },
  },
  "3-refuse": {
    async all(door) {
      const answer = await shake(door, TEST_AGENTS.refuse);
      expect(answer).toMatchObject({ decision: "refuse", connected: false });
      expect(answer.reasons.length).toBeGreaterThan(0);
    },
    async HTTP(setting) {
      const body = {
        initiator: TEST_AGENTS.connect,
        counterparty: TEST_AGENTS.refuse,
        stakes: 50,
      };
      const { status, json } = await send(setting, "POST", "/v1/handshake", body);
      expect(status).toBe(403);
      expect(json.reasons).toEqual(json.a_to_b.reasons);
    },
  },
  "3-audit": {
    async HTTP(setting) {
      const subject = "agent://lines-judged/one";
      await importHistory(setting, subject, Array<0 | 1>(40).fill(0));
      await send(setting, "PUT", "/v1/namespaces/lines-judged", { tenant: "lines-judged" });
      const scopes = ["score:read"];
      const [asking, judged] = [
        await makeKey(setting, { tenant: "lines-asking", scopes }),
        await makeKey(setting, { tenant: "lines-judged", scopes }),
      ];
      const body = { initiator: newAgent(), counterparty: subject, stakes: 5 };
      const { status, json } = await send(setting, "POST", "/v1/handshake", body, asking);
      expect(status).toBe(403);
      const route = `/v1/decisions/${json.request_id}`;
      await expect
        .poll(async () => (await send(setting, "GET", route, undefined, asking)).json.legs)
        .toMatchObject([{ leg: "a_to_b", subject, leg_decision: "refuse" }, { leg: "b_to_a" }]);
      const seen = await send(setting, "GET", route, undefined, judged);
      expect(seen.status, "the judged side does not see it yet").toBe(404);
    },
  },
  "3-transitions": {
    async HTTP(setting) {
      const { subject, id } = await holdBack(setting);
      const { json: low } = await send(setting, "POST", "/v1/check", { subject, stakes: 1 });
      expect(low.decision).toBe("connect");
      const { json: again } = await send(setting, "POST", "/v1/check", { subject, stakes: 1e9 });
      expect(again).toMatchObject({ decision: "escalate", review: { id } });
    },
  },
};

/** Agents of each risk: as few failures among successes as each asks for. */
async function listRiskyAgents(door: Door): Promise<string[]> {
  const mixed = [];
  for (const failures of [2, 6]) {
    const agent = newAgent();
    await report(door, agent, 1, { count: 30 });
    await report(door, agent, 0, { count: failures });
    mixed.push(agent);
  }
  return [...Object.values(AGENTS), ...Object.values(TEST_AGENTS), ...SAMPLE_AGENTS, ...mixed];
}
