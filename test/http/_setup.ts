// Starts a test server on a loopback port: real server, real keyring on a real directory, an
// in-memory bureau, a clock the test moves. `describeAdapters` runs one suite over both servers.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe } from "vitest";
import type { Scope } from "../../src/contract/vocabulary.ts";
import {
  type HttpServerOptions,
  type RunningHttpServer,
  startHttpServer,
} from "../../src/http/start.ts";
import { Console } from "../../src/http/console/console.ts";
import { type Keyring, openKeyring } from "../../src/http/access/keyring.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { MemoryBureau } from "./_bureau.ts";
import { notesTo, RowStore } from "./_row-store.ts";

export const ADAPTERS = ["uws", "node"] as const;
export type AdapterName = (typeof ADAPTERS)[number];

export const START_MS = Date.parse("2026-03-01T12:00:00.000Z");
export const ADMIN_SECRET = "an-admin-secret-of-the-operator-0123456789";

export interface TestServer {
  server: RunningHttpServer;
  bureau: MemoryBureau;
  keyring: Keyring;
  console: Console;
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
  const loopback = { mode: "loopback", hosts: [], isBoundToLoopback: true } as const;
  const console = new Console(
    { ...loopback, isInsecure: false, unitOfAccount: "EUR" },
    { keyring, clock: now, randomBytes },
  );
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
    notes: notesTo(options.store),
    clock: now,
    logger: { info: log, warn: log, error: log },
    health: { isReady: () => readiness },
    version: "0.0.0-test",
    console,
    figures: () => ({ config_info: [{ labels: ["c-0123456789abcdef"], value: 1 }], agents: 7 }),
    ...options,
  });
  const makeKey: TestServer["makeKey"] = async (scopes, more = {}) => {
    const { key } = await keyring.create({ tenant: "acme", scopes, ...more });
    return key;
  };
  const scopes: Scope[] = ["score:read", "outcomes:write", "analytics:read", "metrics:read"];
  return {
    server,
    bureau,
    keyring,
    console,
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

export interface RawOptions {
  /** Ends when this has come, or when the peer has closed. */
  until?: RegExp | "closed";
  /** Ends as soon as the server has taken what it was sent, whatever came. */
  isBrief?: boolean;
  /** Called with all that has come so far. */
  onText?: (text: string) => void;
}

/**
 * Sends bytes over a plain socket, piece by piece, and gives what came back until the peer closed
 * or `until` matched. Each piece follows when the server has taken the one before; a promise among
 * the pieces is waited for instead. Without `until`, a server that has taken everything and says
 * nothing is silent, which ends the call too.
 */
export function sendRaw(
  port: number,
  pieces: readonly (string | Buffer | Promise<unknown>)[],
  { until, isBrief = false, onText }: RawOptions = {},
): Promise<RawResult> {
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
    const timer = setTimeout(finish, WAIT_MS_MAX / 2, false);
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      onText?.(text);
      if (until instanceof RegExp && until.test(text)) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("close", () => finish(true));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") reject(error);
      else finish(true);
    });
    const sendAll = async () => {
      for (const piece of pieces) {
        if (piece instanceof Promise) {
          await piece;
          continue;
        }
        if (isDone) return;
        await new Promise((written) => socket.write(piece, written));
        if (piece !== pieces.at(-1)) await takeTurns(port);
      }
      if (until !== undefined && !isBrief) return;
      await takeTurns(port);
      if (text === "" || isBrief) finish(false);
    };
    void sendAll();
  });
}

/** Round trips after which a server has certainly taken what was sent before the first. */
const TURNS = 3;

/** Asks something harmless, each time on a connection of its own. */
async function takeTurns(port: number): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    await new Promise<void>((resolve) => {
      const request = http.get({ host: "127.0.0.1", port, path: "/healthz", agent: false });
      request.on("response", (response) => response.resume());
      request.on("error", () => resolve());
      request.on("close", () => resolve());
    });
  }
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
