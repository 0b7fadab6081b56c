// The context of a verdict across deferred requests: whatever finishes while a text is assessed, every response
// is the one that the same request gets on its own.
import * as fc from "fast-check";
import { expect, it } from "vitest";

import type { CallContext } from "../../../src/bureau/bureau.ts";
import type { ProvenanceFinding } from "../../../src/bureau/decisions/provenance.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import type { FindingCode } from "../../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import type { PolicySource } from "../../../src/policy/active-policy.ts";
import { openBureau } from "../../../src/bureau/open.ts";
import { closedLedger, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const AGENTS = ["agent://globex/price-scout", "agent://acme/ledger-sync", "agent://nobody/new"];
const FAILURES = ["", "HASH_MISMATCH", "UNSUPPORTED_CONTENT"] as const;
// A thin record would be flagged once a day, by whichever request comes first.
const { L2 } = DEFAULT_POLICY.levels;
const lenient = { ...L2, thin: "allow" as const };
const strict = { ...lenient, minimum_score: 640 };
const activeByTenant = new Map(
  Object.entries({ acme: lenient, globex: strict }).map(([tenant, level]) => [
    tenant,
    createActivePolicy({
      ...DEFAULT_POLICY,
      levels: { L0: level, L1: level, L2: level, L3: level },
    }),
  ]),
);
const policies: PolicySource = {
  findActivePolicy: (tenant) => activeByTenant.get(tenant)!,
  findPolicyVersion: () => undefined,
};

function createFinding(code: FindingCode | ""): ProvenanceFinding {
  const data = { is_hallucinated: code !== "", source_verified: code === "", reason: code };
  return { data, reasonCode: code, hardFailureCode: code };
}

const requests = fc.array(
  fc.record({
    tenant: fc.constantFrom("acme", "globex"),
    agent: fc.constantFrom(...AGENTS),
    level: fc.constantFrom(...TOOL_LEVELS),
    stakes: fc.constantFrom(0, 5, 5000),
    levels: fc.boolean(),
    failure: fc.constantFrom(...FAILURES),
    isDeferred: fc.boolean(),
  }),
  { minLength: 2, maxLength: 6 },
);

const { engine } = openSampleBureau();

it("answers deferred and immediate requests of two tenants as each on its own", async () => {
  await fc.assert(
    fc.asyncProperty(requests, fc.infiniteStream(fc.nat()), async (asked, order) => {
      let finding: ProvenanceFinding | Promise<ProvenanceFinding> = createFinding("");
      const logged: { request: string; tenant: string; policy: string }[] = [];
      const open = () =>
        openBureau({
          engine,
          ledger: closedLedger,
          clock: () => NEWEST_MS,
          environment: {
            delay: () => Promise.resolve(),
            outcomeIds: { next: () => "" },
            isReservedEnabled: true,
          },
          policies,
          provenance: { assess: () => finding },
          decisions: {
            admit: () => true,
            record: ({ requestId, principal: { tenant }, policyVersion }) =>
              void logged.push({ request: requestId, tenant, policy: policyVersion }),
          },
        });
      const verify = (bureau: ReturnType<typeof open>, index: number) => {
        const { tenant, agent, level, stakes, levels } = asked[index]!;
        const request: VerifyRequest = {
          agent_id: agent,
          action: "order.place",
          tool_level: level,
          context: {},
          stakes,
          levels,
        };
        const call: CallContext = {
          requestId: `request-${index}`,
          principal: { ...principal, tenant },
        };
        return bureau.verify(request, call);
      };

      const alone = asked.map(({ failure }, index) => {
        finding = createFinding(failure);
        return verify(open(), index) as VerifyResponse;
      });
      logged.length = 0;
      const bureau = open();
      const finish: (() => void)[] = [];
      const together = asked.map(({ failure, isDeferred }, index) => {
        const found = createFinding(failure);
        finding = isDeferred ? new Promise((resolve) => finish.push(() => resolve(found))) : found;
        return verify(bureau, index);
      });
      while (finish.length > 0) {
        const [next] = finish.splice(order.next().value % finish.length, 1);
        next!();
        await Promise.resolve();
      }
      expect(await Promise.all(together.map((each) => Promise.resolve(each)))).toEqual(alone);
      for (const { request, tenant, policy } of logged) {
        const { tenant: asking } = asked[Number(request.slice("request-".length))]!;
        expect([tenant, policy]).toEqual([asking, activeByTenant.get(asking)!.version]);
      }
    }),
    { numRuns: 60 },
  );
});
