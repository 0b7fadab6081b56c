// Signed outcomes over real HTTP: what is taken, and every refusal with its own code.
import { webcrypto } from "node:crypto";
import { flattenedVerify, importJWK } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { createOutcomeSigner } from "../../../src/client/reporting/sign.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  jtiAt,
  newPair,
  NOW_MS,
  openService,
  outcome,
  SERVICE_ID,
} from "../_signing.ts";

afterEach(closeServices);

const DAY_MS = 86_400_000;

describe("a signed outcome", () => {
  it("is taken from jose and from the client; jose verifies what the client signs", async () => {
    const service = await openService();
    expect((await service.call("GET", "/healthz")).json.service_id).toBe(SERVICE_ID);
    const pair = newPair();
    expect(await service.register(pair)).toMatchObject({
      status: 200,
      json: { kid: pair.kid, state: "active" },
    });
    for (const alg of ["Ed25519", "EdDSA"]) {
      const signature = await joseSignature(pair, outcome(), { alg });
      const reply = await service.post("/v1/outcomes", outcome(), signature);
      expect(reply).toMatchObject({ status: 201, json: { signature: "reporter" } });
    }
    const format = { format: "jwk" } as const;
    const subtle = webcrypto.subtle;
    const privateJwk = pair.privateKey.export(format);
    const keyPair = {
      privateKey: await subtle.importKey("jwk", privateJwk, "Ed25519", false, ["sign"]),
      publicKey: await subtle.importKey("jwk", pair.jwk, "Ed25519", true, ["verify"]),
    };
    const now = () => NOW_MS;
    const signer = await createOutcomeSigner({ keyPair, audience: SERVICE_ID, now });
    expect(signer.kid).toBe(pair.kid);
    const body = outcome({ stakes: 12.5, action: "shop.buy" });
    const header = await signer.sign(body);
    const reply = await service.post("/v1/outcomes", body, header);
    expect(reply).toMatchObject({ status: 201, json: { signature: "reporter" } });
    const [protectedPart, , signature] = header.split(".") as [string, string, string];
    const jws = { protected: protectedPart, payload: body, signature };
    await flattenedVerify(jws, await importJWK(pair.jwk, "Ed25519"), { algorithms: ["Ed25519"] });
  });

  it("stays optional, and is marked; one switch requires it", async () => {
    const lax = await openService();
    expect(await lax.post("/v1/outcomes", outcome())).toMatchObject({
      status: 201,
      json: { signature: "none" },
    });
    const strict = await openService({ isSignatureRequired: true });
    const reply = await strict.post("/v1/outcomes", outcome());
    expect(reply).toMatchObject({ status: 403, json: { code: "signature_required" } });
  });

  it("is refused with a code for each reason", async () => {
    const service = await openService();
    const [pair, other, unknown] = [newPair(), newPair(), newPair()];
    // In force long enough that an old signature is refused for its age.
    await service.register(pair, AGENT, { not_before: NOW_MS - 30 * DAY_MS });
    await service.register(other, "agent://shop/other");
    const body = outcome();
    const refusal = async (signature: string, text = body) =>
      (await service.post("/v1/outcomes", text, signature)).json.code;

    expect(await refusal(await joseSignature(unknown, body))).toBe("signature_key_unknown");
    expect(await refusal(await joseSignature(other, body))).toBe("signature_key_mismatch");
    const elsewhere = await joseSignature(pair, body, { aud: "trustrank:other" });
    expect(await refusal(elsewhere)).toBe("signature_audience");
    const good = await joseSignature(pair, body);
    expect(await refusal(good, outcome({ outcome: 0 }))).toBe("signature_invalid");
    const forged = await joseSignature({ ...pair, privateKey: unknown.privateKey }, body);
    expect(await refusal(forged)).toBe("signature_invalid");
    const old = NOW_MS - 7 * DAY_MS - 60_000;
    const ahead = NOW_MS + 120_000;
    for (const timeMs of [old, ahead]) {
      const iat = Math.floor(timeMs / 1000);
      expect(await refusal(await joseSignature(pair, body, { iat }))).toBe("signature_stale");
      const jti = jtiAt(timeMs);
      expect(await refusal(await joseSignature(pair, body, { jti }))).toBe("signature_stale");
    }
    const more = await joseSignature(pair, body, { extra: 1 });
    expect(await refusal(more)).toBe("signature_malformed");
    expect(await refusal("a..b")).toBe("signature_malformed");
    const self = outcome({ subject: AGENT });
    expect(await refusal(await joseSignature(pair, self), self)).toBe("self_report");

    const keys = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;
    const revoked = await service.call("POST", `${keys}/revoke`, { kid: pair.kid });
    expect(revoked).toMatchObject({ status: 200, json: { state: "revoked" } });
    expect(await refusal(await joseSignature(pair, body))).toBe("signature_key_revoked");
    expect(service.ledger.position()).toBe(3);
  });

  it("counts once however often it is sent, and says so when it contradicts itself", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const jti = jtiAt(NOW_MS);
    const signature = await joseSignature(pair, outcome(), { jti });
    const first = await service.post("/v1/outcomes", outcome(), signature);
    expect(first.status).toBe(201);
    const again = await service.post("/v1/outcomes", outcome(), signature);
    expect(again).toMatchObject({
      status: 200,
      json: { duplicate: true, outcome_id: first.json.outcome_id, position: first.json.position },
    });
    const changed = outcome({ outcome: 0 });
    const second = await joseSignature(pair, changed, { jti });
    const conflict = await service.post("/v1/outcomes", changed, second);
    expect(conflict).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
    // The registration, the outcome, and the contradiction on record.
    expect(service.ledger.position()).toBe(3);
    const { dataDir } = service;
    await service.close();

    const next = await openService({ dataDir });
    const late = await next.post("/v1/outcomes", outcome(), signature);
    expect(late).toMatchObject({ status: 200, json: { outcome_id: first.json.outcome_id } });
    const stillConflict = await next.post("/v1/outcomes", changed, second);
    expect(stillConflict.json.code).toBe("signature_replayed");
  });
});

