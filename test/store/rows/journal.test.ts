// Store rows of journal records other than outcomes: sources, keys, configs, contradictions, signed
// batches. Live, through ledger and store threads.
import { expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { formatCanonicalJson } from "../../../src/contract/canonical-json.ts";
import { computeConfigDigest, formatConfigVersion } from "../../../src/engine/config.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import { startStore } from "../../../src/store/client.ts";
import { encodeSourceEvent, type SourceEvent } from "../../../src/vault/sources/events.ts";
import { NOW_MS, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { LIMITS } from "../_fixtures.ts";

const SOURCE: SourceEvent = {
  source_id: "doc:1",
  sha256: "ab".repeat(32),
  size: 12,
  kind: "document",
  title: "",
  tenant: "acme",
  visibility: "tenant",
  state: "active",
  registered_at: NOW_MS,
  registrar: "key-acme",
};

test("records of other layers are rows of the views, and survive without the database", async () => {
  const dataDir = temporaryDirectory();
  const open = async () => {
    const store = await startStore({ dataDir });
    const ledger = await startLedger({
      dataDir,
      engineMemory: createEngineMemory(),
      storePort: store.ledgerPort,
      onFatal: (code) => {
        throw new Error(`fatal ${code}`);
      },
      clock: () => NOW_MS,
    });
    return { store, ledger };
  };
  const first = await open();
  const { ledger } = first;
  await ledger.appendSource(encodeSourceEvent({ ...SOURCE, text: "twelve bytes" }));
  await ledger.appendSource(encodeSourceEvent({ ...SOURCE, tenant: "other", title: "theirs" }));
  await ledger.appendSource(encodeSourceEvent({ ...SOURCE, state: "revoked" }));
  const key = { at_ms: NOW_MS, tenant: "acme", kid: "kid-1" };
  const agent = "agent://shop/buyer";
  const registered = { ...key, event: "registered", agent, x: "x", proof: "p" };
  const times = { not_before_ms: NOW_MS, expires_ms: null, others_retire_ms: NOW_MS };
  await ledger.appendKeyEvent(Buffer.from(JSON.stringify({ ...registered, ...times })));
  const revoked = { ...key, event: "revoked", compromised_since_ms: null };
  await ledger.appendKeyEvent(Buffer.from(JSON.stringify(revoked)));
  const config = loadDefaultConfig();
  await ledger.appendConfig(Buffer.from(formatCanonicalJson(config)));
  const replayed = { event: "signature.replayed", kid: "kid-1", jti: "j" };
  await ledger.appendAudit(Buffer.from(JSON.stringify(replayed)));
  // A later version may write what this one does not know: it is passed over, not stumbled over.
  await ledger.appendSource(Buffer.from("\u0002{not JSON"));
  const body = Buffer.from("[1]");
  const signer = { kid: Buffer.alloc(32, 7).toString("base64url"), protectedText: "e30" };
  const jti = "01890000-0000-7000-8000-000000000001";
  const evidence = { ...signer, jti, signature: new Uint8Array(64), recordedAtMs: NOW_MS, body };
  const evidenceId = await ledger.appendEvidence(evidence);
  const position = ledger.position();

  const check = async ({ store }: Awaited<ReturnType<typeof open>>) => {
    await store.waitUntilApplied(position);
    const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;
    expect(
      await rowsOf(
        "SELECT source_id, tenant, title, bytes, status, position FROM evidence_sources ORDER BY 2",
      ),
    ).toEqual([
      ["doc:1", "acme", null, 12, "revoked", 3],
      ["doc:1", "other", "theirs", 12, "active", 2],
    ]);
    expect(
      await rowsOf("SELECT position, event, tenant, agent, kid FROM audit_events ORDER BY 1"),
    ).toEqual([
      [4, "reporter_key.registered", "acme", agent, "kid-1"],
      [5, "reporter_key.revoked", "acme", agent, "kid-1"],
      [6, "config.promoted", null, null, null],
      [7, "signature.replayed", "acme", agent, "kid-1"],
    ]);
    expect(
      await rowsOf("SELECT detail->>'config_version' FROM audit_events WHERE position = 6"),
    ).toEqual([[formatConfigVersion(computeConfigDigest(config))]]);
    const jtiMs = Number.parseInt("018900000000", 16);
    const found = await store.findSigned({ kid: signer.kid, jti, jtiMs: NOW_MS });
    expect(found).toMatchObject({ batch: { evidenceId, position: 9, rows: new Map() } });
    // Another key, another time: nothing.
    expect(await store.findSigned({ kid: "kid-2", jti, jtiMs: NOW_MS })).toEqual({});
    expect(await store.findSigned({ kid: signer.kid, jti, jtiMs })).toEqual({});
  };
  await check(first);
  await first.ledger.close();
  await first.store.close();
  const second = await open();
  await check(second);
  await second.ledger.close();
  await second.store.close();
});
