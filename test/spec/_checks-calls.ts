// Checks of sections 4 to 4.6: the endpoints (see _lines-calls.ts).
import { expect } from "vitest";
import { answerHeaders } from "../../src/client/ruling.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { encodeMsgpack, parseMsgpack } from "../../src/http/codec/msgpack.ts";
import {
  ask,
  importHistory,
  type LineChecks,
  type LineSetting,
  newAgent,
  report,
  SAMPLE_AGENTS,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import { VERIFY, verifyBody } from "./_line-requests.ts";
import { AGENTS } from "./_world.ts";

const outcomeBody = {
  reporter: "agent://lines/other",
  outcome: 1 as const,
  stakes: 5,
  grade: "counterparty" as const,
};

/** A request with its headers as given; nothing is added. */
function raw(
  { live }: LineSetting,
  path: string,
  headers: Record<string, string>,
  body?: string | Uint8Array,
) {
  return fetch(live.baseUrl + path, {
    method: "POST",
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

export const CALL_CHECKS: Readonly<Record<string, LineChecks>> = {
  "4-bodies": {
    async HTTP(setting) {
      const authorization = `Bearer ${setting.live.apiKey}`;
      const type = "application/msgpack";
      const headers = { authorization, "content-type": type, accept: type };
      const reply = await raw(setting, VERIFY, headers, encodeMsgpack(verifyBody));
      expect(reply.headers.get("content-type")).toBe(type);
      const packed = parseMsgpack(Buffer.from(await reply.arrayBuffer())) as object;
      const { json } = await send(setting, "POST", VERIFY, verifyBody);
      expect(Object.keys(packed).toSorted()).toEqual(Object.keys(json).toSorted());
      const { status, json: problem } = await send(setting, "POST", VERIFY, "no JSON");
      expect(status).toBe(400);
      expect(problem.code).toBe("malformed_body");
    },
  },
  "4.1-verify": {
    async all(door) {
      const answer = await ask(door, SAMPLE_AGENTS[0]);
      expect(answer).toMatchObject({
        request_id: expect.any(String),
        trust_evaluation: {
          score: expect.any(Number),
          threshold_met: expect.any(Boolean),
          risk_level: expect.any(String),
        },
        provenance_data: {
          is_hallucinated: expect.any(Boolean),
          source_verified: expect.any(Boolean),
          reason: expect.any(String),
        },
        policy_action: { verdict: expect.any(String), log_reason: expect.any(String) },
      });
    },
    async HTTP(setting) {
      const body = { ...verifyBody, agent_id: TEST_AGENTS.refuse };
      const { status, json } = await send(setting, "POST", VERIFY, body);
      expect(status).toBe(200);
      expect(json.policy_action.verdict).toBe("BLOCK");
    },
  },
  "4.1-headers": {
    async HTTP(setting) {
      const authorization = `Bearer ${setting.live.apiKey}`;
      const json = { "content-type": "application/json" };
      const body = JSON.stringify(verifyBody);
      expect((await raw(setting, VERIFY, { authorization, ...json }, body)).status).toBe(200);
      expect((await raw(setting, VERIFY, json, body)).status).toBe(401);
      const text = { authorization, "content-type": "text/plain" };
      expect((await raw(setting, VERIFY, text, body)).status).toBe(415);
    },
  },
  "4.1-gateway": {
    async HTTP({ live }) {
      const authorize = (agent: string) =>
        fetch(`${live.baseUrl}/v1/gateway/authorize?profile=nginx&tool_level=L2`, {
          headers: { authorization: `Bearer ${live.apiKey}`, "x-trust-agent-id": agent },
        });
      const [good, bad] = [
        await authorize(TEST_AGENTS.connect),
        await authorize(TEST_AGENTS.refuse),
      ];
      expect([good.status, bad.status]).toEqual([200, 403]);
      expect(bad.headers.get("x-trust-reason")).toBe("REFUSE_RULE");
    },
    async client({ client }) {
      const gateway = new TrustGateway({ client });
      const question = { action: "order.place", toolLevel: "L2" } as const;
      const good = await gateway.authorize({ ...question, agentId: TEST_AGENTS.connect });
      const bad = await gateway.authorize({ ...question, agentId: TEST_AGENTS.refuse });
      expect([good.status, bad.status]).toEqual([200, 403]);
      expect(answerHeaders(bad)).toMatchObject({ "X-Trust-Verdict": "BLOCK" });
    },
  },
  "4.2-handshake": {
    async all(door) {
      const answer = await door.handshake(AGENTS.viewer, AGENTS.trusted, 5);
      for (const member of ["a_to_b", "b_to_a", "decision", "connected", "reasons"])
        expect(answer).toHaveProperty(member);
    },
    async HTTP(setting) {
      const given = [];
      for (const counterparty of [TEST_AGENTS.connect, TEST_AGENTS.escalate, TEST_AGENTS.refuse]) {
        const body = { initiator: TEST_AGENTS.connect, counterparty, stakes: 5 };
        const { status, json } = await send(setting, "POST", "/v1/handshake", body);
        given.push([status, json.decision]);
      }
      expect(given).toEqual([
        [200, "connect"],
        [200, "escalate"],
        [403, "refuse"],
      ]);
    },
  },
  "4.2-one-call": {
    async all(door) {
      const { a_to_b: there, b_to_a: back } = await door.handshake(
        AGENTS.trusted,
        AGENTS.failing,
        5,
      );
      expect([there.subject, back.subject]).toEqual([AGENTS.failing, AGENTS.trusted]);
      expect(there.effective_score).toBeLessThan(back.effective_score);
    },
    async HTTP(setting) {
      const before = await countHandshakes(setting);
      const body = { initiator: newAgent(), counterparty: newAgent(), stakes: 5 };
      await send(setting, "POST", "/v1/handshake", body);
      expect(await countHandshakes(setting)).toBe(before + 1);
    },
  },
  "4.2-constant": {
    figures(results) {
      const rows = [
        ...results.matchAll(/^\| ([\d,]+) \| \d+ \| \d+ \| ([\d,]+) \| [\d,]+ \| [\d.]+ \|$/gm),
      ];
      const [small, large] = [rows[0]!, rows.at(-1)!].map(([, agents, ns]) => ({
        agents: Number(agents!.replaceAll(",", "")),
        ns: Number(ns!.replaceAll(",", "")),
      }));
      // Caches miss more often, so the time is not the same; a search or a scan would grow with the number.
      expect(large!.agents / small!.agents).toBeGreaterThanOrEqual(1000);
      expect(large!.ns / small!.ns).toBeLessThan(10);
    },
  },
  "4.3-check": {
    async all(door) {
      const [low, high] = [
        await door.check(AGENTS.trusted, 1),
        await door.check(AGENTS.trusted, 1e9),
      ];
      expect([low.allowed, high.allowed]).toEqual([true, false]);
    },
  },
  "4.3-shape": {
    async all(door) {
      const answer = await door.check(AGENTS.failing, 7);
      expect(answer).toMatchObject({ subject: AGENTS.failing, stakes: 7, allowed: false });
      for (const member of ["effective_score", "tier", "decision", "reasons", "expires_at"])
        expect(answer).toHaveProperty(member);
    },
    async HTTP(setting) {
      const body = { subject: TEST_AGENTS.refuse, stakes: 7 };
      const { status, json } = await send(setting, "POST", "/v1/check", body);
      expect([status, json.decision]).toEqual([200, "refuse"]);
    },
  },
  "4.4-outcomes": {
    async all(door) {
      const subject = newAgent();
      await door.report({ ...outcomeBody, subject });
      expect(await door.check(subject, 1), "known to the next verdict").toHaveProperty("regime");
    },
    async HTTP(setting) {
      const body = {
        ...outcomeBody,
        subject: newAgent(),
        id: newAgent().slice(8).replaceAll("/", "-"),
      };
      const statuses = [];
      for (let at = 0; at < 2; at += 1)
        statuses.push((await send(setting, "POST", "/v1/outcomes", body)).status);
      expect(statuses).toEqual([201, 200]);
      const other = await send(setting, "POST", "/v1/outcomes", { ...body, outcome: 0 });
      expect(other.status, "another content under a known id").toBe(409);
    },
  },
  "4.4-receipt": {
    async all(door) {
      const receipt = await door.report({ ...outcomeBody, subject: newAgent() });
      expect(Object.keys(receipt).toSorted()).toEqual([
        "duplicate",
        "outcome_id",
        "position",
        "recorded_at",
        "signature",
      ]);
      expect(receipt).toMatchObject({ duplicate: false, signature: "none" });
    },
  },
  "4.4-grades": {
    async all(door) {
      expect(GRADES).toEqual(["onchain", "escrow", "mediator", "counterparty", "self"]);
      const subject = newAgent();
      for (const grade of GRADES) await door.report({ ...outcomeBody, subject, grade });
      const [self, escrow] = [newAgent(), newAgent()];
      await report(door, self, 1, { count: 10, grade: "self" });
      await report(door, escrow, 1, { count: 10, grade: "escrow" });
      const scores = [await door.check(self, 1), await door.check(escrow, 1)];
      expect(scores[1]!.effective_score).toBeGreaterThan(scores[0]!.effective_score);
    },
    async HTTP(setting) {
      for (const grade of ["gold", "", undefined]) {
        const body = { ...outcomeBody, subject: newAgent(), grade };
        const { status, json } = await send(setting, "POST", "/v1/outcomes", body);
        expect([status, json.errors?.[0].pointer]).toEqual([400, "/grade"]);
      }
    },
  },
  "4.5-run": {
    async HTTP(setting) {
      await importHistory(setting, newAgent(), [1, 0, 1]);
      const { json } = await send(setting, "POST", "/v1/kaizen/run", { dry_run: true });
      expect(json.evidence_kinds).toEqual(["reporter", "bureau", "import"]);
      expect(json.rows_by_kind.import).toBeGreaterThanOrEqual(3);
      expect(json.findings.sides.map(({ side }: { side: string }) => side)).toEqual([
        "check",
        "handshake",
      ]);
      const { json: one } = await send(setting, "GET", `/v1/kaizen/runs/${json.run_id}`);
      expect(one.run_id).toBe(json.run_id);
    },
  },
  "4.5-weekly": {
    async HTTP(setting) {
      const authorization = `Bearer ${setting.live.apiKey}`;
      const type = { "content-type": "application/json" };
      for (const [headers, body] of [
        [{}, undefined],
        [{}, ""],
        [type, ""],
        [type, "{}"],
      ] as const) {
        const reply = await raw(setting, "/v1/kaizen/run", { authorization, ...headers }, body);
        expect(reply.status, await reply.text()).toBe(200);
      }
    },
  },
  "4.5-shape": {
    async HTTP(setting) {
      const { json: run } = await send(setting, "POST", "/v1/kaizen/run", {
        dry_run: true,
        holdout_days: 10,
      });
      for (const member of ["run_id", "state", "rows", "findings"])
        expect(run).toHaveProperty(member);
      const { status } = await send(setting, "POST", "/v1/kaizen/run", {
        dry_run: true,
        wait: false,
      });
      expect(status).toBe(202);
      await expect
        .poll(async () => (await send(setting, "GET", "/v1/kaizen/runs")).json.running ?? null)
        .toBeNull();
      const unknown = await send(setting, "POST", "/v1/kaizen/run", { dry_runs: true });
      expect(unknown.status).toBe(400);
    },
  },
  "4.6-healthz": {
    async HTTP(setting) {
      expect((await send(setting, "GET", "/healthz", undefined, null)).status).toBe(200);
    },
  },
  "4.6-shape": {
    async HTTP(setting) {
      const { json } = await send(setting, "GET", "/healthz", undefined, null);
      expect(json).toEqual({
        status: "ok",
        version: "0.1.0",
        service_id: expect.stringMatching(/^trustrank:/),
      });
      expect((await send(setting, "HEAD", "/healthz", undefined, null)).status).toBe(200);
      expect((await send(setting, "DELETE", "/healthz", undefined, null)).status).toBe(405);
    },
  },
};

async function countHandshakes(setting: LineSetting): Promise<number> {
  const { json } = await send(setting, "GET", "/v1/usage?group_by=month");
  return json.rows.reduce(
    (sum: number, row: { reads: { handshake: number } }) => sum + row.reads.handshake,
    0,
  );
}