describe("the replay guard", () => {
  it("refuses what is older than it remembers, rather than count it twice", async () => {
    const rememberedSinceMs = NOW_MS - 3600_000;
    const service = await openService({ rememberedSinceMs });
    const pair = newPair();
    await service.register(pair, AGENT, { not_before: NOW_MS - DAY_MS });
    const send = async (jti: string) => {
      const signature = await joseSignature(pair, outcome(), { jti });
      return service.post("/v1/outcomes", outcome(), signature);
    };
    expect((await send(jtiAt(rememberedSinceMs + 60_000))).status).toBe(201);
    expect((await send(jtiAt(rememberedSinceMs + 59_999))).json.code).toBe("signature_stale");
  });
});

describe("a batch under one signature", () => {
  const rows = (count: number, changes: Record<string, unknown> = {}) =>
    Array.from({ length: count }, (_, index) => JSON.parse(outcome({ stakes: index, ...changes })));

  it("is one verification, as an array or as lines, each row judged alone", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const good = rows(1000, { grade: "self" });
    const text = JSON.stringify(good);
    const signature = await joseSignature(pair, text);
    const reply = await service.post("/v1/outcomes/batch", text, signature);
    expect(reply.json.items).toHaveLength(1000);
    expect(new Set(reply.json.items.map((item: { status: number }) => item.status))).toEqual(
      new Set([201]),
    );
    expect(reply.json.items[999].result.signature).toBe("reporter");
    // Where the signed bytes lie: one batch, each row at its place.
    const evidenceId = reply.json.items[0].result.evidence_id;
    expect(evidenceId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(reply.json.items[999].result).toMatchObject({
      evidence_id: evidenceId,
      evidence_index: 999,
    });
    const repeated = await service.post("/v1/outcomes/batch", text, signature);
    expect(repeated.json.items[7]).toMatchObject({
      status: 200,
      result: { outcome_id: reply.json.items[7].result.outcome_id, duplicate: true },
    });

    const mixed = [...rows(2), { subject: 1 }, JSON.parse(outcome({ reporter: "agent://b/c" }))];
    const lines = mixed.map((row) => JSON.stringify(row)).join("\n");
    const type = "application/x-ndjson";
    const linesSignature = await joseSignature(pair, lines);
    const answer = await service.post("/v1/outcomes/batch", lines, linesSignature, type);
    const statuses = answer.json.items.map((item: { status: number }) => item.status);
    expect(statuses).toEqual([201, 201, 400, 422]);
    expect(answer.json.items[3].problem.code).toBe("signature_key_mismatch");
    const tampered = await service.post("/v1/outcomes/batch", `${lines} `, linesSignature, type);
    expect(tampered.json.code).toBe("signature_invalid");
  });

  it("cannot say something else under the same id", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const jti = jtiAt(NOW_MS);
    const [one, two] = [JSON.stringify(rows(2)), JSON.stringify(rows(3))];
    const first = await joseSignature(pair, one, { jti });
    expect((await service.post("/v1/outcomes/batch", one, first)).status).toBe(200);
    const second = await joseSignature(pair, two, { jti });
    const refused = await service.post("/v1/outcomes/batch", two, second);
    expect(refused).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
  });

  it("is not an outcome alone: neither can be sent as the other", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const alone = await joseSignature(pair, outcome());
    expect((await service.post("/v1/outcomes", outcome(), alone)).status).toBe(201);
    const type = "application/x-ndjson";
    const asBatch = await service.post("/v1/outcomes/batch", outcome(), alone, type);
    expect(asBatch).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
    const line = await joseSignature(pair, outcome());
    expect((await service.post("/v1/outcomes/batch", outcome(), line, type)).status).toBe(200);
    const asOne = await service.post("/v1/outcomes", outcome(), line);
    expect(asOne).toMatchObject({ status: 409, json: { code: "signature_replayed" } });
    const packed = await service.post("/v1/outcomes", outcome(), line, "application/msgpack");
    expect(packed.json.code).toBe("unsupported_media_type");
  });

  it("may be unsigned, and is bounded", async () => {
    const service = await openService();
    const reply = await service.post("/v1/outcomes/batch", JSON.stringify(rows(3)));
    expect(reply.json.items[2].result.signature).toBe("none");
    const many = JSON.stringify(rows(1001));
    expect((await service.post("/v1/outcomes/batch", many)).json.code).toBe("invalid_request");
    expect((await service.post("/v1/outcomes/batch", "{}")).json.code).toBe("invalid_request");
  });
});

describe("the pool", () => {
  it("answers hundreds of signatures at once, each for itself", async () => {
    const service = await openService();
    const pair = newPair();
    await service.register(pair);
    const replies = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const body = outcome({ stakes: index });
        const signature = await joseSignature(pair, body);
        const sent = index % 5 === 0 ? outcome({ stakes: index + 0.5 }) : body;
        return (await service.post("/v1/outcomes", sent, signature)).json;
      }),
    );
    const invalid = replies.filter((reply) => reply.code === "signature_invalid");
    expect(invalid).toHaveLength(80);
    expect(replies.filter((reply) => reply.signature === "reporter")).toHaveLength(320);
  });
});
