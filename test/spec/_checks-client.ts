// Checks of sections 4.7 to 4.9: the client library, the rails, and when a gateway asks (see _lines-calls.ts).
import { expect } from "vitest";
import { mutualHandshakeApproval, trustRankApproval } from "../../src/client/adapters/eve.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError, TrustRankError } from "../../src/client/errors.ts";
import { checkApproval, handshakeApproval } from "../../src/client/gates/approval.ts";
import { trustGate, TrustGateUnavailableError } from "../../src/client/gates/trust-gate.ts";
import { withTrustRank } from "../../src/client/gates/with-trust-rank.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { outcomeHook } from "../../src/client/reporting/outcome-hook.ts";
import {
  importHistory,
  type LineChecks,
  newAgent,
  openClient,
  SAMPLE_AGENTS,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import { AGENTS } from "./_world.ts";

const { connect, escalate, refuse, verification } = TEST_AGENTS;
const question = { action: "order.place", toolLevel: "L2" } as const;
const FIVE_MINUTES_MS = 300_000;
/** A client whose service is not there. */
const away = () => new TrustRankClient({ baseUrl: "http://127.0.0.1:9" });
const caught = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );
/** An inner authenticator that knows callers by a shared secret. */
const knows = (request: Request) => {
  const agent = request.headers.get("x-agent");
  return request.headers.get("x-secret") === "right" && agent !== null
    ? { principalId: agent }
    : null;
};
const arrive = (agent: string, secret = "right") =>
  new Request("http://app/", { headers: { "x-agent": agent, "x-secret": secret } });

