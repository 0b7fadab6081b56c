// The change feed of a real process over four HTTP threads: every thread announces every change, a follower
// resumes after a cut and after kill -9, and clients that had cached a verdict ask again.
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { generateSigningKey } from "../../../src/client/reporting/sign.ts";
import { endAll, startCommand, type Started } from "../../cli/_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-changes-"));
const ADMIN_KEY = "changes-suite-admin-key-0123456789abcdefghij";
/** Connections in a row that leave no thread of four without one, but for a chance of one in a million. */
const STREAMS = 48;

interface Change {
  position: string;
  kind: string;
  tenant: string | null;
  agent: string | null;
  version: string | null;
}

const eventually = (isSo: () => boolean | Promise<boolean>) => expect.poll(isSo).toBe(true);

/** One event stream: what it has received, until it is closed or cut. */
class Stream {
  readonly changes: Change[] = [];
  position = "";
  heartbeats = 0;
  status = 0;
  isEnded = false;
  readonly #request: http.ClientRequest;

  constructor(url: string, since?: string, key = ADMIN_KEY) {
    const query = since === undefined ? "" : `?since=${since}`;
    const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
    let text = "";
    this.#request = http
      .get(`${url}/v1/changes${query}`, { agent: false, headers }, (response) => {
        this.status = response.statusCode ?? 0;
        response.on("error", () => undefined).on("close", () => (this.isEnded = true));
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
          const events = text.split("\n\n");
          text = events.pop()!;
          for (const event of events) this.#take(event);
        });
      })
      .on("error", () => (this.isEnded = true));
  }

  #take(event: string): void {
    this.position = /^id: (.+)$/m.exec(event)![1]!;
    const data = JSON.parse(/^data: (.+)$/m.exec(event)![1]!) as Change;
    if (event.includes("event: change")) this.changes.push(data);
    else this.heartbeats += 1;
  }

  close(): void {
    this.#request.destroy();
  }
}

async function start(dataDir: string): Promise<{ started: Started; url: string }> {
  const started = startCommand(
    ["serve", "--port", "0", "--json", "--http-threads", "4", "--no-sample", "--data-dir", dataDir],
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY, TRUSTRANK_KAIZEN: "off" },
  );
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

