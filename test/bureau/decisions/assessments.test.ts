// Verdicts that leave an assessment: a certain finding, on a text that was sent, asked for by a key
// that the operator vouches for. Nothing else does.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";

import type { Assessment } from "../../../src/contract/assessments.ts";
import type { VerifyContext } from "../../../src/contract/schemas/scores.ts";
import type { FindingCode } from "../../../src/contract/vocabulary.ts";
import type { ProvenanceFinding } from "../../../src/bureau/decisions/provenance.ts";
import { call, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const CONTENT = "Revenue was 9.7 million.";
const AGENT = "agent://acme/ledger-sync";

let given: ProvenanceFinding | Promise<ProvenanceFinding>;
const noted: Assessment[] = [];
const { bureau } = openSampleBureau({
  provenance: { assess: () => given },
  assessments: { enqueue: (assessment) => void noted.push(assessment) },
});

function findingOf(
  isHallucinated: boolean,
  hard: FindingCode | "",
  soft: FindingCode | "" = "",
): ProvenanceFinding {
  const data = { is_hallucinated: isHallucinated, source_verified: false, reason: "" };
  return { data, reasonCode: hard || soft, hardFailureCode: hard, softFailureCode: soft };
}

interface Asked {
  agent?: string;
  context?: VerifyContext;
  isFirstParty?: boolean;
}

async function ask(finding: typeof given, asked: Asked = {}): Promise<Assessment[]> {
  const { agent = AGENT, context = { content: CONTENT }, isFirstParty = true } = asked;
  given = finding;
  const request = { agent_id: agent, action: "a.b", tool_level: "L2" as const, context };
  await bureau.verify(request, { ...call, principal: { ...principal, isFirstParty } });
  return noted.splice(0);
}

describe("an assessment", () => {
  it.each([
    ["a hard failure of the content", true, "HASH_MISMATCH", "", 0],
    ["a contradiction, which is no hard failure", true, "", "UNSUPPORTED_CONTENT", 0],
    ["a hard failure of its sources", false, "SOURCE_MALFORMED", "", 1],
  ] as const)(
    "is left by %s, without the text",
    async (_name, isHallucinated, hard, soft, kindIndex) => {
      expect(await ask(findingOf(isHallucinated, hard, soft))).toEqual([
        {
          agent: AGENT,
          tenant: "acme",
          keyId: "key-1",
          code: hard || soft,
          kindIndex,
          digest: createHash("sha256").update(CONTENT).digest("hex"),
          assessedAtMs: NEWEST_MS,
        },
      ]);
    },
  );

  it("is left by a finding that another thread made", async () => {
    expect(await ask(Promise.resolve(findingOf(true, "CITATION_MISMATCH")))).toHaveLength(1);
  });

  it.each([
    ["a doubt", findingOf(false, "", "UNSUPPORTED_CONTENT"), {}],
    ["an open question", { ...findingOf(false, ""), reasonCode: "SOURCE_UNKNOWN" }, {}],
    ["a clean text", findingOf(false, ""), {}],
    ["a digest alone", findingOf(true, "CONTENT_RECORDED_FALSE"), { context: {} }],
    ["a key that nobody vouches for", findingOf(true, "HASH_MISMATCH"), { isFirstParty: false }],
    ["a test agent", findingOf(true, "HASH_MISMATCH"), { agent: "agent://test/hallucinated" }],
  ] as const)("is not left by %s", async (_name, finding, asked) => {
    expect(await ask(finding, asked)).toEqual([]);
  });
});
