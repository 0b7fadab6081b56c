// Services that the checks of `lines.test.ts` run against: the suite's world with the sample history, for answers over direct
// call, HTTP and client; and the service as a command starts it, for keys, runs, reviews and usage.
import { expect } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustRankError } from "../../src/client/errors.ts";
import type { FetchLike } from "../../src/client/runtime.ts";
import type { VerifyRequest, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { importSampleHistory } from "../../src/service/sample.ts";
import { type LiveService, startLiveService } from "../client/_live.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { NOW_MS } from "./_clock.ts";
import { type Door, openWorld, type World } from "./_world.ts";

export interface LineSetting {
  readonly world: World;
  readonly live: LiveService;
  /** Of the world's main thread. */
  readonly client: TrustRankClient;
  /** Requests that `client` has sent, by path. */
  readonly sent: string[];
  close(): Promise<void>;
}

/** The checks of one line, by where they run. */
export interface LineChecks {
  readonly all?: (door: Door, setting: LineSetting) => Promise<void>;
  readonly HTTP?: (setting: LineSetting) => Promise<void>;
  readonly client?: (setting: LineSetting) => Promise<void>;
  /** Gets the text of bench/RESULTS.md. */
  readonly figures?: (results: string) => void;
}

export async function openLineSetting(): Promise<LineSetting> {
  const [world, live] = await Promise.all([openWorld(), startLiveService()]);
  await importSampleHistory(world.bureau, NOW_MS);
  const sent: string[] = [];
  const client = openClient(world, (path) => sent.push(path));
  return {
    world,
    live,
    client,
    sent,
    async close() {
      await Promise.all([world.close(), live.stop()]);
    },
  };
}

/** A client of the world's main thread that tells the path of each request. */
export function openClient(
  world: World,
  onSent: (path: string) => void = () => undefined,
  agentId?: string,
): TrustRankClient {
  const counted: FetchLike = (url, init) => {
    const { pathname } = new URL(url);
    // A gateway follows the change feed beside the questions that it asks.
    if (pathname !== "/v1/changes") onSent(pathname);
    return fetch(url, init);
  };
  const common = { baseUrl: world.urls[0], apiKey: world.key, timeoutMs: WAIT_MS_MAX };
  const named = agentId === undefined ? {} : { agentId };
  return new TrustRankClient({ ...common, ...named, fetch: counted });
}

/** Reserved agents, whose answers are always the same. */
export const TEST_AGENTS = {
  connect: "agent://test/connect",
  verification: "agent://test/verify",
  escalate: "agent://test/escalate",
  refuse: "agent://test/refuse",
  hallucinated: "agent://test/hallucinated",
} as const;

/** Agents of the sample history, good and bad. */
export const SAMPLE_AGENTS = [
  "agent://acme/ledger-sync",
  "agent://acme/procurement-bot",
  "agent://globex/price-scout",
] as const;

export function ask(
  door: Door,
  agent: string,
  level: ToolLevel = "L2",
  more: Partial<VerifyRequest> = {},
): Promise<VerifyResponse> {
  const action = "order.place";
  return door.verify({ agent_id: agent, action, tool_level: level, context: {}, ...more });
}

let names = 0;
/** An agent that nobody has heard of. */
export function newAgent(): string {
  names += 1;
  return `agent://lines/new-${names}`;
}

interface ReportOptions {
  readonly count: number;
  readonly stakes: number;
  readonly grade: "escrow" | "self";
}

/** Reports that many outcomes about a subject, each by another reporter. */
export async function report(
  door: Door,
  subject: string,
  outcome: 0 | 1,
  { count = 1, stakes = 10, grade = "escrow" }: Partial<ReportOptions> = {},
): Promise<void> {
  for (let at = 0; at < count; at += 1)
    await door.report({ subject, reporter: `agent://lines/by-${at}`, outcome, stakes, grade });
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // Members of any answer: the checks look into it freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** A request as a caller without the library sends it; no `key`: with the administrator's. */
export async function send(
  { live }: LineSetting,
  method: string,
  path: string,
  body?: unknown,
  key: string | null = live.apiKey,
): Promise<Reply> {
  const headers = new Headers();
  if (key !== null) headers.set("authorization", `Bearer ${key}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  const init = body === undefined ? { method, headers } : { method, headers, body: toText(body) };
  const reply = await fetch(live.baseUrl + path, init);
  const text = await reply.text();
  const isJson = reply.headers.get("content-type")?.includes("json") === true;
  return {
    status: reply.status,
    headers: reply.headers,
    json: isJson && text !== "" ? JSON.parse(text) : text,
  };
}

function toText(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** Expects 400 that names the members at fault. */
export async function expectRefused(
  setting: LineSetting,
  path: string,
  body: object,
  ...pointers: string[]
): Promise<void> {
  const { status, json } = await send(setting, "POST", path, body);
  expect(status, JSON.stringify(json)).toBe(400);
  expect(json.errors.map((error: { pointer: string }) => error.pointer)).toEqual(pointers);
}

/** A key of a tenant. */
export async function makeKey(setting: LineSetting, members: object): Promise<string> {
  const { status, json } = await send(setting, "POST", "/v1/keys", members);
  expect(status, JSON.stringify(json)).toBe(201);
  return json.key as string;
}

/** Loads outcomes with their own times: so many of each, a day apart, by distinct reporters. */
export async function importHistory(
  setting: LineSetting,
  subject: string,
  outcomes: readonly (0 | 1)[],
): Promise<void> {
  const lines = outcomes.map((outcome, at) => ({
    subject,
    reporter: `agent://lines/by-${at}`,
    outcome,
    stakes: 40,
    grade: "escrow",
    settled_at: Date.now() - (outcomes.length - at) * 86_400_000,
  }));
  const body = lines.map((line) => JSON.stringify(line)).join("\n");
  const reply = await fetch(`${setting.live.baseUrl}/v1/outcomes/import`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${setting.live.apiKey}`,
      "content-type": "application/x-ndjson",
    },
    body,
  });
  expect(reply.status, await reply.text()).toBe(200);
}

/** Code of the error that a call ends with. */
export async function catchCode(call: Promise<unknown>): Promise<string> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(TrustRankError);
  return (thrown as TrustRankError).code;
}
