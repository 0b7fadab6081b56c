// Names that are heard signed only: while a key of theirs verifies, an unsigned outcome under them is
// refused on every way in but the operator's import, whoever sends it. Real ledger, real server, the
// pool's reader and the row-by-row one.
import fc from "fast-check";
import { pack } from "msgpackr";
import { afterEach, describe, expect, it } from "vitest";
import type { KeyRevokedEvent, KeyRegisteredEvent } from "../../../src/contract/key-events.ts";
import { KeyRegistry } from "../../../src/bureau/reporters/key-registry.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  outcome,
  proofOf,
  SERVICE_ID,
  type SigningService,
} from "../../http/_signing.ts";

const DAY_MS = 86_400_000;
const KEYLESS = "agent://shop/keyless";
const LINES = "application/x-ndjson";
const REFUSED = {
  status: 403,
  code: "signature_required",
  errors: [{ pointer: "/reporter", code: "signature_required" }],
};

afterEach(closeServices);

/** Posts as the holder of `key`. */
async function post(
  service: SigningService,
  key: string,
  route: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const common = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const init = { method: "POST", headers: { ...common, ...headers }, body };
  const answer = await fetch(service.base + route, init);
  return { status: answer.status, json: (await answer.json()) as Record<string, any> };
}

const packed = (value: unknown) => new Uint8Array(pack(value));
const MSGPACK = { "content-type": "application/msgpack" };

describe.each([false, true])(
  "an unsigned outcome under a name with a key (row by row: %s)",
  (isRowByRow) => {
    it("is refused for every sender, alone and in a batch, and leaves no record", async () => {
      const service = await openService({ isRowByRow });
      await service.call("PUT", "/v1/namespaces/shop", { tenant: "acme" });
      const pair = newPair();
      await service.register(pair);
      const scopes = ["outcomes:write"] as const;
      const senders = [
        await service.keyring.create({ tenant: "acme", scopes }),
        await service.keyring.create({ tenant: "acme", scopes, isFirstParty: true }),
        await service.keyring.create({ tenant: "stranger", scopes }),
        await service.keyring.create({ tenant: "ops", scopes: ["admin"] }),
      ];
      const body = outcome();
      const free = outcome({ reporter: "agent://market/keyless" });
      const before = service.ledger.position();
      for (const { key } of senders) {
        const ways = [
          await post(service, key, "/v1/outcomes", body),
          await post(service, key, "/v1/outcomes", packed(JSON.parse(body)), MSGPACK),
          await post(service, key, "/v1/outcomes", body, { "idempotency-key": "k-1" }),
        ];
        for (const { status, json } of ways) expect({ ...json, status }).toMatchObject(REFUSED);
      }
      expect(service.ledger.position()).toBe(before);
      for (const { key } of senders) {
        const batches = [
          await post(service, key, "/v1/outcomes/batch", `[${free},${body}]`),
          await post(service, key, "/v1/outcomes/batch", `${free}\n${body}`, {
            "content-type": LINES,
          }),
          await post(
            service,
            key,
            "/v1/outcomes/batch",
            packed([free, body].map((row) => JSON.parse(row))),
            MSGPACK,
          ),
        ];
        for (const { json } of batches) {
          expect(json["items"].map(({ status }: { status: number }) => status)).toEqual([201, 403]);
          expect(json["items"][1].problem).toMatchObject(REFUSED);
        }
      }
    });

    it("does not ride along with signed ones, nor borrow another agent's signature", async () => {
      const service = await openService({ isRowByRow });
      const [pair, other] = [newPair(), newPair()];
      await service.register(pair);
      await service.register(other, "agent://shop/other");
      const body = outcome({ stakes: 2 });
      const forged = await service.post("/v1/outcomes", body, await joseSignature(other, body));
      expect(forged.json.code).toBe("signature_key_mismatch");
      const batch = `[${outcome({ reporter: "agent://shop/other" })},${outcome()}]`;
      const whole = await service.post(
        "/v1/outcomes/batch",
        batch,
        await joseSignature(other, batch),
      );
      const codes = whole.json.items.map(({ status, problem }: any) => problem?.code ?? status);
      expect(codes).toEqual([201, "signature_key_mismatch"]);
      if (isRowByRow) return;
      const items = JSON.stringify([
        { body, signature: await joseSignature(pair, body) },
        JSON.parse(outcome({ stakes: 3 })),
        JSON.parse(outcome({ stakes: 4, reporter: KEYLESS })),
      ]);
      const mixed = await service.post("/v1/outcomes/batch", items);
      const answers = mixed.json.items.map(
        ({ status, result, problem }: any) => problem?.code ?? [status, result.signature],
      );
      expect(answers).toEqual([[201, "reporter"], "signature_required", [201, "none"]]);
    });
  },
);