export const CLIENT_CHECKS: Readonly<Record<string, LineChecks>> = {
  "4.7-constructor": {
    async client({ world }) {
      const client = new TrustRankClient({
        baseUrl: world.urls[0],
        apiKey: world.key,
        timeoutMs: 10_000,
      });
      expect((await client.check(connect, { stakes: 1 })).allowed).toBe(true);
      expect(() => new TrustRankClient({ baseUrl: "no address" })).toThrow(TrustRankError);
    },
  },
  "4.7-check": {
    async client({ client }) {
      const verdict = await client.check(refuse, { stakes: 5 });
      expect(verdict).toMatchObject({ allowed: false, decision: "refuse" });
      expect(await caught(away().check(refuse, { stakes: 5 }))).toBeInstanceOf(TrustRankError);
    },
  },
  "4.7-handshake": {
    async client({ client }) {
      const verdict = await client.handshake(connect, refuse, { stakes: 5 });
      expect(verdict).toMatchObject({ decision: "refuse", connected: false });
    },
  },
  "4.7-require": {
    async client({ client }) {
      const thrown = await caught(client.require(refuse, { stakes: 5 }));
      expect(thrown).toBeInstanceOf(TrustGateError);
      expect((await client.require(escalate, { stakes: 5 })).decision).toBe("escalate");
      const lost = await caught(away().require(refuse, { stakes: 5 }));
      expect(lost).not.toBeInstanceOf(TrustGateError);
    },
  },
  "4.7-with-trust-rank": {
    async client({ client }) {
      const seen: unknown[] = [];
      const pay = withTrustRank((to: string, amount: number) => `${to} ${amount}`, {
        client,
        agentId: (to, amount) => (seen.push(to, amount), to),
        stakes: (_, amount) => amount,
      });
      expect(await pay(connect, 7)).toBe(`${connect} 7`);
      expect(seen).toEqual([connect, 7]);
      for (const agent of [escalate, refuse])
        expect(await caught(pay(agent, 7))).toBeInstanceOf(TrustGateError);
    },
  },
  "4.8-approvals": {
    async client({ client }) {
      const bare = trustRankApproval({ client, agentId: ({ to }: { to: string }) => to });
      const context = (to: string) => ({
        toolName: "pay",
        toolInput: { to, amount: 50 },
        callId: newAgent(),
      });
      expect((await bare(context(connect))).type).toBe("approved");
      expect((await bare(context(refuse))).type).toBe("denied");
      const mutual = mutualHandshakeApproval({
        client,
        initiator: () => connect,
        counterparty: ({ to }: { to: string; amount: number }) => to,
        stakes: ({ amount }) => amount,
      });
      expect((await mutual(context(connect))).type).toBe("approved");
      expect((await mutual(context(refuse))).type).toBe("denied");
      expect(() => trustRankApproval({ client, stakes: 5 as never })).toThrow(/stakes/);
      expect(() => mutualHandshakeApproval({ client } as never)).toThrow(/stakes/);
    },
  },
  "4.8-before": {
    async client({ world }) {
      const order: string[] = [];
      const client = openClient(world, (path) => order.push(path));
      const policy = checkApproval({ client, agentId: () => connect, stakes: () => 5 });
      if ((await policy({ toolName: "pay", input: {}, callId: newAgent() })).action === "run")
        order.push("tool");
      expect(order).toHaveLength(2);
      expect(order[1]).toBe("tool");
    },
  },
  "4.8-refuse": {
    async client({ client }) {
      const policy = checkApproval({ client, agentId: () => refuse, stakes: () => 5 });
      const { action, reason } = await policy({ toolName: "pay", input: {}, callId: newAgent() });
      expect(action).toBe("deny");
      expect(reason).toMatch(/FAILURE_HISTORY|failure/);
      const lost = checkApproval({ client: away(), agentId: () => connect, stakes: () => 5 });
      expect((await lost({ toolName: "pay", input: {}, callId: newAgent() })).action).toBe("deny");
    },
  },
  "4.8-escalate": {
    async client({ client }) {
      const single = checkApproval({ client, agentId: () => escalate, stakes: () => 5 });
      const mutual = handshakeApproval({
        client,
        initiator: () => connect,
        counterparty: () => escalate,
        stakes: () => 5,
      });
      for (const policy of [single, mutual])
        expect((await policy({ toolName: "pay", input: {}, callId: newAgent() })).action).toBe(
          "park",
        );
    },
  },
  "4.8-inbound": {
    async client({ client }) {
      const gated = trustGate(knows, { client });
      expect(await gated(arrive(connect))).toEqual({ principalId: connect });
      for (const agent of [refuse, escalate, verification, SAMPLE_AGENTS[2]])
        expect(await caught(gated(arrive(agent))), agent).toBeInstanceOf(TrustGateError);
    },
  },
  "4.8-identity": {
    async client({ world }) {
      const sent: string[] = [];
      const gated = trustGate(knows, { client: openClient(world, (path) => sent.push(path)) });
      expect(await gated(arrive(connect, "wrong"))).toBeNull();
      expect(sent, "nobody was identified, so nobody is asked about").toEqual([]);
      expect(await gated(arrive(connect))).toEqual({ principalId: connect });
      expect(sent.length).toBeGreaterThan(0);
      const broken = trustGate(() => Promise.reject(new Error("token expired")), {});
      await expect(broken(undefined)).rejects.toThrow("token expired");
    },
  },
  "4.8-closed": {
    async client() {
      const thrown = await caught(trustGate(knows, { client: away() })(arrive(connect)));
      expect(thrown).toBeInstanceOf(TrustGateUnavailableError);
      expect((thrown as TrustGateUnavailableError).response.status).toBe(503);
    },
  },
  "4.8-403": {
    async client({ client }) {
      const thrown = await caught(trustGate(knows, { client })(arrive(refuse)));
      const { response } = thrown as TrustGateError;
      expect(response.status).toBe(403);
      expect(await response.text()).toMatch(/fail|REFUSE_RULE|FAILURE_HISTORY/i);
    },
  },
  "4.8-write-rail": {
    async client({ live, ...rest }) {
      const client = new TrustRankClient({ ...live, agentId: "agent://lines/rail" });
      const subject = newAgent();
      const { events, queue } = outcomeHook({ client, subject: () => subject });
      const data = { turnId: subject, stepIndex: 0, sequence: 0, status: "completed", result: {} };
      expect(events["action.result"]({ data })).toBeUndefined();
      await queue.flush(10_000);
      const setting = { live, ...rest };
      const route = `/v1/outcomes?subject=${encodeURIComponent(subject)}`;
      await expect
        .poll(async () => (await send(setting, "GET", route)).json.outcomes)
        .toMatchObject([
          { subject, reporter: "agent://lines/rail", outcome: 1, grade: "counterparty" },
        ]);
      const lost = outcomeHook({
        client: away(),
        subject: () => subject,
        reporter: "agent://lines/rail",
      });
      expect(() => lost.events["action.result"]({ data })).not.toThrow();
      await lost.queue.flush(0);
    },
  },
  "4.9-pre-authentication": {
    async client({ world }) {
      const sent: string[] = [];
      const client = openClient(world, (path) => sent.push(path), AGENTS.viewer);
      const gateway = new TrustGateway({ client });
      const gated = trustGate(knows, { client, gateway });
      expect(await gated(arrive(connect, "wrong"))).toBeNull();
      expect(sent).toEqual([]);
    },
  },
  "4.9-post-authentication": {
    async client({ world }) {
      const sent: string[] = [];
      const client = openClient(world, (path) => sent.push(path), AGENTS.viewer);
      const gateway = new TrustGateway({ client });
      expect((await gateway.admit({ agentId: connect })).allowed).toBe(true);
      expect(sent).toEqual(["/v1/handshake"]);
      expect((await gateway.admit({ agentId: refuse })).status).toBe(403);
      expect(new TrustRankClient({ baseUrl: world.urls[0] }).timeoutMs).toBe(100);
    },
  },
  "4.9-pre-authorization": {
    async client({ world }) {
      const sent: string[] = [];
      const client = openClient(world, (path) => sent.push(path), AGENTS.viewer);
      const gateway = new TrustGateway({ client });
      const gated = trustGate(knows, { client, gateway });
      expect(await gated(arrive(SAMPLE_AGENTS[0]))).toEqual({ principalId: SAMPLE_AGENTS[0] });
      const askedBefore = sent.splice(0);
      expect(askedBefore, "after authentication").toEqual(["/v1/handshake", "/v1/trust/verify"]);
      for (const toolLevel of ["L1", "L2", "L3", "L0"] as const) {
        const answer = await gateway.authorize({
          agentId: SAMPLE_AGENTS[0],
          action: "order.place",
          toolLevel,
        });
        expect(answer.allowed).toBe(true);
      }
      expect(sent, "before access").toEqual([]);
    },
  },
  "4.9-transaction": {
    async client({ world }) {
      let nowMs = 1e6;
      const sent: string[] = [];
      const client = openClient(world, (path) => sent.push(path));
      const gateway = new TrustGateway({
        client,
        cache: { ttlMs: 3_600_000 },
        monotonic: () => nowMs,
      });
      const authorize = (toolLevel: "L0" | "L2") =>
        gateway.authorize({ agentId: SAMPLE_AGENTS[0], action: "order.place", toolLevel });
      await authorize("L2");
      nowMs += FIVE_MINUTES_MS - 1;
      expect((await authorize("L2")).isCached).toBe(true);
      expect(sent).toHaveLength(1);
      nowMs += 2;
      expect((await authorize("L2")).isCached).toBe(false);
      expect(sent).toHaveLength(2);
    },
  },
  "4.9-post-transaction": {
    async client({ live }) {
      const client = new TrustRankClient({ ...live, slowTimeoutMs: 10_000 });
      const gateway = new TrustGateway({ client });
      const record = {
        agent_id: newAgent(),
        action: "order.place",
        content: "text",
        cited_sources: [],
      };
      expect(gateway.provenance.offer(record)).not.toBeInstanceOf(Promise);
      await gateway.provenance.flush(10_000);
      expect(gateway.provenance).toMatchObject({ counts: { sent: 1, dropped: 0 } });
    },
    async HTTP(setting) {
      const body = {
        agent_id: newAgent(),
        action: "order.place",
        content_hash: `sha256:${"0".repeat(64)}`,
        cited_sources: ["lines:any"],
      };
      expect((await send(setting, "POST", "/v1/provenance", body)).status).toBe(202);
    },
  },
  "4.9-application": {
    async client({ client, world }) {
      const verdict = await client.verify({
        agent_id: SAMPLE_AGENTS[2],
        action: "order.place",
        tool_level: "L2",
      });
      expect(verdict.trust_evaluation.risk_level).toBe("CRITICAL");
      expect(new TrustRankClient({ baseUrl: world.urls[0] }).timeoutMs).toBeLessThanOrEqual(150);
    },
  },
  "4.9-per-action": {
    async client({ world }) {
      const sent: string[] = [];
      const run = withTrustRank(() => "ran", {
        client: openClient(world, (path) => sent.push(path)),
        agentId: () => connect,
        stakes: () => 5,
      });
      await run();
      await run();
      expect(sent).toHaveLength(2);
    },
  },
  "4.9-refresh": {
    async HTTP(setting) {
      const subject = newAgent();
      await importHistory(setting, subject, Array<0 | 1>(40).fill(0));
      const item = { action: "order.place", tool_level: "L2" };
      const body = {
        items: [
          { ...item, agent_id: subject },
          { ...item, agent_id: "" },
          { ...item, agent_id: connect },
        ],
      };
      const { status, json } = await send(setting, "POST", "/v1/trust/verify/batch", body);
      expect(status, JSON.stringify(json)).toBe(200);
      expect(json.items.map((each: { status: number }) => each.status)).toEqual([200, 400, 200]);
      expect(json.items[2].result.policy_action.verdict).toBe("ALLOW");
    },
    async client({ client }) {
      const items = await client.verifyBatch([
        { agent_id: connect, action: "order.place", tool_level: "L2" },
        { agent_id: refuse, action: "order.place", tool_level: "L2" },
      ]);
      expect(items).toHaveLength(2);
    },
  },
  "4.9-no-gateway": {
    async client({ client }) {
      const gated = trustGate(knows, { client });
      expect(await gated(arrive(connect, "wrong")), "identity first").toBeNull();
      expect(await caught(gated(arrive(refuse))), "then trust").toBeInstanceOf(TrustGateError);
      expect(
        (await new TrustGateway({ client }).authorize({ ...question, agentId: connect })).allowed,
      ).toBe(true);
    },
  },
};
