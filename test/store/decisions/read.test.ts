// The decision log read back: filters, keyset paging and counts, over a real store, against the slow
// and obvious answer made from all entries.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as fs from "node:fs";
import {
  type DecisionEntry,
  type DecisionFilter,
  type DecisionListCursor,
  type DecisionFacet,
  DECISION_FACETS,
  DISPOSITIONS,
} from "../../../src/contract/decisions.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../../src/contract/vocabulary.ts";
import { type OpenStore, startStore } from "../../../src/store/client.ts";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { entryOf, legOf, NOW_MS, principalOf } from "../_decisions.ts";

const ENTRIES = 120;
const TENANTS = ["acme", "globex", "initech"] as const;
const REASONS = ["THIN_FILE", "RISK_ABOVE_BOUND", "BELOW_TENANT_MINIMUM"] as const;
const dataDir = fs.mkdtempSync("/tmp/trustrank-decisions-read-");
const logged: string[] = [];
let store: OpenStore;
let all: ReplayableLeg[];

/** Entries of a few milliseconds, so that a page often ends within one. */
function record(log: DecisionRingWriter): void {
  for (let n = 0; n < ENTRIES; n += 1) log.record(createEntry(n));
}

function createEntry(n: number): DecisionEntry {
  const isConnection = n % 5 === 4;
  return {
    ...entryOf(n, n % 3 === 0),
    principal: principalOf(TENANTS[n % 7 === 0 ? 1 : n % 11 === 0 ? 2 : 0]),
    subject: `agent://shop/n${n % 4}`,
    viewer: isConnection ? "agent://shop/viewer" : "",
    kindIndex: isConnection ? 2 : n % 2,
    legIndex: isConnection ? (n >> 1) & 1 : 0,
    toolLevelIndex: n % 2 === 0 && !isConnection ? n % 4 : 255,
    verdictIndex: n % 2 === 0 && !isConnection ? (n >> 1) % 4 : 255,
    decisionIndex: (n + (n >> 3)) % 4,
    isEnforced: n % 6 !== 0,
    isFlagged: n % 8 === 0,
    logReason: n % 2 === 0 ? REASONS[n % 3]! : "",
    reasonCodes: n % 4 === 0 ? ["THIN_FILE", "BASE_RATE"] : n % 4 === 1 ? ["BASE_RATE"] : [],
    configVersion: n < 60 ? "c-0000000000000001" : "c-0000000000000002",
    failureCode: n % 16 === 2 ? "SOURCE_REVOKED" : "",
    evaluatedAtMs: NOW_MS + (n >> 3) * 60_000,
  };
}

beforeAll(async () => {
  const ring = createDecisionRing();
  store = await startStore({
    log: (event, detail) => logged.push(`${event}: ${detail}`),
    dataDir,
    isStandalone: true,
    rings: [ring],
    decisionsKeptDays: 365_000,
  });
  record(new DecisionRingWriter(ring, { waitMs: 0 }));
  all = await store.listDecisions({ tenant: undefined, limit: 1000 });
});
afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

/** What an entry is counted under, from the words that it is read back with. */
function valuesOf(leg: ReplayableLeg, facet: DecisionFacet): string[] {
  const reasons = [...new Set([...leg.reason_codes, leg.log_reason ?? ""])];
  const values: Record<DecisionFacet, (string | null)[]> = {
    verdict: [leg.verdict],
    decision: [leg.decision],
    effective: [leg.effective],
    disposition: [leg.disposition],
    reason: reasons.filter((reason) => reason !== ""),
    kind: [leg.kind],
    level: [leg.tool_level],
    flagged: [String(leg.flagged)],
    shadow: [String(!leg.enforced)],
    config: [leg.config_version],
    tenant: [leg.tenant],
  };
  return values[facet].filter((value) => value !== null);
}

function choiceOf(filter: DecisionFilter, facet: DecisionFacet): string | undefined {
  if (facet === "flagged") return filter.isFlagged?.toString();
  if (facet === "shadow") return filter.isShadow?.toString();
  return facet === "tenant" ? filter.ofTenant : filter[facet];
}

function isInScope(leg: ReplayableLeg, filter: DecisionFilter): boolean {
  const timeMs = Date.parse(leg.evaluated_at);
  return (
    (filter.tenant === undefined || leg.tenant === filter.tenant) &&
    (filter.agent === undefined || [leg.subject, leg.viewer].includes(filter.agent)) &&
    (filter.subject === undefined || leg.subject === filter.subject) &&
    timeMs >= (filter.sinceMs ?? 0) &&
    timeMs < (filter.before?.evaluatedMs ?? Number.POSITIVE_INFINITY)
  );
}

function isChosen(leg: ReplayableLeg, filter: DecisionFilter, without?: DecisionFacet): boolean {
  return DECISION_FACETS.every((facet) => {
    const choice = facet === without ? undefined : choiceOf(filter, facet);
    return choice === undefined || valuesOf(leg, facet).includes(choice);
  });
}

