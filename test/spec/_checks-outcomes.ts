// Checks of sections 2.6 to 2.8: outcomes, verdicts of the client, and what is left open (see _lines-fields.ts).
import { expect } from "vitest";
import { outcomeHook } from "../../src/client/reporting/outcome-hook.ts";
import { generateSigningKey, signOutcome } from "../../src/client/reporting/sign.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { DECISIONS, REGIMES, TIERS } from "../../src/contract/vocabulary.ts";
import {
  ask,
  expectRefused,
  type LineChecks,
  makeKey,
  newAgent,
  report,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import {
  BY_DECISION,
  eachLeg,
  EVERYONE,
  outcomeBody,
  OUTCOMES,
  shake,
  VERIFY,
  verifyBody,
} from "./_line-requests.ts";
import { AGENTS } from "./_world.ts";

export const OUTCOME_CHECKS: Readonly<Record<string, LineChecks>> = {
  "2.6-subject": {
    async all(door) {
      const [subject, other] = [newAgent(), newAgent()];
      await report(door, subject, 1);
      expect(await door.check(subject, 1)).toHaveProperty("regime");
      expect(await door.check(other, 1)).not.toHaveProperty("regime");
    },
    async HTTP(setting) {
      const { subject: _, ...rest } = outcomeBody;
      await expectRefused(setting, OUTCOMES, rest, "/subject");
      const self = await send(setting, "POST", OUTCOMES, {
        ...outcomeBody,
        subject: outcomeBody.reporter,
      });
      expect(self.status).toBe(422);
    },
  },
  "2.6-reporter": {
    async HTTP(setting) {
      const { reporter: _, ...rest } = outcomeBody;
      await expectRefused(setting, OUTCOMES, rest, "/reporter");
      const granted = await send(setting, "PUT", "/v1/namespaces/lines-owned", {
        tenant: "lines-owner",
      });
      expect(granted.status).toBe(200);
      const body = { ...outcomeBody, reporter: "agent://lines-owned/one" };
      const scopes = ["outcomes:write"];
      const [owner, other] = [
        await makeKey(setting, { tenant: "lines-owner", scopes }),
        await makeKey(setting, { tenant: "lines-other", scopes }),
      ];
      expect((await send(setting, "POST", OUTCOMES, body, owner)).status).toBe(201);
      const refused = await send(setting, "POST", OUTCOMES, body, other);
      expect(refused).toMatchObject({ status: 403, json: { code: "namespace_not_owned" } });
    },
  },
  "2.6-outcome": {
    async all(door) {
      const [good, bad] = [newAgent(), newAgent()];
      const { effective_score: before } = await door.check(good, 1);
      await report(door, good, 1, { count: 3 });
      await report(door, bad, 0, { count: 3 });
      expect((await door.check(good, 1)).effective_score).toBeGreaterThan(before);
      expect((await door.check(bad, 1)).effective_score).toBeLessThan(before);
    },
    async HTTP(setting) {
      for (const slip of [2, -1, 0.5, "1", true])
        await expectRefused(setting, OUTCOMES, { ...outcomeBody, outcome: slip }, "/outcome");
    },
  },
  "2.6-stakes": {
    async all(door) {
      const [small, large] = [newAgent(), newAgent()];
      await report(door, small, 1, { count: 30, stakes: 1 });
      await report(door, large, 1, { count: 30, stakes: 5000 });
      const readMaxStakes = async (agent: string) =>
        (await door.check(agent, 1)).max_stakes ?? Infinity;
      expect(await readMaxStakes(large)).toBeGreaterThan(2 * (await readMaxStakes(small)));
    },
  },
  "2.6-grade": {
    async all(door) {
      const [weak, strong] = [newAgent(), newAgent()];
      await report(door, weak, 1, { count: 10, grade: "self" });
      await report(door, strong, 1, { count: 10, grade: "escrow" });
      const [low, high] = [await door.check(weak, 1), await door.check(strong, 1)];
      expect(high.effective_score).toBeGreaterThan(low.effective_score);
    },
    async client({ world }) {
      const bodies: { grade: string }[] = [];
      const client = new TrustRankClient({
        baseUrl: world.urls[0],
        apiKey: world.key,
        agentId: AGENTS.viewer,
        fetch: (url, init) => {
          bodies.push(...[JSON.parse(init.body as string) as { grade: string }].flat());
          return fetch(url, init);
        },
      });
      const { events, queue } = outcomeHook({ client, subject: () => "agent://lines/hooked" });
      const data = { turnId: "turn", stepIndex: 0, sequence: 0, status: "completed", result: {} };
      events["action.result"]({ data });
      await queue.flush(10_000);
      expect(bodies.map(({ grade }) => grade)).toEqual(["counterparty"]);
    },
  },
  "2.6-signed": {
    async HTTP(setting) {
      const { live } = setting;
      const agentId = "agent://lines/signing";
      const client = new TrustRankClient({ ...live, agentId, slowTimeoutMs: 30_000 });
      const { keyPair } = await generateSigningKey();
      const signer = await client.registerKey({ keyPair });
      const body = {
        ...outcomeBody,
        outcome: 1 as const,
        grade: "counterparty" as const,
        reporter: agentId,
      };
      const signed = new TrustRankClient({ ...live, agentId, signer, slowTimeoutMs: 30_000 });
      expect((await signed.reportOutcome({ ...body, id: "signed" })).signature).toBe("reporter");
      const { signature } = await signOutcome({ ...body, id: "tampered" }, signer);
      const tampered = await fetch(live.baseUrl + OUTCOMES, {
        method: "POST",
        headers: {
          authorization: `Bearer ${live.apiKey}`,
          "content-type": "application/json",
          "x-jws-signature": signature,
        },
        body: JSON.stringify({ ...body, id: "tampered", outcome: 0 }),
      });
      expect(tampered.status).toBe(422);
      const unsigned = await send(setting, "POST", OUTCOMES, body);
      expect(unsigned).toMatchObject({
        status: 403,
        json: { code: "signature_required", errors: [{ pointer: "/reporter" }] },
      });
    },
  },
  "2.7-check-verdict": {
    async client({ client }) {
      const verdict = await client.check(TEST_AGENTS.refuse, { stakes: 5 });
      expect(verdict.allowed).toBe(false);
      expect(verdict.reasons.length).toBeGreaterThan(0);
      expect(await client.check(TEST_AGENTS.connect, { stakes: 5 })).toMatchObject({
        allowed: true,
        reasons: [],
      });
    },
  },
  "2.7-handshake-verdict": {
    async client({ client }) {
      const verdict = await client.handshake(TEST_AGENTS.connect, TEST_AGENTS.refuse, {
        stakes: 5,
      });
      expect(verdict.decision).toBe("refuse");
    },
  },
  "2.7-connect-decision": {
    async client({ client }) {
      const asked = BY_DECISION.map((agent) => client.check(agent, { stakes: 5 }));
      const given = (await Promise.all(asked)).map(({ decision }) => decision);
      expect(given).toEqual(["connect", "connect_with_verification", "escalate", "refuse"]);
      expect(DECISIONS).toEqual(given);
    },
  },
  "2.8-check-members": {
    async all(door) {
      const { a_to_b: leg } = await shake(door, AGENTS.viewer, AGENTS.trusted, 7);
      const check = await door.check(AGENTS.trusted, 7);
      const members = [
        "stakes",
        "allowed",
        "enforced",
        "request_id",
        "config_version",
        "evaluated_at",
        "expires_at",
      ];
      expect(Object.keys(check).toSorted()).toEqual([...Object.keys(leg), ...members].toSorted());
    },
  },
  "2.8-stored-outcome": {
    async HTTP(setting) {
      const subject = newAgent();
      const { json: receipt } = await send(setting, "POST", OUTCOMES, { ...outcomeBody, subject });
      const route = `/v1/outcomes?subject=${encodeURIComponent(subject)}`;
      const { outcome_id } = receipt;
      await expect
        .poll(async () => (await send(setting, "GET", route)).json.outcomes)
        .toMatchObject([{ ...outcomeBody, subject, outcome_id, signature: "none" }]);
    },
  },
  "2.8-weights": {
    async all(door) {
      for (const agent of EVERYONE)
        expect((await ask(door, agent)).config_version).toMatch(/^c-[0-9a-f]{16}$/);
    },
    async HTTP(setting) {
      const { json: verdict } = await send(setting, "POST", VERIFY, verifyBody);
      const { status, json } = await send(setting, "GET", `/v1/configs/${verdict.config_version}`);
      expect(status).toBe(200);
      expect(JSON.stringify(json)).toContain("weights");
    },
  },
  "2.8-labels": {
    async all(door) {
      expect([...TIERS, ...REGIMES]).toEqual([
        "A",
        "B",
        "C",
        "D",
        "REVIEW",
        "stable",
        "drifting",
        "shock",
      ]);
      const tiers = new Set<string>();
      await eachLeg(door, ({ tier, regime }) => {
        tiers.add(tier);
        if (regime !== undefined) expect(REGIMES).toContain(regime);
      });
      for (const tier of tiers) expect(TIERS).toContain(tier);
      expect(tiers.size).toBeGreaterThanOrEqual(3);
    },
  },
  "2.8-scale": {
    async all(door) {
      const { trust_evaluation: trust } = await ask(door, AGENTS.trusted);
      const { effective_score: pessimistic } = await door.check(AGENTS.trusted, 1);
      expect(pessimistic).toBeGreaterThan(300);
      expect(pessimistic).toBeLessThan(trust.internal_score);
    },
  },
};
