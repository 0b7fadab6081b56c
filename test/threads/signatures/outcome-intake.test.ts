// Batches over real HTTP, read on the pool: items that are signed each for itself, and the proof
// that the pool says what recording row by row says.
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { FRAME_KINDS, readFrameKind } from "../../../src/journal/format.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { EvidenceVerifier } from "../../../src/journal/verify-signatures.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { decodeOutcome } from "../../../src/journal/outcome.ts";
import { JournalReader } from "../../../src/journal/reader.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  jtiAt,
  newPair,
  NOW_MS,
  openService,
  outcome,
  type Pair,
  type SigningService,
} from "../../http/_signing.ts";

afterEach(closeServices);

const LINES = "application/x-ndjson";
const ROUTE = "/v1/outcomes/batch";

async function item(pair: Pair, body: string, changes: Record<string, unknown> = {}) {
  return { body, signature: await joseSignature(pair, body, changes) };
}

interface Answer {
  status: number;
  result?: Record<string, unknown>;
  problem?: { code: string };
}

async function send(service: SigningService, rows: readonly unknown[]): Promise<Answer[]> {
  return (await service.post(ROUTE, JSON.stringify(rows))).json.items as Answer[];
}

function codesOf(items: readonly Answer[]): (string | number)[] {
  return items.map(({ status, problem }) => problem?.code ?? status);
}

/** Everything recorded, without what differs from run to run. */
function recordsOf(service: SigningService): unknown[] {
  const reader = new JournalReader(diskFileLayer, resolveDataPaths(service.dataDir).journal);
  const records: unknown[] = [];
  reader.readRecords(0, service.ledger.position(), 100_000, (bytes, at, lsn) => {
    const kind = readFrameKind(bytes, at);
    if (kind !== FRAME_KINDS.outcome) records.push({ lsn, kind });
    else records.push({ ...decodeOutcome(bytes, at), lsn, outcomeId: "" });
  });
  reader.close();
  return records;
}

function verifySignatures(service: SigningService): EvidenceVerifier {
  const verifier = new EvidenceVerifier();
  const reader = new JournalReader(diskFileLayer, resolveDataPaths(service.dataDir).journal);
  reader.readRecords(0, service.ledger.position(), 1000, (bytes, at, lsn) =>
    verifier.checkRecord(bytes, at, lsn),
  );
  reader.close();
  return verifier;
}

describe("items signed each for itself", () => {
  it("are taken as an array or as lines, counted once, and hold when checked again", async () => {
    const service = await openService();
    const [pair, other] = [newPair(), newPair()];
    await service.register(pair);
    await service.register(other, "agent://shop/other");
    const rows = [
      await item(pair, outcome({ stakes: 1 })),
      // The exact text is what is signed: spaces, order and escapes are the signer's.
      await item(pair, outcome({ stakes: 2 }).replace(",", ' ,\n "note":"\\u00fc",')),
      await item(other, outcome({ reporter: "agent://shop/other", id: "o-1" })),
      JSON.parse(outcome({ stakes: 4, reporter: "agent://shop/keyless" })),
    ];
    const first = await send(service, rows);
    expect(codesOf(first)).toEqual([201, 201, 201, 201]);
    expect(first.map(({ result }) => result?.["signature"])).toEqual([
      "reporter",
      "reporter",
      "reporter",
      "none",
    ]);
    const lines = rows.map((row) => JSON.stringify(row)).join("\r\n");
    const again = (await service.post(ROUTE, lines, undefined, LINES)).json.items as Answer[];
    expect(codesOf(again)).toEqual([200, 200, 200, 201]);
    expect(again[1]!.result?.["outcome_id"]).toBe(first[1]!.result?.["outcome_id"]);
    // Alone or in a batch, it is the same signed outcome.
    const { body, signature } = rows[0] as { body: string; signature: string };
    const alone = await service.post("/v1/outcomes", body, signature);
    expect(alone).toMatchObject({ status: 200, json: { duplicate: true } });

    expect(verifySignatures(service)).toMatchObject({ validSignatureCount: 3, invalidLsns: [] });
  });

  it("say which grade they claimed without proof, and the signature holds over the claim", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const scopes = ["outcomes:write"];
    const made = await service.call("POST", "/v1/keys", { tenant: "acme", scopes });
    const graded = ["escrow", "counterparty", "self"].map((grade) =>
      item(pair, outcome({ grade })),
    );
    const { json } = await service.call("POST", ROUTE, await Promise.all(graded), made.json.key);
    expect((json.items as Answer[]).map(({ result }) => result?.["claimed_grade"])).toEqual([
      "escrow",
      undefined,
      undefined,
    ]);
    expect(recordsOf(service).slice(-3)).toMatchObject([
      { gradeIndex: 3, claimedGradeIndex: 1 },
      { gradeIndex: 3 },
      { gradeIndex: 4 },
    ]);
    expect(verifySignatures(service)).toMatchObject({ validSignatureCount: 3, invalidLsns: [] });
  });

  it("are refused with the codes of an outcome that comes alone", async () => {
    const service = await openService();
    const [pair, other, unknown] = [newPair(), newPair(), newPair()];
    await service.register(pair, AGENT, { not_before: NOW_MS - 30 * 86_400_000 });
    await service.register(other, "agent://shop/other");
    const jti = jtiAt(NOW_MS);
    const cases: [string | number, unknown][] = [
      ["signature_key_unknown", await item(unknown, outcome())],
      ["signature_key_mismatch", await item(other, outcome())],
      ["signature_audience", await item(pair, outcome(), { aud: "trustrank:other" })],
      ["signature_invalid", { ...(await item(pair, outcome())), body: outcome({ outcome: 0 }) }],
      ["signature_stale", await item(pair, outcome(), { iat: NOW_MS / 1000 + 120 })],
      ["signature_malformed", { body: outcome(), signature: "a..b" }],
      ["self_report", await item(pair, outcome({ subject: AGENT }))],
      ["malformed_body", await item(pair, '{"subject":')],
      ["invalid_request", await item(pair, outcome({ grade: "?" }))],
      ["invalid_request", { body: outcome(), signature: 7 }],
      ["invalid_request", { body: outcome({ pad: "x".repeat(5000) }), signature: "a..b" }],
      [201, await item(pair, outcome({ stakes: 3 }), { jti })],
      ["signature_replayed", await item(pair, outcome({ stakes: 4 }), { jti })],
    ];
    const items = await send(
      service,
      cases.map(([, row]) => row),
    );
    expect(codesOf(items)).toEqual(cases.map(([code]) => code));

    const keys = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;
    await service.call("POST", `${keys}/revoke`, { kid: pair.kid });
    const late = await send(service, [await item(pair, outcome())]);
    expect(codesOf(late)).toEqual(["signature_key_revoked"]);
  });

  it("satisfy a service that requires signatures; a signed batch holds none", async () => {
    const service = await openService({ isSignatureRequired: true });
    const pair = newPair();
    await service.register(pair);
    const signed = await item(pair, outcome());
    const mixed = await send(service, [signed, JSON.parse(outcome())]);
    expect(codesOf(mixed)).toEqual([201, "signature_required"]);
    const plain = await service.post(ROUTE, `[${outcome()}]`);
    expect(plain).toMatchObject({ status: 403, json: { code: "signature_required" } });
    const text = JSON.stringify([JSON.parse(outcome({ stakes: 8 })), signed]);
    const whole = await service.post(ROUTE, text, await joseSignature(pair, text));
    expect(codesOf(whole.json.items)).toEqual([201, "invalid_request"]);
  });

  it("hundreds of them are each answered for itself", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const rows = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const made = await item(pair, outcome({ stakes: index }));
        return index % 7 === 0 ? { ...made, body: outcome({ stakes: index + 1 }) } : made;
      }),
    );
    const expected = rows.map((_, index) => (index % 7 === 0 ? "signature_invalid" : 201));
    expect(codesOf(await send(service, rows))).toEqual(expected);
  });
});

