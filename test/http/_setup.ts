// Starts a test server on a loopback port: real server, real keyring on a real directory, an
// in-memory bureau, a clock the test moves. `describeAdapters` runs one suite over both servers.
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe } from "vitest";
import type { DecisionFilter, ReplayableLeg } from "../../src/contract/decisions.ts";
import { ServiceFault } from "../../src/contract/faults.ts";
import type { Scope } from "../../src/contract/vocabulary.ts";
import {
  type HttpServerOptions,
  type RunningServer,
  startHttpServer,
} from "../../src/http/start.ts";
import { type Keyring, openKeyring } from "../../src/http/access/keyring.ts";
import type { Store } from "../../src/store/store.ts";
import { MemoryBureau } from "./_bureau.ts";

export const ADAPTERS = ["uws", "node"] as const;
export type AdapterName = (typeof ADAPTERS)[number];

export const START_MS = Date.parse("2026-03-01T12:00:00.000Z");
export const ADMIN_SECRET = "an-admin-secret-of-the-operator-0123456789";

/**
 * A store that answers from fixed rows: what the transport does with a result is what is tested.
 */
export class RowStore implements Store {
  /** Tenants that were asked for; undefined stands for all. */
  readonly tenants: (string | undefined)[] = [];

  async query(sql: string, _limits?: unknown, tenant?: string) {
    this.tenants.push(tenant);
    if (!/^select /i.test(sql)) throw new ServiceFault("query_rejected", "only `SELECT` is taken");
    return {
      columns: [
        { name: "subject", type: "VARCHAR" },
        { name: "failures", type: "BIGINT" },
      ],
      rows: [
        ["agent://otc/1", 3],
        ['with "quotes", commas', null],
      ],
      isTruncated: false,
      elapsedMs: 1.5,
    };
  }

  readonly noted: { table: string; event: object }[] = [];
  legs: ReplayableLeg[] = [];
  /** While set, notes wait for it. */
  hold: Promise<void> | undefined = undefined;

  async decisions(filter: DecisionFilter) {
    return this.legs
      .filter((leg) => filter.tenant === undefined || leg.tenant === filter.tenant)
      .filter((leg) => filter.requestId === undefined || leg.request_id === filter.requestId)
      .filter((leg) => filter.agent === undefined || leg.subject === filter.agent)
      .filter((leg) => Date.parse(leg.evaluated_at) >= (filter.sinceMs ?? 0))
      .slice(0, filter.limit);
  }

  async reviews(filter: DecisionFilter) {
    return (await this.decisions(filter)).filter((leg) => leg.flagged).map((leg) => ({ ...leg }));
  }

  async findSigned() {
    return {};
  }

  async note(table: string, event: object): Promise<void> {
    this.noted.push({ table, event });
    await this.hold;
  }

  async exportDays(_view: string, _sinceMs: number, tenant?: string) {
    this.tenants.push(tenant);
    return ["2026-01-31"];
  }

  async exportDay(_view: string, _day: string, _sinceMs: number, tenant?: string) {
    this.tenants.push(tenant);
    return new TextEncoder().encode("PAR1");
  }

  notify(): void {}

  async appliedUpTo(): Promise<void> {}

  async close(): Promise<void> {}
}

export interface TestServer {
  server: RunningServer;
  bureau: MemoryBureau;
  keyring: Keyring;
  base: string;
  /** A key with every scope that is not `admin`. */
  key: string;
  admin: string;
  clock: { nowMs: number };
  readiness: { ready: boolean; reasons: string[] };
  logged: { message: string; fields: unknown }[];
  makeKey(scopes: Scope[], options?: { expiresAtMs?: number; isShadow?: boolean }): Promise<string>;
  stop(): Promise<void>;
}

export async function openTestServer(
  adapter: AdapterName,
  options: Partial<HttpServerOptions> = {},
): Promise<TestServer> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-http-"));
  const clock = { nowMs: START_MS };
  const now = () => clock.nowMs;
  const keyring = await openKeyring({ dataDir, now });
  keyring.installAdminKey(ADMIN_SECRET);
  const bureau = new MemoryBureau(now);
  const readiness = { ready: true, reasons: [] as string[] };
  const logged: TestServer["logged"] = [];
  const log = (message: string, fields?: unknown) => void logged.push({ message, fields });
  const server = await startHttpServer({
    adapter,
    host: "127.0.0.1",
    port: 0,
    bureau,
    keyring,
    store: new RowStore(),
    clock: now,
    logger: { info: log, warn: log, error: log },
    health: { isReady: () => readiness },
    version: "0.0.0-test",
    healthFigures: () => ({ configVersion: "c-0123456789abcdef", agents: 7, gauges: { lag: 2 } }),
    ...options,
  });
  const makeKey: TestServer["makeKey"] = async (scopes, more = {}) => {
    const { key } = await keyring.create({ tenant: "acme", scopes, ...more });
    return key;
  };
  const scopes: Scope[] = ["score:read", "outcomes:write", "analytics:read"];
  return {
    server,
    bureau,
    keyring,
    base: `http://127.0.0.1:${server.port}`,
    key: await makeKey(scopes),
    admin: ADMIN_SECRET,
    clock,
    readiness,
    logged,
    makeKey,
    async stop() {
      await server.close(1000);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The same suite over every adapter. */
export function describeAdapters(name: string, suite: (adapter: AdapterName) => void): void {
  for (const adapter of ADAPTERS) {
    describe(`${name} (${adapter})`, () => {
      suite(adapter);
    });
  }
}

export interface RawResult {
  text: string;
  isClosed: boolean;
}

/**
 * Sends bytes over a plain socket, piece by piece, and gives what came back until the peer closed,
 * `until` matched, or `waitMs` passed.
 */
export function sendRaw(
  port: number,
  pieces: readonly (string | Buffer)[],
  options: { waitMs?: number; gapMs?: number; until?: RegExp } = {},
): Promise<RawResult> {
  const { waitMs = 700, gapMs = 60, until } = options;
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1");
    let text = "";
    let isDone = false;
    const finish = (isClosed: boolean) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, isClosed });
    };
    const timer = setTimeout(finish, waitMs, false);
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (until?.test(text) === true) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("close", () => finish(true));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") reject(error);
      else finish(true);
    });
    for (const [index, piece] of pieces.entries()) {
      setTimeout(() => void (isDone || socket.write(piece)), index * gapMs);
    }
  });
}

/** Status codes of the responses in a raw byte stream, in order. */
export function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((found) => Number(found[1]));
}

export const VERIFY_BODY = {
  agent_id: "agent://acme/buyer",
  action: "payments.transfer",
  tool_level: "L3",
  context: {
    content_hash: `sha256:${"ab".repeat(32)}`,
    cited_sources: ["doc:1", "doc:2"],
    session_duration_sec: 420,
  },
};
export const CHECK_BODY = { subject: "agent://acme/buyer", stakes: 250 };
export const HANDSHAKE_BODY = {
  initiator: "agent://acme/buyer",
  counterparty: "agent://shop/seller",
  stakes: 99.5,
};
export const OUTCOME_BODY = {
  subject: "agent://shop/seller",
  reporter: "agent://acme/buyer",
  outcome: 1,
  stakes: 99.5,
  grade: "counterparty",
};
