// Small world behind five doors: the bureau called directly, over HTTP, and through the client
// library, the latter two at the main thread and at a further HTTP thread. Real engine, real
// ledger, real DuckDB, real uWebSockets on loopback; fixed clock.
import { createQuotaMemory } from "../../src/http/access/quota-memory.ts";
import { createUsageMemory } from "../../src/http/access/usage-memory.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { randomFillSync } from "node:crypto";
import type { Bureau, CallContext } from "../../src/bureau/bureau.ts";
import { ReviewDecisionCache } from "../../src/bureau/reviews/decision-cache.ts";
import { openBureau } from "../../src/bureau/open.ts";
import type { DecisionLog } from "../../src/contract/decisions.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../src/contract/policy.ts";
import type { Principal } from "../../src/contract/principal.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  VerifyRequest,
  VerifyResponse,
} from "../../src/contract/schemas/scores.ts";
import { UuidV7Generator } from "../../src/platform/uuid.ts";
import { openEvidenceVault } from "../../src/service/vault.ts";
import type { OpenVault } from "../../src/service/vault.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { type RunningHttpServer, startHttpServer } from "../../src/http/start.ts";
import { type Keyring, openKeyring } from "../../src/http/access/keyring.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { probePort } from "../../src/http/server/port-probe.ts";
import { type HttpThreads, openHttpThreads } from "../../src/threads/http/threads.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { JournaledNotes } from "../../src/bureau/notes.ts";
import { createDecisionBudget } from "../../src/store/decisions/budget.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import { startStore } from "../../src/store/client.ts";
import { clock, NOW_MS } from "./_clock.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

const DAY_MS = 86_400_000;
const KEY = "spec-suite-admin-key-0123456789abcdefghijk";

/** The agents of the world and how they behaved. */
export const AGENTS = {
  trusted: "agent://spec/trusted",
  failing: "agent://spec/failing",
  newcomer: "agent://spec/newcomer",
  viewer: "agent://spec/viewer",
} as const;

/** One way to ask the service. */
export interface Door {
  name: string;
  verify(request: VerifyRequest): Promise<VerifyResponse>;
  check(subject: string, stakes: number): Promise<CheckResponse>;
  handshake(initiator: string, counterparty: string, stakes: number): Promise<HandshakeResponse>;
  report(outcome: OutcomeRequest): Promise<OutcomeReceipt>;
}

export interface World {
  /** Of the main thread, and of the further one, which has a port of its own here. */
  urls: readonly [string, string];
  key: string;
  bureau: Bureau;
  threads: HttpThreads;
  /** In which the further thread counts usage. */
  usageMemory: SharedArrayBuffer;
  doors: Door[];
  close(): Promise<void>;
}

export const principal: Principal = {
  keyId: "spec",
  tenant: "operator",
  scopes: new Set(["admin"]),
  minimumScores: MINIMUM_SCORES_DEFAULT,
  isShadow: false,
  isFirstParty: true,
  voice: 2,
};
let calls = 0;
const call = (): CallContext => ({ requestId: `spec-${(calls += 1)}`, principal });

/** Forty witnesses over two months: all succeed, or all of the last weeks fail. */
function history(): OutcomeRequest[] {
  return Array.from({ length: 40 }, (_, i) => {
    const settled = NOW_MS - (40 - i) * 1.5 * DAY_MS;
    const reporter = `agent://spec/witness-${i}`;
    const common = { reporter, stakes: 40, grade: "escrow" as const, settled_at: settled };
    return [
      { ...common, subject: AGENTS.trusted, outcome: 1 as const },
      { ...common, subject: AGENTS.failing, outcome: i < 10 ? (1 as const) : (0 as const) },
      { ...common, subject: AGENTS.viewer, outcome: 1 as const },
    ];
  }).flat();
}

