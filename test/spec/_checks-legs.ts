// Checks of sections 2.4 and 2.5: request and answer of a handshake (see _lines-fields.ts).
import { expect } from "vitest";
import { DECISIONS, REGIMES, TIERS } from "../../src/contract/vocabulary.ts";
import { expectRefused, type LineChecks, TEST_AGENTS } from "./_line-setting.ts";
import { BY_DECISION, eachLeg, HANDSHAKE, handshakeBody, shake } from "./_line-requests.ts";
import { AGENTS } from "./_world.ts";

export const LEG_CHECKS: Readonly<Record<string, LineChecks>> = {
  "2.4-initiator": {
    async all(door) {
      const [good, bad] = [
        await shake(door, AGENTS.trusted, AGENTS.viewer),
        await shake(door, AGENTS.failing, AGENTS.viewer),
      ];
      expect(good.b_to_a.effective_score).toBeGreaterThan(bad.b_to_a.effective_score);
      expect(await shake(door, AGENTS.trusted, AGENTS.trusted)).toMatchObject({
        decision: "connect",
      });
    },
    async HTTP(setting) {
      const { initiator: _, ...rest } = handshakeBody;
      await expectRefused(setting, HANDSHAKE, rest, "/initiator");
    },
  },
  "2.4-counterparty": {
    async all(door) {
      const [good, bad] = [
        await shake(door, AGENTS.viewer, AGENTS.trusted),
        await shake(door, AGENTS.viewer, AGENTS.failing),
      ];
      expect(good.a_to_b.effective_score).toBeGreaterThan(bad.a_to_b.effective_score);
    },
    async HTTP(setting) {
      const { counterparty: _, ...rest } = handshakeBody;
      await expectRefused(setting, HANDSHAKE, rest, "/counterparty");
    },
  },
  "2.4-stakes": {
    async all(door) {
      const asked = [0, 10, 1000, 1e9].map((stakes) =>
        shake(door, AGENTS.viewer, AGENTS.trusted, stakes),
      );
      const order = (await Promise.all(asked)).map(({ decision }) => DECISIONS.indexOf(decision));
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(order[0]).toBe(0);
      expect(order.at(-1)).toBeGreaterThan(0);
    },
    async HTTP(setting) {
      const { stakes: _, ...rest } = handshakeBody;
      await expectRefused(setting, HANDSHAKE, rest, "/stakes");
      for (const slip of [-1, 1e13, "5"])
        await expectRefused(setting, HANDSHAKE, { ...handshakeBody, stakes: slip }, "/stakes");
    },
  },
  "2.5-echo": {
    async all(door) {
      const sent = { initiator: AGENTS.viewer, counterparty: AGENTS.failing, stakes: 12.5 };
      expect(await shake(door, sent.initiator, sent.counterparty, sent.stakes)).toMatchObject(sent);
    },
  },
  "2.5-a-to-b": {
    async all(door) {
      const { a_to_b: leg } = await shake(door, TEST_AGENTS.connect, TEST_AGENTS.refuse);
      expect(leg).toMatchObject({ subject: TEST_AGENTS.refuse, decision: "refuse" });
    },
  },
  "2.5-b-to-a": {
    async all(door) {
      const { b_to_a: leg } = await shake(door, TEST_AGENTS.connect, TEST_AGENTS.refuse);
      expect(leg).toMatchObject({ subject: TEST_AGENTS.connect, decision: "connect" });
    },
  },
  "2.5-decision": {
    async all(door) {
      const given = [];
      for (const other of BY_DECISION)
        given.push((await shake(door, TEST_AGENTS.connect, other)).decision);
      expect(given).toEqual([...DECISIONS]);
    },
  },
  "2.5-connected": {
    async all(door) {
      const given = [];
      for (const other of BY_DECISION)
        given.push((await shake(door, TEST_AGENTS.connect, other)).connected);
      expect(given).toEqual([true, true, false, false]);
    },
  },
  "2.5-reasons": {
    async all(door) {
      await eachLeg(door, (_, { reasons, a_to_b: first, b_to_a: second }) => {
        expect(reasons).toEqual([...new Set([...first.reasons, ...second.reasons])]);
      });
    },
  },
  "2.5-leg-subject": {
    async all(door) {
      await eachLeg(door, (leg, whole) => {
        expect(leg.subject).toBe(leg === whole.a_to_b ? whole.counterparty : whole.initiator);
      });
    },
  },
  "2.5-leg-score": {
    async all(door) {
      const scores: number[] = [];
      await eachLeg(door, ({ effective_score: score }) => void scores.push(score));
      for (const score of scores) expect(Math.round(score * 100) / 100).toBe(score);
      expect(scores.some((score) => !Number.isInteger(score))).toBe(true);
      expect(Math.min(...scores)).toBeGreaterThanOrEqual(300);
      expect(Math.max(...scores)).toBeLessThanOrEqual(850);
    },
  },
  "2.5-leg-tier": {
    async all(door) {
      const { a_to_b: unknown } = await shake(door, AGENTS.viewer, AGENTS.newcomer);
      const { a_to_b: bad } = await shake(door, AGENTS.viewer, AGENTS.failing);
      expect([unknown.tier, bad.tier]).toEqual(["REVIEW", "D"]);
      await eachLeg(door, ({ tier }) => expect(TIERS).toContain(tier));
    },
  },
  "2.5-leg-regime": {
    async all(door) {
      const whole = await shake(door, AGENTS.trusted, AGENTS.newcomer);
      expect(whole.a_to_b).not.toHaveProperty("regime");
      expect(REGIMES).toContain(whole.b_to_a.regime);
    },
  },
  "2.5-leg-decision": {
    async all(door) {
      const given = new Set<string>();
      await eachLeg(door, ({ decision }) => void given.add(decision));
      expect([...given].toSorted()).toEqual([...DECISIONS].toSorted());
    },
  },
  "2.5-leg-reasons": {
    async all(door) {
      await eachLeg(door, ({ reasons, decision }) => {
        expect(reasons.length).toBeLessThanOrEqual(4);
        expect(reasons.length > 0, decision).toBe(decision !== "connect");
        for (const reason of reasons) expect(reason).toMatch(/^[A-Z].+\.$/);
      });
    },
  },
  "2.5-rule-1": {
    async all(door) {
      await eachLeg(door, (_, { decision, a_to_b: first, b_to_a: second }) => {
        const stricter = Math.max(
          DECISIONS.indexOf(first.decision),
          DECISIONS.indexOf(second.decision),
        );
        expect(DECISIONS.indexOf(decision)).toBe(stricter);
      });
    },
  },
  "2.5-rule-2": {
    async all(door) {
      const clear: string[][] = [];
      await eachLeg(door, ({ decision, reasons }) => {
        if (decision === "connect") clear.push(reasons);
      });
      expect(clear.length).toBeGreaterThan(5);
      expect(clear.flat()).toEqual([]);
    },
  },
};