describe("the pool", () => {
  it("records and answers what the bureau does row by row", async () => {
    const pooled = await openService();
    const rowByRow = await openService({ isRowByRow: true });
    const pair = newPair();
    for (const service of [pooled, rowByRow]) await service.register(pair);
    const row = fc.oneof(
      fc.record(
        {
          subject: fc.constantFrom("agent://market/a", "agent://market/b", AGENT, "nobody"),
          reporter: fc.constantFrom(AGENT, AGENT, AGENT, "agent://shop/other"),
          outcome: fc.constantFrom(0, 1, 1, 2),
          stakes: fc.constantFrom(0, 1.5, 1e3, -1),
          grade: fc.constantFrom("self", "counterparty"),
          id: fc.constantFrom("i-1", "i-2", "i-3", "not an id"),
          settled_at: fc.constantFrom(NOW_MS, NOW_MS - 8 * 86_400_000, "2026-03-01T11:00:00Z"),
          agent_fault: fc.boolean(),
          note: fc.constant("ü"),
        },
        { requiredKeys: ["subject", "reporter", "outcome", "stakes", "grade"] },
      ),
      fc.constant(7),
    );
    const batch = fc.record({
      rows: fc.array(row, { minLength: 1, maxLength: 12 }),
      isLines: fc.boolean(),
      isSigned: fc.boolean(),
      // Every third signs under an id that was used before, now and then for the same bytes.
      jti: fc.constantFrom(undefined, undefined, jtiAt(NOW_MS)),
      times: fc.constantFrom(1, 2),
    });
    await fc.assert(
      fc.asyncProperty(batch, async ({ rows, isLines, isSigned, jti, times }) => {
        const text = isLines
          ? rows.map((each) => JSON.stringify(each)).join("\n")
          : JSON.stringify(rows);
        const changes = jti === undefined ? {} : { jti };
        const signature = isSigned ? await joseSignature(pair, text, changes) : undefined;
        for (let time = 0; time < times; time++) {
          const type = isLines ? LINES : undefined;
          const [here, there] = await Promise.all(
            [pooled, rowByRow].map((service) => service.post(ROUTE, text, signature, type)),
          );
          expect(comparable(here!.json)).toEqual(comparable(there!.json));
        }
      }),
      { numRuns: 60 },
    );
    expect(recordsOf(pooled)).toEqual(recordsOf(rowByRow));
    expect(pooled.digest()).toBe(rowByRow.digest());
  });
});

/** An answer without the ids that are drawn anew. */
function comparable(answer: { items?: Answer[] }): unknown {
  const text = JSON.stringify(answer, (name, value: unknown) =>
    name === "outcome_id" || name === "request_id" ? "" : value,
  );
  return JSON.parse(text) as unknown;
}
