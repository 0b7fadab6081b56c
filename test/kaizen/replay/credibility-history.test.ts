// The journal as a graph of reports: what each report may carry, who signs, what is left out.
import { afterAll, expect, test } from "vitest";
import { STANDING_BITS } from "../../../src/contract/standings.ts";
import { readStandingHistory } from "../../../src/kaizen/replay/credibility-history.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../../src/journal/standings.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { openStage, outcomesOf } from "../_service.ts";

const CONFIG = loadDefaultConfig();
const COUNTERPARTY = 3;
const SELF = 4;
const [template] = outcomesOf(1, 1) as [OutcomeRecord];
const open: { close(): Promise<void> }[] = [];

afterAll(() => Promise.all(open.map((each) => each.close())));

const reporter = (name: string) => `agent://voice/${name}`;

function outcome(n: number, by: string, changes: Partial<OutcomeRecord> = {}): OutcomeRecord {
  const outcomeId = `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
  return { ...template, outcomeId, reporter: reporter(by), signature: "none", ...changes };
}

function signedBy(kid: string, n: number, by: string): OutcomeRecord {
  const jti = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const signature = Buffer.alloc(64);
  const proof = { kind: "own" as const, kid, jti, protectedText: "e30", signature };
  return outcome(n, by, { signature: "reporter", proof });
}

test("a report carries what the fold gives it, a name with a key only what it signs", async () => {
  const { dataDir, ledger } = await openStage();
  open.push(ledger);
  const kid = (byte: number) => Buffer.alloc(32, byte).toString("base64url");
  const event = (fields: object) => ledger.appendKeyEvent(Buffer.from(JSON.stringify(fields)));
  const register = (by: string, tenant: string, byte: number) =>
    event({ event: "registered", agent: reporter(by), tenant, kid: kid(byte) });
  await register("signs", "acme", 1);
  await register("lapsed", "acme", 2);
  await register("stolen", "globex", 3);
  await ledger.appendBatch([
    outcome(0, "plain"),
    outcome(1, "plain", { signature: "bureau", gradeIndex: 0 }),
    outcome(2, "plain", { gradeIndex: SELF }),
    outcome(3, "plain", { isAgentFault: false }),
    outcome(4, "signs"),
    // Nobody vouches for its owner: what its word is worth is for the batch to say.
    { ...signedBy(kid(1), 5, "signs"), signerVoice: 77 },
    outcome(6, "lapsed"),
    signedBy(kid(3), 7, "stolen"),
  ]);
  await event({ event: "revoked", kid: kid(2), at_ms: 1, compromised_since_ms: null });
  await event({ event: "revoked", kid: kid(3), at_ms: 1, compromised_since_ms: 0 });
  const agents = [
    { agent: reporter("plain"), flags: STANDING_BITS.believed, credibility: 0.5, cluster: 2 },
  ];
  const batch = { isInForce: true, stakesHigh: 25, agents, computedFrom: ledger.position() };
  for (const part of encodeStandings(batch, RULES_BEFORE_STANDINGS))
    await ledger.appendStandings(part);

  const { journal } = resolveDataPaths(dataDir);
  const history = readStandingHistory(journal, ledger.position(), CONFIG);
  const { edges } = history;
  const told = Array.from({ length: edges.count }, (_, i) => [
    history.ids[edges.reporters[i]!],
    Math.round(edges.weights[i]! * 1000) / 1000,
  ]);
  const unsigned = CONFIG.signature_weights[0]!;
  expect(told).toEqual([
    [reporter("plain"), CONFIG.grade_weights[COUNTERPARTY]! * unsigned],
    [reporter("plain"), 1],
    // Nobody vouches for itself, whatever it writes; and a tool's failure says nothing.
    [reporter("plain"), 0],
    [reporter("signs"), 0],
    [reporter("signs"), CONFIG.grade_weights[COUNTERPARTY]],
    // Without a key in force the name counts again as any other.
    [reporter("lapsed"), CONFIG.grade_weights[COUNTERPARTY]! * unsigned],
  ]);
  expect([...history.keyHolders]).toEqual([[reporter("signs"), "acme"]]);
  expect([...history.written.values()]).toEqual(agents);
  expect([history.isInForce, history.stakesHigh]).toEqual([true, 25]);
});