/** Opens the world; close it when done. `decisions` takes what the main thread decides. */
export async function openWorld(decisions?: DecisionLog): Promise<World> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-spec-"));
  const engineMemory = createEngineMemory();
  const store = await startStore({ dataDir, log: () => undefined });
  const ledger = await startLedger({
    dataDir,
    engineMemory,
    onFatal: (code) => {
      throw new Error(`the ledger ended with ${code}`);
    },
    clock,
    storePort: store.ledgerPort,
  });
  const sources = openEvidenceVault(ledger, resolveDataPaths(dataDir).journal);
  const bureau = openBureau({
    engine: openEngineReader(engineMemory, 1),
    // As on the further thread: answers are the same on both.
    reviews: new ReviewDecisionCache(() => undefined),
    ledger,
    provenance: sources.assessor,
    clock,
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator(randomFillSync),
      isReservedEnabled: true,
    },
    ...(decisions === undefined ? {} : { decisions }),
  });
  await bureau.importOutcomes(history(), "spec", call());
  const keyring = await openKeyring({ dataDir, now: clock });
  keyring.installAdminKey(KEY);
  const server = await startHttpServer({
    adapter: "auto",
    host: "127.0.0.1",
    port: 0,
    bureau,
    keyring,
    store,
    notes: new JournaledNotes(ledger),
    clock,
    logger: quiet,
    health: { isReady: () => ({ ready: true, reasons: [] }) },
    version: "spec",
  });
  const further = await openThread({ ledger, sources, keyring, server });
  const urls = [server.port, further.port].map((port) => `http://127.0.0.1:${port}`);
  const [url = "", other = ""] = urls;
  return {
    urls: [url, other],
    key: KEY,
    bureau,
    threads: further.threads,
    usageMemory: further.usageMemory,
    doors: [directDoor(bureau), ...urls.flatMap((each) => [httpDoor(each), clientDoor(each)])],
    async close() {
      await further.threads.close(1000);
      await server.close();
      await sources.close();
      await ledger.close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const quiet = { info: () => {}, warn: () => {}, error: () => {} };

interface MainThread {
  ledger: OpenLedger;
  sources: OpenVault;
  keyring: Keyring;
  server: RunningHttpServer;
}

/** On another port than the main thread's, so that it is known who answers. */
async function openThread({ ledger, sources, keyring, server }: MainThread) {
  const host = "127.0.0.1";
  const port = await probePort(host, 0);
  const usageMemory = createUsageMemory();
  const threads: HttpThreads = await openHttpThreads({
    shared: {
      host,
      port,
      adapter: "auto",
      connectionsMax: 1000,
      version: "spec",
      engineMemory: ledger.engineMemory,
      vaultMemory: sources.vault.memory,
      decisionBudget: createDecisionBudget(1, 0),
      keys: keyring.listStoredKeys(),
      adminKey: KEY,
      keyEvents: [],
      conditions: [],
      policies: [],
      reviews: [],
      rateLimits: {},
      isReservedEnabled: true,
      isSignatureRequired: false,
      poolBytesMin: undefined,
      queueMsMax: 0,
      quotaMemory: createQuotaMemory(),
      isDebugLogged: false,
      watch: undefined,
    },
    ledger,
    decisionRings: [createDecisionRing()],
    usageMemories: [usageMemory],
    log: quiet,
    relay: (head, body) => server.relay(head, body),
    scorer: undefined,
    assess: sources.assessLater,
    onWatched: () => undefined,
    onRefused: () => undefined,
    onAsked: () => undefined,
    onBroken: () => {
      throw new Error("the further HTTP thread has failed");
    },
    entry: new URL("./_world-thread.ts", import.meta.url),
  });
  await threads.listen();
  return { threads, port, usageMemory };
}

function directDoor(bureau: Bureau): Door {
  return {
    name: "direct call",
    verify: async (request) => bureau.verify(request, call()),
    check: async (subject, stakes) => bureau.check({ subject, stakes }, call()),
    handshake: async (initiator, counterparty, stakes) =>
      bureau.handshake({ initiator, counterparty, stakes }, call()),
    report: (outcome) =>
      bureau.recordOutcome(outcome, {
        ...call(),
        body: Buffer.from(JSON.stringify(outcome)),
        idempotencyKey: undefined,
        traceparent: undefined,
      }),
  };
}

/** A POST with the world's key. */
export function post(url: string, route: string, body: unknown, key = KEY): Promise<Response> {
  return fetch(url + route, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function httpDoor(url: string): Door {
  const ask = async <Answer>(route: string, body: unknown): Promise<Answer> =>
    (await (await post(url, route, body)).json()) as Answer;
  return {
    name: "HTTP",
    verify: (request) => ask("/v1/trust/verify", request),
    check: (subject, stakes) => ask("/v1/check", { subject, stakes }),
    handshake: (initiator, counterparty, stakes) =>
      ask("/v1/handshake", { initiator, counterparty, stakes }),
    report: (outcome) => ask("/v1/outcomes", outcome),
  };
}

function clientDoor(url: string): Door {
  const client = new TrustRankClient({ baseUrl: url, apiKey: KEY, timeoutMs: WAIT_MS_MAX });
  return {
    name: "client",
    verify: (request) => client.verify(request),
    check: (subject, stakes) => client.check(subject, { stakes }),
    handshake: (initiator, counterparty, stakes) =>
      client.handshake(initiator, counterparty, { stakes }),
    report: (outcome) => client.reportOutcome(outcome),
  };
}
