// A policy's `actions` as verify applies them over the real engine: the table, the rules of the level that
// decides, the log, the trace, and a policy without entries that answers as before.
import { describe, expect, it } from "vitest";
import type { CallContext } from "../../../src/bureau/bureau.ts";
import type { ActionEntry } from "../../../src/contract/actions.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import type { VerifyRequest, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { ACTION_ROWS, ACTIONS } from "../../policy/_actions.ts";
import { legOf, NOW_MS, openTable, principalOf } from "../../store/_decisions.ts";

const BAD = "agent://shop/bad";

function open(actions: ActionEntry[] = ACTIONS) {
  const active = createActivePolicy(parsePolicy({ actions }));
  const legs: ReplayableLeg[] = [];
  const log = { admit: () => true, record: (entry: never) => void legs.push(legOf(entry)) };
  const policies = {
    findActivePolicy: () => active,
    findPolicyVersion: (version: string) =>
      version === active.version ? active.policy : undefined,
  };
  const { bureau } = openTable(log, () => NOW_MS, policies);
  const verify = (request: Partial<VerifyRequest>, more: Partial<CallContext> = {}) => {
    const whole = {
      agent_id: BAD,
      action: "a.b",
      tool_level: "L3",
      context: {},
      ...request,
    } as const;
    const call = { requestId: "r-1", principal: principalOf("acme"), ...more };
    return bureau.verify(whole, call) as VerifyResponse;
  };
  return { bureau, verify, legs };
}

describe("verify", () => {
  const { verify, legs } = open();

  it.each(ACTION_ROWS)("%o", (row) => {
    const facts = { resource: { id: row.resource }, context: { env: row.env } };
    const principal = { ...principalOf("acme"), assertsProperties: row.isTrusted };
    const { action, named } = row;
    const more = { facts, principal, isLevelNamed: named !== undefined };
    const response = verify({ action, tool_level: named ?? "L3" }, more);
    const pointer = row.entry < 0 ? null : `/actions/${row.entry}`;
    expect(response.action_entry).toEqual({ pointer, tool_level: row.level, stakes: 0 });
    expect(legs.at(-1)).toMatchObject({
      tool_level: row.level,
      action_entry: row.entry < 0 ? null : row.entry,
    });
  });

  it("decides by the rules of the level that the policy gives, for one call", () => {
    const open2 = open([{ match: "*", level: "L3" }]);
    const plain = open([]);
    const raised = open2.verify({ tool_level: "L0" });
    expect(raised.policy_action).toEqual(plain.verify({ tool_level: "L3" }).policy_action);
    expect(raised.policy_action).not.toEqual(plain.verify({ tool_level: "L0" }).policy_action);
    expect(raised.expires_at).toBe(raised.evaluated_at);
    expect(open2.verify({ tool_level: "L0", levels: true }).levels).toBeUndefined();
  });

  it("decides on the stakes that an entry reads from the request", () => {
    const good = {
      agent_id: "agent://shop/good",
      action: "wire.transfer",
      tool_level: "L2",
    } as const;
    const facts = (amount: unknown) => ({ facts: { context: { amount } } });
    const read = verify(good, facts(1e9));
    expect(read.action_entry!.stakes).toBe(1e9);
    expect(read.policy_action).toEqual(verify({ ...good, stakes: 1e9 }).policy_action);
    expect(read.policy_action).not.toEqual(verify(good, facts(1)).policy_action);
    expect(() => verify(good, facts("9"))).toThrow("invalid_request");
  });

  it("without entries answers nothing more than before", () => {
    const plain = open([]);
    const response = plain.verify({ tool_level: "L1" }, { isLevelNamed: false });
    expect(response).not.toHaveProperty("action_entry");
    expect(response.expires_at).not.toBe(response.evaluated_at);
    expect(plain.bureau.listsActions("acme")).toBe(false);
    expect(plain.legs.at(-1)).toMatchObject({ action_entry: null, tool_level: "L1" });
  });
});

it("a trace names the entry, as the policy of its time has it; a replay judges at its level", () => {
  const { verify, bureau, legs } = open();
  verify({ action: "wire.transfer", tool_level: "L0" });
  const config = loadDefaultConfig();
  const entry = { pointer: "/actions/3", entry: ACTIONS[3] };
  expect(bureau.traceDecision(legs, config).action_entry).toEqual(entry);
  expect(bureau.replayDecision(legs, undefined).identical).toBe(true);
  const unheld = [{ ...legs[0]!, policy_version: "p-gone" }];
  expect(bureau.traceDecision(unheld, config).action_entry).toEqual({ ...entry, entry: null });
  expect(
    bureau.traceDecision([{ ...legs[0]!, action_entry: null }], config).action_entry,
  ).toBeNull();
});
