// Everything that gates a call agrees with verify, over all agents of the sample history and the reserved test
// agents. The table of docs/reference/gates.md is made from the same answers. To write it again:
// TRUSTRANK_UPDATE_GOLDENS=1 npx vitest run --project short test/client/gates/agreement.test.ts
import { readFileSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateError } from "../../../src/client/errors.ts";
import { checkApproval, handshakeApproval } from "../../../src/client/gates/approval.ts";
import { trustGate } from "../../../src/client/gates/trust-gate.ts";
import { withTrustRank } from "../../../src/client/gates/with-trust-rank.ts";
import type { VerifyResponse } from "../../../src/client/messages.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../../src/contract/vocabulary.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type Service, startTestService } from "../_service.ts";

const PAGE = new URL("../../../docs/reference/gates.md", import.meta.url);
const BEGIN = "<!-- made by test/client/gates/agreement.test.ts -->\n";
const SAMPLE = new URL("../../../data/sample/outcomes.ndjson", import.meta.url);

const TEST_AGENTS = ["connect", "verify", "escalate", "refuse", "hallucinated", "slow"].map(
  (name) => `agent://test/${name}`,
);
/** Outcomes and failures of each agent of the sample, by its identifier. */
const records = new Map<string, { outcomes: number; failed: number }>();
for (const line of readFileSync(SAMPLE, "utf8").trim().split("\n")) {
  const { subject, outcome } = JSON.parse(line) as { subject: string; outcome: number };
  const record = records.get(subject) ?? { outcomes: 0, failed: 0 };
  records.set(subject, {
    outcomes: record.outcomes + 1,
    failed: record.failed + (outcome === 0 ? 1 : 0),
  });
}
const AGENTS = [...[...records.keys()].toSorted(), ...TEST_AGENTS];

let service: Service;
let client: TrustRankClient;
beforeAll(async () => {
  service = await startTestService();
  client = new TrustRankClient({
    ...service,
    timeoutMs: WAIT_MS_MAX,
    agentId: "agent://test/connect",
  });
});
afterAll(() => service.stop());

/** Stakes as an option: left out where the question names none. */
const stakesOption = (stakes: number | undefined) =>
  stakes === undefined ? {} : { stakes: () => stakes };

function verify(agentId: string, level: ToolLevel, stakes?: number) {
  const named = stakes === undefined ? {} : { stakes };
  return client.verify({ agent_id: agentId, action: "a.b", tool_level: level, ...named });
}

/** Whether a challenge waits for no person: what a verification of the caller's own may confirm. */
const isConfirmable = ({ policy_action, review }: VerifyResponse) =>
  policy_action.verdict === "ALLOW" ||
  (policy_action.verdict === "CHALLENGE" && review === undefined);
const isAllow = ({ policy_action }: VerifyResponse) => policy_action.verdict === "ALLOW";

async function opens(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (thrown) {
    if (thrown instanceof TrustGateError) return false;
    throw thrown;
  }
}

const confirmed = { verification: () => true };
type Confirmation = typeof confirmed | object;

const gate = (principalId: string, level: ToolLevel, stakes?: number, more: Confirmation = {}) =>
  opens(
    trustGate(() => ({ principalId }), { client, level, ...stakesOption(stakes), ...more })(null),
  );

async function approve(agentId: string, toolLevel: ToolLevel, stakes?: number, more: object = {}) {
  const policy = checkApproval({ client, toolLevel, ...stakesOption(stakes), ...more });
  const { action } = await policy({ toolName: "pay", input: {}, principalId: agentId });
  return action;
}

async function shake(counterparty: string, stakes: number) {
  const policy = handshakeApproval({
    client,
    stakes: () => stakes,
    counterparty: () => counterparty,
  });
  return policy({ toolName: "pay", input: {} });
}

const run = (agentId: string, stakes: number, more: Confirmation = {}) =>
  opens(
    withTrustRank(() => "ran", { client, agentId: () => agentId, stakes: () => stakes, ...more })(),
  );

const agents = fc.constantFrom(...AGENTS, "agent://nobody/knows", "plain-text-name");
const levels = fc.constantFrom(...TOOL_LEVELS);
const stakesAsked = fc.option(
  fc.oneof(
    fc.constantFrom(0, 1, 7, 12, 250, 5000, 1e6, 1e12),
    fc.double({ min: -1, max: 7, noNaN: true }).map((digits) => 10 ** digits),
  ),
  { nil: undefined },
);

