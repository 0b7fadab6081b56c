// Service for signed outcomes: real server, real ledger thread, real verification pool, policies, a
// clock the test moves, and reporters that sign with WebCrypto through the client library or jose.
import { createHash, generateKeyPairSync, type KeyObject, randomFillSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type CompactJWSHeaderParameters, CompactSign, FlattenedSign } from "jose";
import { openBureau } from "../../src/bureau/open.ts";
import { TenantPolicies } from "../../src/bureau/policies.ts";
import { foldKeyRegistry } from "../../src/bureau/reporters/key-registry.ts";
import { computeKeyThumbprint } from "../../src/contract/public-key.ts";
import { openTableImage } from "../../src/engine/image.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader, type TableReader } from "../../src/engine/reader.ts";
import { startHttpServer } from "../../src/http/start.ts";
import { type Keyring, openKeyring } from "../../src/http/access/keyring.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { UuidV7Generator } from "../../src/platform/uuid.ts";
import { PolicyBook } from "../../src/policy/policy-book.ts";
import { openReporters } from "../../src/service/reporters.ts";
import { startStore } from "../../src/store/client.ts";
import type { AdapterName } from "./_setup.ts";
import { notesTo, RowStore } from "./_row-store.ts";
import { unhurriedClock } from "../_patience.ts";

export const SERVICE_ID = "trustrank:test";
export const NOW_MS = Date.UTC(2026, 2, 1, 12);
export const AGENT = "agent://shop/buyer";
export const SUBJECT = "agent://market/seller";
const ADMIN = "an-admin-secret-of-the-operator-0123456789";

export interface Pair {
  privateKey: KeyObject;
  jwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  kid: string;
}

export function newPair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x } = publicKey.export({ format: "jwk" });
  return { privateKey, jwk: { kty: "OKP", crv: "Ed25519", x: x! }, kid: computeKeyThumbprint(x!) };
}

let jtiCount = 0;

