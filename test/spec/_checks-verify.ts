// Checks of sections 2.1 to 2.3: agent identifiers, request and answer of verify (see _lines-fields.ts).
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import {
  ask,
  catchCode,
  expectRefused,
  importHistory,
  type LineChecks,
  makeKey,
  newAgent,
  report,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import {
  EVERYONE,
  HANDSHAKE,
  handshakeBody,
  outcomeBody,
  OUTCOMES,
  shake,
  VERIFY,
  verifyBody,
} from "./_line-requests.ts";
import { AGENTS } from "./_world.ts";

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

export const VERIFY_CHECKS: Readonly<Record<string, LineChecks>> = {
  "2.1-form": {
    async HTTP(setting) {
      for (const slip of [
        "agent://alone",
        "agent:///name",
        "agent://a b/c",
        "agent://a/b/",
        "agent://a/../b",
        "AGENT://a/b",
        "agent:/a/b",
        " agent://a/b",
        "\uff21gent://a/b",
        "agent%3A%2F%2Fa%2Fb",
      ])
        await expectRefused(
          setting,
          HANDSHAKE,
          { ...handshakeBody, counterparty: slip },
          "/counterparty",
        );
      const { status } = await send(setting, "POST", HANDSHAKE, handshakeBody);
      expect(status).toBe(200);
    },
    async client({ client }) {
      expect(await catchCode(client.check("agent://alone", { stakes: 1 }))).toBe("invalid_request");
      expect((await client.check("agent://a/b/c", { stakes: 1 })).subject).toBe("agent://a/b/c");
    },
  },
  "2.1-uses": {
    async all(door) {
      const agent = newAgent();
      await door.report({
        ...outcomeBody,
        outcome: 1,
        grade: "escrow",
        subject: agent,
        reporter: AGENTS.viewer,
      });
      expect((await door.check(agent, 1)).regime).toBe("stable");
      const { a_to_b: leg } = await shake(door, AGENTS.viewer, agent);
      expect(leg).toMatchObject({ subject: agent, regime: "stable" });
      const { b_to_a: other } = await shake(door, agent, AGENTS.viewer);
      expect(other).toMatchObject({ subject: agent, regime: "stable" });
    },
    async HTTP(setting) {
      await expectRefused(
        setting,
        OUTCOMES,
        { ...outcomeBody, reporter: "plain bot" },
        "/reporter",
      );
      const { status } = await send(setting, "POST", OUTCOMES, {
        ...outcomeBody,
        subject: "plain bot",
      });
      expect(status).toBe(201);
    },
  },
  "2.1-plain": {
    async all(door) {
      const name = `plain ${newAgent().slice(8)}`;
      const before = await ask(door, name, "L1");
      await report(door, name, 1, { count: 5 });
      const after = await ask(door, name, "L1");
      expect(after.trust_evaluation.score).toBeGreaterThan(before.trust_evaluation.score);
      expect((await ask(door, AGENTS.trusted)).policy_action.verdict).toBe("ALLOW");
    },
    async HTTP(setting) {
      for (const slip of ["", "two\nlines", "x".repeat(513)])
        await expectRefused(setting, VERIFY, { ...verifyBody, agent_id: slip }, "/agent_id");
    },
  },
  "2.2-agent-id": {
    async all(door) {
      const [good, bad] = [await ask(door, AGENTS.trusted), await ask(door, AGENTS.failing)];
      expect(good.trust_evaluation.score).toBeGreaterThan(bad.trust_evaluation.score);
    },
    async HTTP(setting) {
      const { agent_id: _, ...rest } = verifyBody;
      await expectRefused(setting, VERIFY, rest, "/agent_id");
    },
  },
  "2.2-action": {
    async all(door) {
      const [one, other] = [
        await ask(door, AGENTS.trusted, "L3", { action: "wire.transfer" }),
        await ask(door, AGENTS.trusted, "L3", { action: "weather.lookup" }),
      ];
      expect(one.policy_action, "part of no rule yet").toEqual(other.policy_action);
      expect(one.trust_evaluation).toEqual(other.trust_evaluation);
    },
    async HTTP(setting) {
      for (const slip of ["order", "order.", "or der.place", 7])
        await expectRefused(setting, VERIFY, { ...verifyBody, action: slip }, "/action");
      const { json } = await send(setting, "POST", VERIFY, {
        ...verifyBody,
        action: "lines.logged",
      });
      await expect
        .poll(() => readDecision(setting, json.request_id))
        .toMatchObject({ action: "lines.logged" });
    },
  },
  "2.2-tool-level": {
    async all(door) {
      const verdicts = [];
      for (const level of TOOL_LEVELS)
        verdicts.push((await ask(door, AGENTS.failing, level)).policy_action.verdict);
      expect(verdicts).toEqual(["ALLOW", "ALLOW", "BLOCK", "BLOCK"]);
    },
    async HTTP(setting) {
      for (const slip of ["L4", "l2", 2])
        await expectRefused(setting, VERIFY, { ...verifyBody, tool_level: slip }, "/tool_level");
    },
  },
  "2.2-context": {
    async all(door) {
      const context = { cited_sources: ["lines:unknown"] };
      const { provenance_data: without } = await ask(door, AGENTS.trusted);
      const { provenance_data: found } = await ask(door, AGENTS.trusted, "L2", { context });
      expect(found.reason).not.toBe(without.reason);
    },
    async HTTP(setting) {
      for (const slip of [[], "text", null])
        await expectRefused(setting, VERIFY, { ...verifyBody, context: slip }, "/context");
      const { context: _, ...rest } = verifyBody;
      expect((await send(setting, "POST", VERIFY, rest)).status).toBe(200);
    },
  },
  "2.2-content-hash": {
    async all(door) {
      const context = { content_hash: sha256("never shown to anybody") };
      const { provenance_data: hashed } = await ask(door, AGENTS.trusted, "L2", { context });
      const { provenance_data: bare } = await ask(door, AGENTS.trusted);
      expect(hashed.reason).not.toBe(bare.reason);
      expect(hashed).toMatchObject({ source_verified: false, is_hallucinated: false });
    },
    async HTTP(setting) {
      const at = (context: object) => ({ ...verifyBody, context });
      for (const slip of ["md5:00", "sha256:00", `sha256:${"g".repeat(64)}`, "00".repeat(32)])
        await expectRefused(setting, VERIFY, at({ content_hash: slip }), "/context/content_hash");
      const hash = sha256("a text that is given");
      const upper = `sha256:${hash.slice(7).toUpperCase()}`;
      for (const either of [hash, upper]) {
        const given = at({ content_hash: either, content: "a text that is given" });
        expect((await send(setting, "POST", VERIFY, given)).status).toBe(200);
      }
      const other = at({ content_hash: hash, content: "another text" });
      await expectRefused(setting, VERIFY, other, "/context/content_hash");
    },
  },
  "2.2-cited-sources": {
    async all(door) {
      const context = { cited_sources: ["lines:unknown"] };
      const { provenance_data: found } = await ask(door, AGENTS.trusted, "L2", { context });
      expect(found.sources).toEqual([{ id: "lines:unknown", status: "SOURCE_UNKNOWN" }]);
    },
    async HTTP(setting) {
      const at = (cited_sources: unknown) => ({ ...verifyBody, context: { cited_sources } });
      await expectRefused(setting, VERIFY, at("one"), "/context/cited_sources");
      await expectRefused(
        setting,
        VERIFY,
        at(["", 7]),
        "/context/cited_sources/0",
        "/context/cited_sources/1",
      );
      await expectRefused(setting, VERIFY, at(Array(65).fill("x")), "/context/cited_sources");
    },
  },
  "2.2-session-duration": {
    async all(door) {
      const asked = [0, 1_000_000].map((session_duration_sec) =>
        ask(door, AGENTS.trusted, "L3", { context: { session_duration_sec } }),
      );
      const [young, old] = await Promise.all(asked);
      const [now, later] = [young!.policy_action, old!.policy_action];
      expect(now.log_reason).not.toBe("SESSION_TOO_OLD");
      // Only logged as shipped: the verdict is the same, and an agent is marked once a day.
      expect(later.verdict).toBe(now.verdict);
      expect(["SESSION_TOO_OLD", now.log_reason]).toContain(later.log_reason);
      expect(young!.trust_evaluation).toEqual(old!.trust_evaluation);
    },
    async HTTP(setting) {
      const at = (session_duration_sec: unknown) => ({
        ...verifyBody,
        context: { session_duration_sec },
      });
      for (const slip of [-1, 1.5, "60"])
        await expectRefused(setting, VERIFY, at(slip), "/context/session_duration_sec");
      const { json } = await send(setting, "POST", VERIFY, at(4321));
      await expect
        .poll(() => readDecision(setting, json.request_id))
        .toMatchObject({ session_duration_sec: 4321 });
    },
  },
  "2.3-request-id": {
    async all(door) {
      const ids = [await ask(door, AGENTS.trusted), await ask(door, AGENTS.trusted)].map(
        (it) => it.request_id,
      );
      expect(new Set(ids).size).toBe(2);
    },
    async HTTP(setting) {
      const { json } = await send(setting, "POST", VERIFY, verifyBody);
      expect(json.request_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
      await expect
        .poll(() => readDecision(setting, json.request_id))
        .toMatchObject({ request_id: json.request_id, subject: verifyBody.agent_id });
    },
  },
  "2.3-scale": {
    async all(door) {
      const scores = [];
      for (const agent of EVERYONE)
        scores.push((await ask(door, agent)).trust_evaluation.internal_score);
      expect(Math.min(...scores)).toBe(300);
      expect(Math.max(...scores)).toBeGreaterThan(700);
      expect(Math.max(...scores)).toBeLessThanOrEqual(850);
    },
  },
  "2.3-score": {
    async all(door) {
      for (const agent of EVERYONE) {
        const { score, internal_score: internal } = (await ask(door, agent)).trust_evaluation;
        expect(score, agent).toBe(Math.round((100 * (internal - 300)) / 550));
      }
      expect((await ask(door, AGENTS.failing)).trust_evaluation.score).toBe(0);
    },
  },
  "2.3-threshold-met": {
    async all(door) {
      for (const level of ["L2", "L3"] as const) {
        expect((await ask(door, AGENTS.failing, level)).trust_evaluation.threshold_met).toBe(false);
        expect((await ask(door, AGENTS.trusted, level)).trust_evaluation.threshold_met).toBe(true);
      }
    },
    async HTTP(setting) {
      const subject = newAgent();
      await importHistory(setting, subject, Array(40).fill(1));
      const { json } = await send(setting, "POST", VERIFY, { ...verifyBody, agent_id: subject });
      const { internal_score: score } = json.trust_evaluation;
      for (const [minimum, isMet] of [
        [Math.floor(score), true],
        [Math.ceil(score + 0.01), false],
      ] as const) {
        const minimum_scores = { L0: minimum, L1: minimum, L2: minimum, L3: minimum };
        const key = await makeKey(setting, {
          tenant: "lines",
          scopes: ["score:read"],
          minimum_scores,
        });
        for (const level of TOOL_LEVELS) {
          const body = { ...verifyBody, agent_id: subject, tool_level: level };
          const reply = await send(setting, "POST", VERIFY, body, key);
          expect(reply.json.trust_evaluation.threshold_met, `${level} ${minimum}`).toBe(isMet);
        }
      }
      const failing = newAgent();
      await importHistory(setting, failing, Array<0 | 1>(40).fill(0));
      for (const level of TOOL_LEVELS) {
        const isMet = async (agent_id: string) => {
          const body = { ...verifyBody, agent_id, tool_level: level };
          const { json: answer } = await send(setting, "POST", VERIFY, body);
          return answer.trust_evaluation.threshold_met as boolean;
        };
        const both = [await isMet(subject), await isMet(failing)];
        expect(both, `shipped minimum of ${level}`).toEqual([true, false]);
      }
    },
  },
  "2.3-risk-level": {
    async all(door) {
      expect((await ask(door, AGENTS.trusted)).trust_evaluation.risk_level).toBe("LOW");
      expect((await ask(door, AGENTS.failing)).trust_evaluation.risk_level).toBe("CRITICAL");
      for (const agent of EVERYONE)
        expect(RISK_LEVELS).toContain((await ask(door, agent)).trust_evaluation.risk_level);
    },
  },
  "2.3-is-hallucinated": {
    async all(door) {
      for (const agent of EVERYONE) {
        const { provenance_data: found } = await ask(door, agent);
        expect(found.is_hallucinated, agent).toBe(agent === TEST_AGENTS.hallucinated);
      }
    },
  },
  "2.3-source-verified": {
    async all(door) {
      const context = { cited_sources: ["lines:unknown"] };
      const { provenance_data: found } = await ask(door, AGENTS.trusted, "L2", { context });
      expect(found).toMatchObject({ source_verified: false, is_hallucinated: false });
    },
    async HTTP(setting) {
      const put = await send(setting, "PUT", "/v1/evidence/lines:known", {
        text: "The invoice is 120 euros.",
      });
      expect(put.status, JSON.stringify(put.json)).toBeLessThan(300);
      const cite = async () => {
        const context = { cited_sources: ["lines:known"] };
        const { json } = await send(setting, "POST", VERIFY, { ...verifyBody, context });
        return json.provenance_data.source_verified as boolean;
      };
      expect(await cite()).toBe(true);
      expect((await send(setting, "DELETE", "/v1/evidence/lines:known")).status).toBe(200);
      expect(await cite()).toBe(false);
    },
  },
  "2.3-reason": {
    async all(door) {
      for (const agent of EVERYONE)
        expect((await ask(door, agent)).provenance_data.reason).toMatch(/^[A-Z].+ .+\.$/);
    },
  },
  "2.3-verdict": {
    async all(door) {
      for (const agent of EVERYONE)
        for (const level of TOOL_LEVELS)
          expect(VERDICTS).toContain((await ask(door, agent, level)).policy_action.verdict);
    },
  },
  "2.3-log-reason": {
    async all(door) {
      const labels = new Set<string>();
      for (const agent of EVERYONE) labels.add((await ask(door, agent)).policy_action.log_reason);
      for (const label of labels) expect(label).toMatch(/^[A-Z][A-Z0-9_]+$/);
      expect(labels).toContain("TRUST_SUFFICIENT");
      expect(labels.size).toBeGreaterThan(3);
    },
  },
};

async function readDecision(
  setting: Parameters<typeof send>[0],
  requestId: string,
): Promise<unknown> {
  const { json } = await send(setting, "GET", `/v1/decisions/${requestId}`);
  return json.legs?.[0];
}