describe("agreement with verify", () => {
  it("a gate admits whom verify allows at its level and stakes, and a confirmed challenge", async () => {
    await fc.assert(
      fc.asyncProperty(agents, levels, stakesAsked, async (agent, level, stakes) => {
        const verdict = await verify(agent, level, stakes);
        expect(await gate(agent, level, stakes)).toBe(isAllow(verdict));
        expect(await gate(agent, level, stakes, confirmed)).toBe(isConfirmable(verdict));
      }),
      { numRuns: 400 },
    );
  });

  it("an approval runs what verify allows at the tool's level, below L2 nothing that L2 refuses", async () => {
    await fc.assert(
      fc.asyncProperty(agents, levels, stakesAsked, async (agent, level, stakes) => {
        const isSensitive = level === "L2" || level === "L3";
        const verdict = await verify(agent, isSensitive ? level : "L2", stakes);
        const isRun = isSensitive ? isAllow(verdict) : isConfirmable(verdict);
        const { verdict: word } = verdict.policy_action;
        const held = word === "BLOCK" ? "deny" : "park";
        expect(await approve(agent, level, stakes)).toBe(isRun ? "run" : held);
        const isConfirmed = isConfirmable(verdict);
        expect(await approve(agent, level, stakes, confirmed)).toBe(isConfirmed ? "run" : held);
      }),
      { numRuns: 400 },
    );
  });

  it("a function runs unverified where verify at L2 allows the same stakes, and nowhere else", async () => {
    await fc.assert(
      fc.asyncProperty(agents, stakesAsked, async (agent, stakes = 0) => {
        const verdict = await verify(agent, "L2", stakes);
        expect(await run(agent, stakes)).toBe(isAllow(verdict));
        // A check has no content to judge, which is all that stands against this one.
        if (agent === "agent://test/hallucinated") return;
        expect(await run(agent, stakes, confirmed)).toBe(isConfirmable(verdict));
      }),
      { numRuns: 400 },
    );
  });

  it("no stakes are the stakes that the policy assumes", async () => {
    for (const agent of AGENTS) {
      const [none, zero] = await Promise.all([verify(agent, "L2"), verify(agent, "L2", 0)]);
      expect(none.policy_action, agent).toEqual(zero.policy_action);
      expect(await approve(agent, "L2"), agent).toBe(await approve(agent, "L2", 0));
      expect(await gate(agent, "L2"), agent).toBe(await gate(agent, "L2", 0));
    }
  });
});

/** What each does with an agent at stakes; undefined: none named. */
async function buildCells(agent: string, stakes: number | undefined): Promise<string[]> {
  const [verdict, isAdmitted, action, handshake, isRun] = await Promise.all([
    verify(agent, "L2", stakes),
    gate(agent, "L2", stakes),
    approve(agent, "L2", stakes),
    shake(agent, stakes ?? 0),
    run(agent, stakes ?? 0),
  ]);
  const word = verdict.policy_action.verdict;
  const held = word === "CHALLENGE" && verdict.review !== undefined ? "CHALLENGE, review" : word;
  return [held, isAdmitted ? "admits" : "403", action, handshake.action, isRun ? "runs" : "throws"];
}

const HEAD = [
  "verify at L2",
  "`trustGate`",
  "`trustRankApproval`",
  "`mutualHandshakeApproval`",
  "`withTrustRank`",
];

function formatTable(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [head, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.toSpliced(1, 0, `|${"---|".repeat(head.length)}`).join("\n");
}

async function buildPage(): Promise<string> {
  const parts: string[] = [];
  for (const stakes of [undefined, 250]) {
    const rows: string[][] = [];
    for (const agent of AGENTS) {
      const { failed, outcomes } = records.get(agent) ?? { failed: 0, outcomes: 0 };
      const record = outcomes === 0 ? "fixed" : `${failed} of ${outcomes}`;
      rows.push([`\`${agent}\``, record, ...(await buildCells(agent, stakes))]);
    }
    const title = stakes === undefined ? "Without stakes" : `At stakes of ${stakes}`;
    parts.push(`## ${title}\n\n${formatTable(["agent", "failed", ...HEAD], rows)}\n`);
  }
  return parts.join("\n");
}

it("docs/reference/gates.md shows what each does with every agent", async () => {
  const made = await buildPage();
  const page = readFileSync(PAGE, "utf8");
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  const written = `${page.slice(0, begin)}\n${made}`;
  if (process.env["TRUSTRANK_UPDATE_GOLDENS"] === "1") writeFileSync(PAGE, written);
  expect(readFileSync(PAGE, "utf8")).toBe(written);
});