const maybe = <T>(values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
const times = maybe([NOW_MS, NOW_MS + 240_000, NOW_MS + 600_000]);
const filters = fc
  .record({
    tenant: maybe(TENANTS),
    ofTenant: maybe(TENANTS),
    agent: maybe(["agent://shop/n1", "agent://shop/viewer", "agent://shop/nobody"]),
    subject: maybe(["agent://shop/n2"]),
    verdict: maybe(VERDICTS),
    decision: maybe(DECISIONS),
    effective: maybe(["allow", "deny"] as const),
    disposition: maybe(DISPOSITIONS),
    kind: maybe(["verify", "check", "handshake"] as const),
    level: maybe(TOOL_LEVELS),
    reason: maybe([...REASONS, "BASE_RATE", "' OR true --"]),
    config: maybe(["c-0000000000000001", "c-0000000000000009"]),
    isFlagged: maybe([true, false]),
    isShadow: maybe([true, false]),
    sinceMs: times,
    before: fc.option(
      times.map((at) => ({ evaluatedMs: at ?? NOW_MS })),
      { nil: undefined },
    ),
  })
  .map((given): DecisionFilter => {
    // Most choices left out: else nearly every filter would choose nothing.
    const names = Object.keys(given) as (keyof typeof given)[];
    const kept = names.filter(
      (name, i) => name === "tenant" || given[name] === undefined || i % 3 === 0,
    );
    const chosen = Object.fromEntries(kept.map((name) => [name, given[name]]));
    return { ...chosen, tenant: given.tenant, limit: 1000 };
  });

const idOf = (leg: ReplayableLeg) => `${leg.request_id}/${leg.leg}`;

describe("decisions under a filter", () => {
  it("say what each asks of its caller, in every combination of verdict and decision", () => {
    const wanted = new Map(
      Array.from({ length: ENTRIES }, (_, n) => {
        const { request_id: id, disposition } = legOf(createEntry(n));
        return [id, disposition] as const;
      }),
    );
    expect(new Set(wanted.values())).toEqual(new Set(DISPOSITIONS));
    for (const leg of all) expect(leg.disposition, leg.request_id).toBe(wanted.get(leg.request_id));
    const seen = new Set(all.map(({ verdict, decision }) => `${verdict} ${decision}`));
    expect(seen.size).toBe((VERDICTS.length + 1) * DECISIONS.length);
  });

  it("are those that the filter chooses, in order", async () => {
    expect(all).toHaveLength(ENTRIES);
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const wanted = all.filter((leg) => isInScope(leg, filter) && isChosen(leg, filter));
        expect((await store.listDecisions(filter)).map(idOf)).toEqual(wanted.map(idOf));
      }),
      { numRuns: 60 },
    );
  });

  it("come whole in pages of any size, none twice, even within a millisecond", async () => {
    for (const limit of [1, 3, 7, 8, 50]) {
      const seen: string[] = [];
      let before: DecisionListCursor | undefined;
      for (;;) {
        const filter: DecisionFilter = { tenant: undefined, effective: "deny", limit };
        const page = await store.listDecisions(
          before === undefined ? filter : { ...filter, before },
        );
        seen.push(...page.map(idOf));
        const last = page.at(-1);
        if (last === undefined || page.length < limit) break;
        const { evaluated_at, request_id: requestId, leg } = last;
        before = { evaluatedMs: Date.parse(evaluated_at), requestId, leg };
      }
      expect(seen).toEqual(all.filter(({ effective }) => effective === "deny").map(idOf));
    }
  });

  it("keep their place while newer ones come in", async () => {
    const [, , third] = all;
    const place = { evaluatedMs: Date.parse(third!.evaluated_at), requestId: third!.request_id };
    const next = await store.listDecisions({
      tenant: undefined,
      limit: 4,
      before: { ...place, leg: third!.leg },
    });
    expect(next.map(idOf)).toEqual(all.slice(3, 7).map(idOf));
  });
});

describe("counts", () => {
  it("say of each facet what all other filters leave, and the steps add up", async () => {
    await fc.assert(
      fc.asyncProperty(filters, async (filter) => {
        const counts = await store.countDecisions(filter);
        const looked = all.filter((leg) => isInScope(leg, filter));
        const chosen = looked.filter((leg) => isChosen(leg, filter));
        expect(counts).toMatchObject({
          entries: chosen.length,
          lookedAt: looked.length,
          isComplete: true,
          decisions: chosen.reduce((sum, leg) => sum + leg.stands_for, 0),
        });
        for (const facet of DECISION_FACETS) {
          const wanted = new Map<string, number>();
          for (const leg of looked.filter((each) => isChosen(each, filter, facet))) {
            for (const value of valuesOf(leg, facet))
              wanted.set(value, (wanted.get(value) ?? 0) + 1);
          }
          const found = counts.facets[facet].map(({ value, entries }) => [value, entries] as const);
          expect(new Map(found)).toEqual(wanted);
          const figures = found.map(([, entries]) => entries);
          expect(figures).toEqual(figures.toSorted((a, b) => b - a));
        }
        const sum = (name: "allow" | "deny") => counts.times.reduce((n, step) => n + step[name], 0);
        expect([sum("allow"), sum("deny")]).toEqual(
          ["allow", "deny"].map((each) => chosen.filter((leg) => leg.effective === each).length),
        );
        for (const disposition of DISPOSITIONS) {
          const each = counts.times.reduce((n, step) => n + step.dispositions[disposition], 0);
          expect(each).toBe(chosen.filter((leg) => leg.disposition === disposition).length);
        }
        expect(counts.times.length).toBeLessThanOrEqual(60);
      }),
      { numRuns: 40 },
    );
  });

  it("of nothing are zero", async () => {
    const counts = await store.countDecisions({ tenant: "nobody", limit: 0 });
    expect(counts).toMatchObject({ entries: 0, lookedAt: 0, decisions: 0, times: [] });
    expect(counts.oldestMs).toBeUndefined();
  });
});

it("made the store complain of nothing", () => {
  expect(logged).toEqual([]);
});