/** A UUIDv7 of `timeMs`, another at every call. */
export function jtiAt(timeMs: number): string {
  const time = timeMs.toString(16).padStart(12, "0");
  const last = (jtiCount += 1).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${last}`;
}

/** `X-JWS-Signature` as jose makes it; `changes` replace members of the protected header. */
export async function joseSignature(
  pair: Pair,
  body: string,
  changes: Record<string, unknown> = {},
  nowMs = NOW_MS,
): Promise<string> {
  const header: CompactJWSHeaderParameters = {
    alg: "Ed25519",
    kid: pair.kid,
    typ: "outcome+jws",
    b64: false,
    crit: ["b64"],
    iat: Math.floor(nowMs / 1000),
    jti: jtiAt(nowMs),
    aud: SERVICE_ID,
    ...changes,
  };
  const jws = await new FlattenedSign(Buffer.from(body))
    .setProtectedHeader(header)
    .sign(pair.privateKey);
  return `${jws.protected}..${jws.signature}`;
}

export function outcome(changes: Record<string, unknown> = {}): string {
  const body = { subject: SUBJECT, reporter: AGENT, outcome: 1, stakes: 9, grade: "counterparty" };
  return JSON.stringify({ ...body, ...changes });
}

export interface Reply {
  status: number;
  headers: Headers;
  // What a route answers is what the tests are about: they look into it freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

export interface SigningService {
  readonly dataDir: string;
  readonly clock: { nowMs: number };
  readonly base: string;
  readonly keyring: Keyring;
  readonly ledger: OpenLedger;
  readonly engine: TableReader;
  /** SHA-256 of the agent table. */
  digest(): string;
  /** Tables that took over since the start. */
  tables: number;
  call(method: string, route: string, body?: unknown, key?: string): Promise<Reply>;
  /** Posts a raw body with an optional signature. */
  post(
    route: string,
    body: string | Uint8Array<ArrayBuffer>,
    signature?: string,
    type?: string,
  ): Promise<Reply>;
  register(pair: Pair, agent?: string, more?: Record<string, unknown>): Promise<Reply>;
  close(): Promise<void>;
}

const open: SigningService[] = [];
const directories: string[] = [];

/** Closes what a test has left open and removes its directories. */
export async function closeServices(): Promise<void> {
  for (const service of open.splice(0)) await service.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
}

export async function openService(
  options: {
    dataDir?: string;
    isSignatureRequired?: boolean;
    /** As if the replay guard had forgotten what was recorded before. */
    rememberedSinceMs?: number;
    /** With the outcome store, which knows what the guard has forgotten. */
    isStored?: boolean;
    /** Batches are recorded by the bureau, a row at a time, not by the pool. */
    isRowByRow?: boolean;
    adapter?: AdapterName;
  } = {},
): Promise<SigningService> {
  const dataDir = options.dataDir ?? mkdtempSync(path.join(tmpdir(), "trustrank-signing-"));
  if (options.dataDir === undefined) directories.push(dataDir);
  const clock = { nowMs: NOW_MS };
  const now = () => clock.nowMs;
  const onTable = (fresh: WebAssembly.Memory) => {
    memory = fresh;
    service.engine.rebind(memory);
    service.tables += 1;
  };
  const store = options.isStored === true ? await startStore({ dataDir }) : undefined;
  const ledger = await startLedger({
    dataDir,
    ...(store === undefined ? {} : { storePort: store.ledgerPort }),
    engineMemory: createEngineMemory(),
    engineSettings: { seed: 1n },
    onTable: (fresh) => onTable(fresh),
    onFatal: () => undefined,
    clock: now,
  });
  let memory = ledger.engineMemory;
  const engine = openEngineReader(memory, 1);
  const outcomeIds = new UuidV7Generator(randomFillSync);
  const environment = { delay: () => Promise.resolve(), outcomeIds, isReservedEnabled: false };
  const book = new PolicyBook();
  const onPolicy = () => undefined;
  const policies = new TenantPolicies({ log: ledger, book, onPolicy, clock: now });
  const registry = foldKeyRegistry(ledger.keyEvents);
  const parts = { engine, ledger, events: ledger, policies: book, registry };
  const bureau = openBureau({ ...parts, clock: now, environment });
  const reporting = openReporters({
    paths: resolveDataPaths(dataDir),
    ledger,
    serviceId: SERVICE_ID,
    isSignatureRequired: options.isSignatureRequired ?? false,
    policies: book,
    engine,
    clock: now,
    registry,
    rememberedSinceMs: () => options.rememberedSinceMs ?? ledger.rememberedSinceMs,
    ...(store === undefined ? {} : { store }),
  });
  const { intake, ...rowByRow } = reporting.reporterKeys;
  const reporters = options.isRowByRow === true ? rowByRow : { ...rowByRow, intake: intake! };
  const keyring = await openKeyring({ dataDir, now });
  keyring.installAdminKey(ADMIN);
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const server = await startHttpServer({
    adapter: options.adapter ?? "auto",
    host: "127.0.0.1",
    port: 0,
    bureau,
    policies,
    keyring,
    store: store ?? new RowStore(),
    notes: notesTo(undefined),
    reporters,
    namespaces: reporting.namespaces,
    clock: now,
    logger: quiet,
    health: { isReady: () => ({ ready: true, reasons: [] }) },
    version: "0.0.0-test",
    monotonic: unhurriedClock(),
  });
  const base = `http://127.0.0.1:${server.port}`;
  const send = async (route: string, init: RequestInit): Promise<Reply> => {
    const response = await fetch(base + route, init);
    const { status, headers } = response;
    return { status, headers, json: await response.json() };
  };
  const service: SigningService = {
    dataDir,
    clock,
    base,
    keyring,
    ledger,
    engine,
    tables: 0,
    digest() {
      const digest = createHash("sha256");
      for (const part of openTableImage(memory).viewParts()) digest.update(part);
      return digest.digest("hex");
    },
    call: (method, route, body, key = ADMIN) =>
      send(route, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    post: (route, body, signature, type = "application/json") =>
      send(route, {
        method: "POST",
        headers: {
          authorization: `Bearer ${ADMIN}`,
          "content-type": type,
          ...(signature === undefined ? {} : { "x-jws-signature": signature }),
        },
        body,
      }),
    async register(pair, agent = AGENT, more = {}) {
      const route = `/v1/agents/${encodeURIComponent(agent)}/keys`;
      const { json } = await service.call("POST", `${route}/nonce`, {});
      const proof = await proofOf(pair, json.nonce, json.audience);
      return service.call("PUT", route, { jwk: pair.jwk, proof, ...more });
    },
    async close() {
      const at = open.indexOf(service);
      if (at >= 0) open.splice(at, 1);
      await server.close(1000);
      await ledger.close();
      await store?.close();
      await reporting.close();
    },
  };
  open.push(service);
  return service;
}

/** A compact JWS over the nonce. */
export function proofOf(pair: Pair, nonce: string, audience: string): Promise<string> {
  return new CompactSign(Buffer.from(nonce))
    .setProtectedHeader({ alg: "Ed25519", kid: pair.kid, typ: "key-proof+jws", aud: audience })
    .sign(pair.privateKey);
}
