// The relations between limits, and the order that the value sets are algebra by (SPEC §2.5 rule
// 1).
import { expect, it } from "vitest";
import { faultKind, FAULTS, type FaultCode } from "../../src/contract/faults.ts";
import * as limits from "../../src/contract/limits.ts";
import * as words from "../../src/contract/vocabulary.ts";

it("keeps limits in their relations", () => {
  expect(limits.OUTCOME_BODY_BYTES_MAX).toBeLessThan(limits.BODY_BYTES_MAX);
  expect(limits.BODY_BYTES_MAX).toBeLessThan(limits.BATCH_BODY_BYTES_MAX);
  // Seven digits of Content-Length must hold the largest body.
  expect(limits.BATCH_BODY_BYTES_MAX).toBeLessThan(10_000_000);
  // A full outcome (two identifiers, an action, ids) fits its body.
  const outcomeBytes = 2 * limits.AGENT_ID_BYTES_MAX + limits.ACTION_LENGTH_MAX;
  expect(outcomeBytes + 1024).toBeLessThan(limits.OUTCOME_BODY_BYTES_MAX);
  // Every citation at full length fits the body of one verify.
  const citations = limits.CITED_SOURCES_MAX * limits.SOURCE_ID_LENGTH_MAX;
  expect(citations).toBeLessThan(limits.BODY_BYTES_MAX);
  expect(limits.AGENT_SEGMENT_LENGTH_MAX * 2 + 9).toBeLessThan(limits.AGENT_ID_BYTES_MAX);
  expect(limits.VERDICT_TTL_MS).toBe(300_000);
});

it("orders value sets from least to most restrictive", () => {
  expect(words.DECISIONS).toEqual(["connect", "connect_with_verification", "escalate", "refuse"]);
  expect(words.VERDICTS).toEqual(["ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK"]);
  expect(words.RISK_LEVELS).toEqual(["LOW", "MEDIUM", "HIGH", "CRITICAL"]);
  expect(words.TOOL_LEVELS).toEqual(["L0", "L1", "L2", "L3"]);
});

it("gives every fault an error status and retry advice where trying again can help", () => {
  for (const code of Object.keys(FAULTS) as FaultCode[]) {
    const kind: { status: number; retryAfterSec?: number } = faultKind(code);
    expect(kind.status).toBeGreaterThanOrEqual(400);
    const isTransient = [429, 503, 504].includes(kind.status);
    expect(kind.retryAfterSec !== undefined, code).toBe(isTransient);
  }
});
