// The audit sample as verify answers it over the real engine: one lot an agent and day, marked, logged,
// never kept by a cache, and judged again as it was.
import { describe, expect, it } from "vitest";
import type { DecisionEntry } from "../../../src/contract/decisions.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { isInAuditSample } from "../../../src/policy/audit-sample.ts";
import { BROKEN_TEXT, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const ONE_IN = 4;
const DAY_MS = 86_400_000;
const ids = Array.from({ length: 200 }, (_, n) => `request-${n}`);
const WINS = ids.filter((id) => isInAuditSample(id, ONE_IN));
const LOSS = ids.find((id) => !isInAuditSample(id, ONE_IN))!;
const NEW = "agent://nobody/new";
const RISKY = "agent://globex/price-scout";
const by = { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT };

function open(rules: object = {}, mayRecord = true) {
  const level = { audit_one_in: ONE_IN, audit_max_stakes: 8, ...rules };
  const active = createActivePolicy(parsePolicy({ levels: { L2: level } }));
  const time = { nowMs: NEWEST_MS };
  const logged: DecisionEntry[] = [];
  const { bureau } = openSampleBureau({
    policies: { findActivePolicy: () => active, findPolicyVersion: () => active.policy },
    clock: () => time.nowMs,
    decisions: {
      admit: (entry) => mayRecord || entry.isKeptFirst,
      record: (entry) => logged.push({ ...entry }),
    },
  });
  const verify = (agent: string, requestId: string, request: object = {}, asker = by) =>
    bureau.verify(
      { agent_id: agent, action: "a.b", tool_level: "L2", context: {}, ...request },
      { requestId, principal: asker },
    ) as VerifyResponse;
  return { bureau, verify, time, logged };
}

const said = ({ policy_action: { verdict, log_reason: label } }: VerifyResponse) =>
  `${verdict} ${label}`;

describe("a challenge that wins its lot", () => {
  it("is let through, says so, and is for this call alone", () => {
    const { verify, logged } = open({}, false);
    const answer = verify(NEW, WINS[0]!);
    expect(said(answer)).toBe("ALLOW AUDIT_SAMPLE");
    expect(answer.reason_codes[0]).toBe("AUDIT_SAMPLE");
    expect(answer.reason_codes.length).toBeGreaterThan(1);
    expect(answer.reason_codes.length).toBeLessThanOrEqual(4);
    expect(answer.expires_at).toBe(answer.evaluated_at);
    expect(answer.max_stakes).toBe(8);
    // Logged even where nothing else that is allowed has room.
    expect(logged).toMatchObject([{ logReason: "AUDIT_SAMPLE", isFlagged: true }]);
  });

  it("is the first of its agent and day, or none", () => {
    const { verify, time } = open();
    expect(said(verify(NEW, LOSS))).toBe("CHALLENGE THIN_FILE");
    for (const id of WINS) expect(said(verify(NEW, id))).toBe("CHALLENGE THIN_FILE");
    expect(said(verify("agent://nobody/other", WINS[1]!))).toBe("ALLOW AUDIT_SAMPLE");
    expect(said(verify("agent://nobody/other", WINS[1]!))).toBe("CHALLENGE THIN_FILE");
    time.nowMs += DAY_MS;
    expect(said(verify(NEW, WINS[0]!))).toBe("ALLOW AUDIT_SAMPLE");
  });

  it("is not one with higher stakes, a broken text, a minimum of the key's own or in shadow mode", () => {
    const { verify } = open();
    const win = WINS[0]!;
    expect(said(verify(NEW, win, { stakes: 8.01 }))).toMatch(/^CHALLENGE /);
    const altered = { content: BROKEN_TEXT };
    expect(said(verify(NEW, win, { context: altered }))).toBe("QUARANTINE CONTENT_RECORDED_FALSE");
    expect(said(verify(NEW, win, {}, principal))).toMatch(/^CHALLENGE /);
    expect(said(verify(NEW, win, {}, { ...by, isShadow: true }))).toMatch(/^CHALLENGE /);
    expect(said(verify(NEW, win, { tool_level: "L3" }))).toMatch(/^CHALLENGE /);
    expect(said(open({ shadow: true }).verify(NEW, win))).toMatch(/^CHALLENGE /);
    // None of them has spent the lot of the day.
    expect(said(verify(NEW, win))).toBe("ALLOW AUDIT_SAMPLE");
  });

  it("is asked at its level: an answer for all levels neither draws it nor takes it away", () => {
    const { verify } = open();
    const asked = { levels: true, tool_level: "L3" };
    const before = verify(NEW, WINS[0]!, asked).levels!;
    // L1 is flagged the first time of a day, L2 has its lot to draw: both have to be asked.
    expect(Object.keys(before)).toEqual(["L0", "L3"]);
    const answer = verify(NEW, WINS[1]!, { levels: true });
    expect([said(answer), answer.levels]).toEqual(["ALLOW AUDIT_SAMPLE", undefined]);
    const after = verify(NEW, WINS[2]!, asked).levels!;
    expect(after["L2"]).toMatchObject({ verdict: "CHALLENGE", log_reason: "THIN_FILE" });
  });

  it("counts a request without stakes for the assumed ones", () => {
    // Shipped, 7 are assumed at L2: a sample up to 6 has none, one that names no amount has its own.
    const small = open({ audit_max_stakes: 6 });
    expect(said(small.verify(NEW, WINS[0]!))).toMatch(/^CHALLENGE /);
    const none = open({ audit_max_stakes: 0 });
    expect(said(none.verify(NEW, WINS[0]!))).toBe("ALLOW AUDIT_SAMPLE");
    expect(said(none.verify("agent://nobody/other", WINS[1]!, { stakes: 7.01 }))).toMatch(/^CHALL/);
  });

  it("passes nobody who waits for a person", () => {
    const { verify } = open();
    for (const id of WINS.slice(0, 3)) {
      expect(said(verify(RISKY, id))).toBe("CHALLENGE RISK_ABOVE_BOUND");
    }
  });

  it("comes one time in so many, over agents", () => {
    const { verify } = open();
    const answers = ids.map((id, n) => said(verify(`agent://crowd/${n}`, id)));
    expect(answers.filter((each) => each === "ALLOW AUDIT_SAMPLE")).toHaveLength(WINS.length);
    expect(WINS.length).toBeGreaterThan(200 / ONE_IN / 2);
    expect(WINS.length).toBeLessThan((200 / ONE_IN) * 2);
  });
});