describe("changes over four HTTP threads", () => {
  const dataDir = join(folder, "data");
  let service: { started: Started; url: string };
  beforeAll(async () => {
    service = await start(dataDir);
  });

  // oxlint-disable-next-line typescript/no-explicit-any
  async function call(method: string, path: string, body?: unknown, key = ADMIN_KEY): Promise<any> {
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }

  const makeKey = async (tenant: string, scopes: string[]) =>
    (await call("POST", "/v1/keys", { tenant, scopes })).json.key as string;

  /** Gives an agent a signing key; returns what revokes it. */
  async function registerAgentKey(agentId: string): Promise<() => Promise<unknown>> {
    const { keyPair } = await generateSigningKey();
    const client = new TrustRankClient({ baseUrl: service.url, apiKey: ADMIN_KEY });
    const signer = await client.registerKey({ keyPair, agentId });
    const path = `/v1/agents/${encodeURIComponent(agentId)}/keys/revoke`;
    return () => call("POST", path, { kid: signer.kid });
  }

  it("tells followers of every thread, its tenant's changes and the service's", async () => {
    const streams = Array.from({ length: STREAMS }, () => new Stream(service.url));
    const foreign = new Stream(service.url, undefined, await makeKey("other", ["score:read"]));
    const all = [...streams, foreign];
    await eventually(() => all.every(({ position }) => position !== ""));
    const polled = call("GET", `/v1/changes?since=${streams[0]!.position}&wait=60`);
    expect((await call("PUT", "/v1/policy", { levels: {} })).status).toBe(200);
    await eventually(() => streams.every(({ changes }) => changes.length > 0));
    const [policy] = streams[0]!.changes;
    expect(policy).toMatchObject({ kind: "policy", tenant: "operator", agent: null });
    expect(policy!.version).toMatch(/^p-[0-9a-f]{16}$/);
    for (const { changes } of streams) expect(changes).toEqual([policy]);
    expect((await polled).json.changes).toEqual([policy]);
    await registerAgentKey("agent://changes/first");
    await eventually(() => all.every(({ changes }) => changes.at(-1)?.kind === "key"));
    for (const { changes } of all) {
      expect(changes.at(-1)).toMatchObject({ tenant: null, agent: "agent://changes/first" });
    }
    expect(foreign.changes.map(({ kind }) => kind)).not.toContain("policy");
    for (const stream of all) stream.close();
  });

  it("resumes after a cut and after kill -9; a position that never was is gone", async () => {
    const cut = new Stream(service.url);
    await eventually(() => cut.position !== "");
    cut.close();
    await call("PUT", "/v1/policy", { levels: { L3: { allow_up_to: 0.04 } } });
    const resumed = new Stream(service.url, cut.position);
    await eventually(() => resumed.changes.length === 1);
    const [change] = resumed.changes;
    service.started.process.kill("SIGKILL");
    await service.started.ended;
    await eventually(() => resumed.isEnded);
    service = await start(dataDir);
    const again = new Stream(service.url, cut.position);
    await eventually(() => again.changes.length === 1);
    expect(again.changes).toEqual([change]);
    again.close();
    const [journal, digits] = change!.position.split("-");
    for (const since of [`${journal}-${Number(digits) + 1000}`, "00000000-1"]) {
      const gone = await call("GET", `/v1/changes?since=${since}`);
      expect([gone.status, gone.json.code]).toEqual([410, "change_position_gone"]);
    }
    expect((await call("GET", "/v1/changes?since=7")).json.code).toBe("invalid_parameter");
    expect((await call("GET", "/v1/changes?wait=61")).json.code).toBe("invalid_parameter");
  });

  it("a revoked agent's cached verdict ends in a gateway and in a client that caches", async () => {
    const agentId = "agent://changes/second";
    const revoke = await registerAgentKey(agentId);
    const apiKey = await makeKey("acme", ["score:read"]);
    const options = { baseUrl: service.url, apiKey, timeoutMs: 30_000 };
    const client = new TrustRankClient({ ...options, cache: {} });
    const gateway = new TrustGateway({ client: new TrustRankClient(options) });
    const ask = () => gateway.authorize({ agentId, action: "a.b", toolLevel: "L0" });
    const check = () => client.check(agentId, { stakes: 0 });
    expect((await ask()).word).toBe("ALLOW");
    const before = await check();
    expect((await ask()).isCached).toBe(true);
    // Their feeds are open: a change of the tenant's policy drops everything.
    const count = () => gateway.counts.asked;
    const asked = count();
    await eventually(async () => {
      await call("PUT", "/v1/policy?tenant=acme", { levels: {} });
      await ask();
      return count() > asked;
    });
    await check();
    expect((await revoke()) as { status: number }).toMatchObject({ status: 200 });
    // At L0 a denial is flagged and let through (SPEC §8.2).
    await eventually(async () => (await ask()).reason === "DENIAL_FLAGGED_FOR_REVIEW");
    await eventually(async () => (await check()).decision !== before.decision);
    gateway.close();
    client.close();
  });

  it("a suspended agent's cached verdict ends in a gateway, and so does everybody's by a stop", async () => {
    const agentId = "agent://changes/third";
    const apiKey = await makeKey("acme", ["score:read"]);
    const operator = await makeKey("acme", ["conditions:restrict", "score:read"]);
    const options = { baseUrl: service.url, apiKey, timeoutMs: 30_000 };
    const gateway = new TrustGateway({ client: new TrustRankClient(options) });
    const follower = new Stream(service.url, undefined, apiKey);
    await eventually(() => follower.position !== "");
    const ask = () => gateway.authorize({ agentId, action: "a.b", toolLevel: "L0" });
    const word = (wanted: string) => eventually(async () => (await ask()).word === wanted);
    const path = `/v1/agents/${encodeURIComponent(agentId)}/condition`;
    const reason = { code: "fraud", text: "seen twice" };
    for (const subject of [path, "/v1/namespaces/changes/condition"]) {
      await word("ALLOW");
      const set = await call("PUT", subject, { state: "suspended", reason }, operator);
      expect(set.status, JSON.stringify(set.json)).toBe(200);
      await word("BLOCK");
      expect((await call("DELETE", subject, undefined, operator)).status).toBe(200);
    }
    await word("ALLOW");
    expect((await call("PUT", "/v1/stop", { reason }, operator)).status).toBe(200);
    await word("BLOCK");
    expect((await call("DELETE", "/v1/stop", undefined, operator)).status).toBe(200);
    await word("ALLOW");
    await eventually(() => follower.changes.length >= 6);
    const named = follower.changes.map(({ kind, agent }) => `${kind} ${agent ?? ""}`);
    const agent = `condition ${agentId}`;
    expect(named).toEqual([agent, agent, "condition ", "condition ", "stop ", "stop "]);
    expect(JSON.stringify(follower.changes)).not.toContain("seen twice");
    follower.close();
    gateway.close();
  });

  it("ends its streams when it ends, and does not wait for them", async () => {
    const stream = new Stream(service.url);
    await eventually(() => stream.position !== "");
    service.started.process.kill("SIGTERM");
    const { code, stderr } = await service.started.ended;
    expect(stream.isEnded).toBe(true);
    expect(code, stderr).toBe(0);
  });
});
