// Namespaces in the service: only an admin's grant lets a tenant register keys and report there, and
// what a first-comer or a former owner did stays without effect. Real ledger, real server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { REPORTER_KEYS_MAX } from "../../../src/contract/limits.ts";
import type { KeyEvent } from "../../../src/contract/key-events.ts";
import type { Scope } from "../../../src/contract/vocabulary.ts";
import { startLedger } from "../../../src/ledger/client.ts";
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
  type Reply,
  SERVICE_ID,
  type SigningService,
} from "../_signing.ts";

const SHOP = "/v1/namespaces/shop";
const KEYS = `/v1/agents/${encodeURIComponent(AGENT)}/keys`;
const ALL: readonly Scope[] = ["keys:write", "outcomes:write", "score:read"];

afterEach(closeServices);

const keyOf = async (service: SigningService, tenant: string, isFirstParty = false) =>
  (await service.keyring.create({ tenant, scopes: ALL, isFirstParty })).key;

/** Registers a key as the holder of an API key does; the reply of the first step that is refused. */
async function registerAs(service: SigningService, key: string, pair: Pair) {
  const asked = await service.call("POST", `${KEYS}/nonce`, {}, key);
  if (asked.status !== 201) return asked;
  const proof = await proofOf(pair, asked.json.nonce, SERVICE_ID);
  return service.call("PUT", KEYS, { jwk: pair.jwk, proof }, key);
}

const decisionOn = async (service: SigningService) =>
  (await service.call("POST", "/v1/check", { subject: AGENT, stakes: 1 })).json.decision as string;

describe("a namespace", () => {
  it("is no first-comer's: without a grant a tenant registers no key in it", async () => {
    const service = await openService();
    const key = await keyOf(service, "stranger");
    const refused = await registerAs(service, key, newPair());
    expect([refused.status, refused.json.code]).toEqual([403, "namespace_not_owned"]);
    const revoked = await service.call("POST", `${KEYS}/revoke`, { kid: newPair().kid }, key);
    expect(revoked.json.code).toBe("namespace_not_owned");
    // The administrator registers where he likes, and owns nothing by it.
    expect((await service.register(newPair())).status).toBe(200);
    expect((await service.call("GET", "/v1/namespaces")).json).toEqual({ namespaces: [] });
    expect((await registerAs(service, key, newPair())).status).toBe(403);
  });

  it("is granted, listed, transferred and taken back, and stays so over a restart", async () => {
    const service = await openService();
    const [acme, globex] = [await keyOf(service, "acme"), await keyOf(service, "globex")];
    const granted = await service.call("PUT", SHOP, { tenant: "acme" });
    expect(granted.json).toEqual({
      namespace: "shop",
      tenant: "acme",
      state: "granted",
      vouched: false,
      mediator: false,
      since: new Date(NOW_MS).toISOString(),
      granted_by: "installed-admin",
    });
    expect((await service.call("PUT", SHOP, { tenant: "acme" })).json).toEqual(granted.json);
    const taken = await service.call("PUT", SHOP, { tenant: "globex" });
    expect([taken.status, taken.json.code]).toEqual([409, "namespace_conflict"]);
    const pair = newPair();
    expect((await registerAs(service, acme, pair)).status).toBe(200);
    expect((await registerAs(service, globex, newPair())).json.code).toBe("namespace_not_owned");
    await service.call("POST", `${SHOP}/transfer`, { tenant: "globex" });
    expect((await registerAs(service, acme, newPair())).json.code).toBe("namespace_not_owned");
    const { dataDir } = service;
    await service.close();

    const next = await openService({ dataDir });
    expect((await next.call("GET", "/v1/namespaces")).json.namespaces).toMatchObject([
      { namespace: "shop", tenant: "globex", state: "granted" },
    ]);
    expect((await next.call("GET", KEYS)).json.keys).toMatchObject([{ state: "retired" }]);
    expect((await registerAs(next, globex, newPair())).status).toBe(200);
    expect((await next.call("DELETE", SHOP)).json).toMatchObject({ tenant: "globex" });
    expect((await next.call("DELETE", SHOP)).json.code).toBe("not_found");
    expect((await registerAs(next, globex, newPair())).json.code).toBe("namespace_not_owned");
    expect((await next.call("GET", "/v1/namespaces")).json).toEqual({ namespaces: [] });
  });

  it("is an administrator's affair, and what cannot be one is refused with its place", async () => {
    const service = await openService();
    const key = await keyOf(service, "acme");
    for (const [method, route] of [
      ["GET", "/v1/namespaces"],
      ["PUT", SHOP],
      ["POST", `${SHOP}/transfer`],
      ["DELETE", SHOP],
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? undefined : { tenant: "acme" };
      expect((await service.call(method, route, body, key)).json.code).toBe("insufficient_scope");
    }
    for (const name of ["a%2Fb", "%20", "x".repeat(129), "%C3%A9"]) {
      const refused = await service.call("PUT", `/v1/namespaces/${name}`, { tenant: "acme" });
      expect([name, refused.json.code]).toEqual([name, "invalid_parameter"]);
    }
    const wrong = await service.call("PUT", SHOP, { tenant: "", owner: "x" });
    expect(wrong.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/owner",
      "/tenant",
    ]);
    const gone = await service.call("POST", `${SHOP}/transfer`, { tenant: "acme" });
    expect([gone.status, gone.json.code]).toEqual([404, "not_found"]);
  });

  it("keeps its keys when it is transferred with them", async () => {
    const service = await openService();
    const acme = await keyOf(service, "acme");
    await service.call("PUT", SHOP, { tenant: "acme" });
    const pair = newPair();
    await registerAs(service, acme, pair);
    await service.call("POST", `${SHOP}/transfer`, { tenant: "globex", keep_keys: true });
    const body = outcome();
    const sent = await service.post("/v1/outcomes", body, await joseSignature(pair, body));
    expect(sent.json.signature).toBe("reporter");
    // No longer acme's to revoke.
    const revoked = await service.call("POST", `${KEYS}/revoke`, { kid: pair.kid }, acme);
    expect(revoked.json.code).toBe("namespace_not_owned");
  });
});