describe("a name with a key", () => {
  it("is heard signed, and unsigned in an import", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const body = outcome();
    const signature = await joseSignature(pair, body);
    const first = await service.post("/v1/outcomes", body, signature);
    expect(first).toMatchObject({ status: 201, json: { signature: "reporter" } });
    // Sent again it is the same outcome, and without its signature it is none.
    const again = await service.post("/v1/outcomes", body, signature);
    expect(again).toMatchObject({ status: 200, json: { duplicate: true } });
    expect((await service.post("/v1/outcomes", body)).status).toBe(403);
    const lines = outcome({ stakes: 4, settled_at: "2020-01-01T00:00:00Z" });
    const imported = await service.post("/v1/outcomes/import", lines, undefined, LINES);
    expect(imported.json).toMatchObject({ accepted: 1, rejected: [] });
  });

  it("is heard unsigned again when its keys have run out, not when the newest was revoked", async () => {
    const service = await openService();
    const keys = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;
    const unsigned = async (stakes: number) =>
      (await service.post("/v1/outcomes", outcome({ stakes }))).status;
    const first = newPair();
    await service.register(first, AGENT, {
      not_before: NOW_MS + DAY_MS,
      expires: NOW_MS + 2 * DAY_MS,
    });
    expect(await unsigned(1)).toBe(201);
    service.clock.nowMs = NOW_MS + DAY_MS;
    expect(await unsigned(2)).toBe(403);
    service.clock.nowMs = NOW_MS + 2 * DAY_MS;
    expect(await unsigned(3)).toBe(201);
    const second = newPair();
    await service.register(second);
    expect(await unsigned(4)).toBe(403);
    await service.call("POST", `${keys}/revoke`, { kid: second.kid });
    expect(await unsigned(5)).toBe(403);
    service.clock.nowMs += 365 * DAY_MS;
    expect(await unsigned(6)).toBe(403);
    // The way back to unsigned reports: a key that ends.
    await service.register(newPair(), AGENT, { expires: service.clock.nowMs + 1000 });
    service.clock.nowMs += 1000;
    expect(await unsigned(7)).toBe(201);
  });

  it("is a new owner's to hear unsigned once its former keys are gone", async () => {
    const service = await openService();
    await service.call("PUT", "/v1/namespaces/shop", { tenant: "acme" });
    const scopes = ["keys:write", "outcomes:write"] as const;
    const { key } = await service.keyring.create({ tenant: "acme", scopes });
    const route = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;
    const pair = newPair();
    const { json } = await service.call("POST", `${route}/nonce`, {}, key);
    const proof = await proofOf(pair, json.nonce, SERVICE_ID);
    expect((await service.call("PUT", route, { jwk: pair.jwk, proof }, key)).status).toBe(200);
    const next = (await service.keyring.create({ tenant: "globex", scopes })).key;
    const heard = async () => (await post(service, next, "/v1/outcomes", outcome())).json["code"];
    expect(await heard()).toBe("signature_required");
    await service.call("POST", "/v1/namespaces/shop/transfer", { tenant: "globex" });
    expect(await heard()).toBeUndefined();
  });
});

describe("the rule as a fold of key events", () => {
  const X = newPair().jwk.x;
  const registered = (kid: string, atMs: number, expiresMs: number | null): KeyRegisteredEvent => ({
    event: "registered",
    by: "admin",
    tenant: "acme",
    agent: AGENT,
    kid,
    x: X,
    at_ms: atMs,
    not_before_ms: atMs,
    expires_ms: expiresMs,
    others_retire_ms: atMs,
    proof: "a.b.c",
  });
  const revoked = (kid: string, atMs: number): KeyRevokedEvent => ({
    event: "revoked",
    by: "admin",
    tenant: "acme",
    kid,
    at_ms: atMs,
    compromised_since_ms: null,
  });

  it("agrees with the history of keys, told one by one", () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant("register"), ttl: fc.option(fc.integer({ min: 1, max: 30 })) }),
      fc.record({ kind: fc.constant("revoke"), ttl: fc.constant(null) }),
    );
    fc.assert(
      fc.property(
        fc.array(act, { maxLength: 8 }),
        fc.integer({ min: 0, max: 60 }),
        (acts, laterMs) => {
          const registry = new KeyRegistry();
          // With no overlap only the newest key can count: it signs, has ended, or was revoked.
          let newest: { kid: string; endsMs: number; isRevoked: boolean } | undefined;
          for (const [atMs, { kind, ttl }] of acts.entries()) {
            if (kind === "register") {
              const endsMs = ttl === null ? Number.POSITIVE_INFINITY : atMs + ttl;
              newest = { kid: `k${atMs}`, endsMs, isRevoked: false };
              registry.apply(registered(newest.kid, atMs, ttl === null ? null : endsMs));
            } else if (newest !== undefined) {
              registry.apply(revoked(newest.kid, atMs));
              newest.isRevoked = true;
            }
          }
          const nowMs = acts.length + laterMs;
          const expected = newest !== undefined && (newest.isRevoked || nowMs < newest.endsMs);
          expect(registry.isSignatureNeeded(AGENT, nowMs)).toBe(expected);
          expect(registry.isSignatureNeeded("agent://shop/another", nowMs)).toBe(false);
        },
      ),
    );
  });
});
