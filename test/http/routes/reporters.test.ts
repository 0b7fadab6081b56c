// Reporters' keys over real HTTP: possession, ownership, rotation, revocation and what it undoes.
import { afterEach, describe, expect, it } from "vitest";
import { computeKeyThumbprint } from "../../../src/contract/public-key.ts";
import {
  AGENT,
  closeServices,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  outcome,
  type Pair,
  proofOf,
  type SigningService,
  SERVICE_ID,
  SUBJECT,
} from "../_signing.ts";

afterEach(closeServices);

const KEYS = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;

async function send(service: SigningService, pair: Pair, body: string): Promise<string> {
  const signature = await joseSignature(pair, body, {}, service.clock.nowMs);
  const { json } = await service.post("/v1/outcomes", body, signature);
  return json.code ?? json.signature;
}

describe("a reporter key", () => {
  it("has the thumbprint of RFC 8037 appendix A.3", () => {
    expect(computeKeyThumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")).toBe(
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    );
  });

  it("is refused without proof, for another nonce, agent or service", async () => {
    const service = await openService();
    const pair = newPair();
    const nonce = async () => (await service.call("POST", `${KEYS}/nonce`, {})).json.nonce;
    const put = async (proof: string) =>
      (await service.call("PUT", KEYS, { jwk: pair.jwk, proof })).json.code;
    expect(await put("x")).toBe("key_proof_invalid");
    expect(await put(await proofOf(pair, "made-up", SERVICE_ID))).toBe("key_proof_invalid");
    expect(await put(await proofOf(pair, await nonce(), "other"))).toBe("key_proof_invalid");
    const thief = { ...newPair(), kid: pair.kid };
    expect(await put(await proofOf(thief, await nonce(), SERVICE_ID))).toBe("key_proof_invalid");
    const used = await nonce();
    expect(await put(await proofOf(pair, used, SERVICE_ID))).toBeUndefined();
    expect(await put(await proofOf(pair, used, SERVICE_ID))).toBe("key_proof_invalid");
    const late = await nonce();
    service.clock.nowMs += 6 * 60_000;
    expect(await put(await proofOf(pair, late, SERVICE_ID))).toBe("key_proof_invalid");
    const reply = await service.register(pair, "agent://shop/somebody");
    expect(reply).toMatchObject({ status: 409, json: { code: "key_conflict" } });
  });

  it("is refused when it is weak, private or of another kind", async () => {
    const service = await openService();
    const pair = newPair();
    const hex = (text: string) => Buffer.from(text, "hex").toString("base64url");
    const order8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
    const order8Minus = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
    const signed = (y: string) =>
      y.slice(0, 62) + (Number.parseInt(y.slice(62), 16) | 0x80).toString(16);
    const points = [
      `01${"00".repeat(31)}`,
      "00".repeat(32),
      signed("00".repeat(32)),
      `ec${"ff".repeat(30)}7f`,
      order8,
      signed(order8),
      order8Minus,
      signed(order8Minus),
      // Not canonical: y = p, p + 1 and the largest.
      `ed${"ff".repeat(30)}7f`,
      `ee${"ff".repeat(30)}7f`,
      "ff".repeat(32),
    ];
    const weak = [
      ...points.map((point) => ({ kty: "OKP", crv: "Ed25519", x: hex(point) })),
      { ...pair.jwk, d: pair.jwk.x },
      { ...pair.jwk, crv: "X25519" },
      { ...pair.jwk, x: `${pair.jwk.x}=` },
      "text",
    ];
    for (const jwk of weak) {
      const reply = await service.call("PUT", KEYS, { jwk, proof: "a.b.c" });
      expect([jwk, reply.json.code]).toEqual([jwk, "key_weak"]);
    }
    expect((await service.call("GET", KEYS)).json.keys).toEqual([]);
  });

  it("takes a tenant that owns the namespace, and its scope, and survives a restart", async () => {
    const service = await openService();
    await service.call("PUT", "/v1/namespaces/shop", { tenant: "acme" });
    const make = async (tenant: string, scope: "keys:write" | "outcomes:write") =>
      (await service.keyring.create({ tenant, scopes: [scope] })).key;
    const [acme, globex] = [await make("acme", "keys:write"), await make("globex", "keys:write")];
    const writer = await make("acme", "outcomes:write");
    expect((await service.call("POST", `${KEYS}/nonce`, {}, writer)).json.code).toBe(
      "insufficient_scope",
    );
    const pair = newPair();
    const { nonce } = (await service.call("POST", `${KEYS}/nonce`, {}, acme)).json;
    const proof = await proofOf(pair, nonce, SERVICE_ID);
    // Whoever sees the proof in passing cannot use it.
    const stolen = await service.call("PUT", KEYS, { jwk: pair.jwk, proof }, globex);
    expect(stolen.json.code).toBe("namespace_not_owned");
    // Not even an administrator: the nonce is the tenant's.
    const seen = await service.call("PUT", KEYS, { jwk: pair.jwk, proof });
    expect(seen.json.code).toBe("key_proof_invalid");
    expect((await service.call("PUT", KEYS, { jwk: pair.jwk, proof }, acme)).status).toBe(200);
    expect((await service.call("POST", `${KEYS}/nonce`, {}, globex)).json.code).toBe(
      "namespace_not_owned",
    );
    const before = (await service.call("GET", KEYS)).json;
    const { dataDir } = service;
    await service.close();
    const next = await openService({ dataDir });
    expect((await next.call("GET", KEYS)).json).toEqual(before);
    expect((await next.call("POST", `${KEYS}/nonce`, {}, globex)).json.code).toBe(
      "namespace_not_owned",
    );
    expect(await send(next, pair, outcome())).toBe("reporter");
  });

  it("is rotated with an overlap", async () => {
    const service = await openService();
    const [first, second] = [newPair(), newPair()];
    await service.register(first);
    await service.register(second, AGENT, { overlap_sec: 3600 });
    const states = async () =>
      (await service.call("GET", KEYS)).json.keys.map((key: { state: string }) => key.state);
    expect(await states()).toEqual(["retiring", "active"]);
    expect(await send(service, first, outcome())).toBe("reporter");
    service.clock.nowMs += 3600_000;
    expect(await states()).toEqual(["retired", "active"]);
    expect(await send(service, first, outcome())).toBe("signature_key_inactive");
    expect(await send(service, second, outcome())).toBe("reporter");
    const later = newPair();
    await service.register(later, AGENT, { not_before: service.clock.nowMs + 3600_000 });
    expect(await send(service, later, outcome())).toBe("signature_key_inactive");
  });
});