describe("a namespace taken before there were grants", () => {
  /** A data directory in which `squatter` took `shop`, with these keys of its agent, the last revoked. */
  async function takenBefore(dataDir: string, pairs: readonly Pair[]): Promise<void> {
    const ledger = await startLedger({
      dataDir,
      engineMemory: createEngineMemory(),
      engineSettings: { seed: 1n },
      onFatal: () => undefined,
      clock: () => NOW_MS,
    });
    const of = { at_ms: NOW_MS - 1000, tenant: "squatter" };
    const times = { not_before_ms: NOW_MS - 1000, expires_ms: null, others_retire_ms: NOW_MS };
    const key = { agent: AGENT, proof: "p" };
    const registered = pairs.map(({ kid, jwk: { x } }): KeyEvent => {
      return { event: "registered", ...of, kid, ...times, ...key, x };
    });
    const { kid } = pairs.at(-1)!;
    const events: KeyEvent[] = [
      ...registered,
      { event: "revoked", ...of, kid, compromised_since_ms: null },
    ];
    await Promise.all(
      events.map((event) => ledger.appendKeyEvent(Buffer.from(JSON.stringify(event)))),
    );
    await ledger.close();
  }

  it("goes on as inherited until an admin settles it; then the first-comer's acts are void", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-inherited-"));
    try {
      await takenBefore(dataDir, Array.from({ length: REPORTER_KEYS_MAX }, newPair));
      const service = await openService({ dataDir });
      expect((await service.call("GET", "/v1/namespaces")).json.namespaces).toMatchObject([
        { namespace: "shop", tenant: "squatter", state: "inherited", granted_by: null },
      ]);
      const squatter = await keyOf(service, "squatter");
      expect((await service.call("POST", `${KEYS}/nonce`, {}, squatter)).status).toBe(201);
      expect(await decisionOn(service)).toBe("refuse");
      await service.call("POST", `${SHOP}/transfer`, { tenant: "acme" });
      expect(await decisionOn(service)).not.toBe("refuse");
      const digest = service.digest();
      await service.close();

      const next = await openService({ dataDir });
      expect(await decisionOn(next)).not.toBe("refuse");
      expect(next.digest()).toBe(digest);
      expect((await registerAs(next, squatter, newPair())).json.code).toBe("namespace_not_owned");
      // Nor do the first-comer's keys take the owner's places.
      expect((await registerAs(next, await keyOf(next, "acme"), newPair())).status).toBe(200);
    } finally {
      await closeServices();
      rmSync(dataDir, { recursive: true });
    }
  });

  it("is confirmed by granting it to whom it belongs", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-inherited-"));
    try {
      await takenBefore(dataDir, [newPair()]);
      const service = await openService({ dataDir });
      await service.call("PUT", SHOP, { tenant: "squatter" });
      expect((await service.call("GET", "/v1/namespaces")).json.namespaces).toMatchObject([
        { tenant: "squatter", state: "granted", granted_by: "installed-admin" },
      ]);
      expect(await decisionOn(service)).toBe("refuse");
    } finally {
      await closeServices();
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe("a report in the name of another tenant's agent", () => {
  const FORGED = { status: 403, code: "namespace_not_owned", pointer: "/reporter" };
  const said = (problem: { status: number; code: string; errors: { pointer: string }[] }) => ({
    status: problem.status,
    code: problem.code,
    pointer: problem.errors[0]?.pointer,
  });

  const LINES = "application/x-ndjson";
  const ways = [
    ["an array", "application/json", (rows: string[]) => `[${rows.join(",")}]`],
    ["lines", LINES, (rows: string[]) => rows.join("\n")],
  ] as const;

  async function opened(isRowByRow: boolean) {
    const service = await openService({ isRowByRow });
    await service.call("PUT", SHOP, { tenant: "acme" });
    const post = async (key: string, route: string, body: string, more = {}) => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...more,
      };
      const answer = await fetch(service.base + route, { method: "POST", headers, body });
      const json = (await answer.json()) as Reply["json"];
      return { status: answer.status, json };
    };
    return { service, post };
  }

  it.each([false, true])(
    "is refused, row by row: %s; others and the owner's are taken",
    async (byRow) => {
      const { service, post } = await opened(byRow);
      const keys = [await keyOf(service, "stranger"), await keyOf(service, "stranger", true)];
      const free = outcome({ reporter: "agent://nobodys/buyer" });
      for (const key of keys) {
        expect(said((await post(key, "/v1/outcomes", outcome())).json)).toEqual(FORGED);
        for (const [, type, join] of ways) {
          const rows = join([free, outcome()]);
          const { json } = await post(key, "/v1/outcomes/batch", rows, { "content-type": type });
          expect(json.items[0].status).toBe(201);
          expect(json.items[1].status).toBe(403);
          expect(said(json.items[1].problem)).toEqual(FORGED);
        }
      }
      const before = service.ledger.position();
      for (const key of keys) await post(key, "/v1/outcomes", outcome());
      expect(service.ledger.position()).toBe(before);
      const owner = await keyOf(service, "acme");
      expect((await post(owner, "/v1/outcomes", outcome())).status).toBe(201);
      expect((await service.post("/v1/outcomes", outcome())).status).toBe(201);
    },
  );

  it("is taken where it is signed, whoever carries it, and from the operator's import", async () => {
    const { service, post } = await opened(false);
    const pair = newPair();
    await registerAs(service, await keyOf(service, "acme"), pair);
    const carrier = await keyOf(service, "market");
    const body = outcome();
    const signature = { "x-jws-signature": await joseSignature(pair, body) };
    expect((await post(carrier, "/v1/outcomes", body, signature)).json.signature).toBe("reporter");
    const batch = `[${outcome({ stakes: 3 })}]`;
    const whole = { "x-jws-signature": await joseSignature(pair, batch) };
    expect((await post(carrier, "/v1/outcomes/batch", batch, whole)).json.items[0].status).toBe(
      201,
    );
    const lines = outcome({ stakes: 4 });
    const imported = await service.post("/v1/outcomes/import", lines, undefined, LINES);
    expect(imported.json).toMatchObject({ accepted: 1, rejected: [] });
  });
});