describe("a revocation", () => {
  /** Outcomes of two signers and an unsigned one; `upto` bounds what the doubtful key says. */
  async function report(service: SigningService, good: Pair, doubtful: Pair, upto: number) {
    for (let index = 0; index < 30; index += 1) {
      service.clock.nowMs = NOW_MS + index * 60_000;
      const settled = { settled_at: service.clock.nowMs - 1000, stakes: 100 + index };
      const other = outcome({ ...settled, reporter: "agent://shop/other" });
      expect(await send(service, good, other)).toBe("reporter");
      if (index < upto) {
        expect(await send(service, doubtful, outcome({ ...settled, outcome: 0 }))).toBe("reporter");
      }
      await service.post("/v1/outcomes", outcome({ ...settled, reporter: "agent://x/plain" }));
    }
  }

  const look = (service: SigningService) => {
    const { failureProbability, scoreInternal } = service.engine.check(SUBJECT, 100, NOW_MS);
    const { features: _features, ...evidence } = service.engine.explain(SUBJECT, NOW_MS);
    return { failureProbability, scoreInternal, outcomes: evidence.outcomeCount };
  };

  it("folds out what the key signed since then, now and after a restart", async () => {
    const [good, doubtful] = [newPair(), newPair()];
    const reference = await openService();
    await reference.register(good, "agent://shop/other");
    await reference.register(doubtful);
    await report(reference, good, doubtful, 10);
    const expected = look(reference);
    await reference.close();

    const service = await openService();
    await service.register(good, "agent://shop/other");
    await service.register(doubtful);
    await report(service, good, doubtful, 30);
    expect(look(service).failureProbability).toBeGreaterThan(expected.failureProbability);
    const since = NOW_MS + 10 * 60_000;
    const body = { kid: doubtful.kid, compromised_since: since };
    const reply = await service.call("POST", `${KEYS}/revoke`, body);
    expect(reply.json).toMatchObject({
      state: "revoked",
      compromised_since: new Date(since).toISOString(),
    });
    await expect.poll(() => service.tables).toBe(1);
    expect(look(service)).toEqual(expected);
    // Evidence goes on being counted in the table that took over.
    service.clock.nowMs = NOW_MS + 40 * 60_000;
    const last = outcome({ reporter: "agent://shop/other" });
    expect(await send(service, good, last)).toBe("reporter");
    const after = look(service);
    expect(after.outcomes).toBe(expected.outcomes + 1);
    const digest = service.digest();
    const { dataDir } = service;
    await service.close();

    const next = await openService({ dataDir });
    expect(look(next)).toEqual(after);
    // The same log gives the same bytes, whenever the revocation was heard of.
    expect(next.digest()).toBe(digest);
    expect(await send(next, doubtful, outcome())).toBe("signature_key_revoked");
  });

  it("refuses the agent until it registers another key, now and after a restart", async () => {
    const service = await openService();
    const [first, second] = [newPair(), newPair()];
    await service.register(first);
    const check = async (which: SigningService) => {
      const { json } = await which.call("POST", "/v1/check", { subject: AGENT, stakes: 1 });
      return [json.decision, json.reason_codes.includes("KEY_REVOKED")];
    };
    const [before] = await check(service);
    expect(before).not.toBe("refuse");
    await service.call("POST", `${KEYS}/revoke`, { kid: first.kid });
    expect(await check(service)).toEqual(["refuse", true]);
    const digest = service.digest();
    const { dataDir } = service;
    await service.close();

    const next = await openService({ dataDir });
    expect(await check(next)).toEqual(["refuse", true]);
    expect(next.digest()).toBe(digest);
    // A re-fold for somebody else's key leaves the mark where it was.
    const other = newPair();
    await next.register(other, "agent://shop/other");
    const since = { kid: other.kid, compromised_since: NOW_MS };
    const others = `/v1/agents/${encodeURIComponent("agent://shop/other")}/keys`;
    await next.call("POST", `${others}/revoke`, since);
    await expect.poll(() => next.tables).toBe(1);
    expect(await check(next)).toEqual(["refuse", true]);
    await next.register(second);
    expect(await check(next)).toEqual([before, false]);
  });
});
