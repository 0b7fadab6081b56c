// Promises to people who review: a held back agent is one review on whichever thread it asks, the
// decision answers who waits and is in force on every thread, and kill -9 loses none of it. Real
// processes, real command line.
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import type { QueuedReview } from "../../src/contract/schemas/reviews.ts";
import type { CheckResponse, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { endAll, runCommand, startCommand } from "../cli/_process.ts";
import { stretched } from "../_patience.ts";

const KEY = "review-suite-admin-key-0123456789abcdefghijk";
const AGENT = "agent://acme/procurement-bot";
const HTTP_THREADS = 3;
/** The kernel deals connections out: with so many every thread has one. */
const CONNECTIONS = 24;
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-reviews-"));

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string) {
  const at = ["--data-dir", path.join(folder, name), "--http-threads", String(HTTP_THREADS)];
  const started = startCommand(["serve", "--port", "0", "--json", ...at], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

interface Answer<Body> {
  status: number;
  body: Body;
}

/** On a connection of its own. */
function send<Body>(url: string, method: string, route: string, body?: unknown, key = KEY) {
  return new Promise<Answer<Body>>((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (text !== undefined) headers["content-type"] = "application/json";
    const request = http.request(url + route, { method, headers, agent: false }, (response) => {
      let received = "";
      response.on("data", (piece) => (received += piece));
      response.on("end", () =>
        resolve({ status: response.statusCode!, body: JSON.parse(received) as Body }),
      );
    });
    request.on("error", reject);
    request.end(text);
  });
}

const check = (url: string, stakes: number, key = KEY) =>
  send<CheckResponse>(url, "POST", "/v1/check", { subject: AGENT, stakes }, key);

const onAllThreads = <Value>(ask: () => Promise<Value>) =>
  Promise.all(Array.from({ length: CONNECTIONS }, ask));

/** Looks alone: the stakes of calls before would count. */
async function stakesToEscalate(url: string): Promise<number> {
  for (let stakes = 1; stakes < 1e9; stakes *= 1.5) {
    const body = { subject: AGENT, stakes, reserve: false };
    const answer = await send<CheckResponse>(url, "POST", "/v1/check", body);
    if (answer.body.decision === "escalate") return stakes;
  }
  throw new Error("no stakes escalate");
}

test(
  "one review for all threads; its decision answers who waits, holds everywhere, outlives kill -9",
  async () => {
    const first = await start("kill");
    const stakes = await stakesToEscalate(first.url);
    const held = await onAllThreads(() => check(first.url, stakes));
    const ids = new Set(held.map(({ body }) => body.review?.id));
    expect(ids.size).toBe(1);
    const [id] = [...ids] as [string];
    const route = `/v1/reviews/${id}`;

    // Whoever waits, on any thread, is answered by the decision, not by the clock.
    const began = Date.now();
    const waiting = onAllThreads(() =>
      send<QueuedReview>(first.url, "GET", held[0]!.body.review!.wait),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    const claimed = await send<QueuedReview>(first.url, "POST", `${route}/claim`, { who: "ann" });
    expect(claimed.body).toMatchObject({ state: "claimed", claimed_by: "ann", agent: AGENT });
    const taken = await send(first.url, "POST", `${route}/claim`, { who: "ben" });
    expect(taken).toMatchObject({ status: 409, body: { code: "review_claimed" } });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const request = {
      decision: "overturned",
      until,
      max_stakes: "any",
      note: "known to us",
      who: "ann",
    };
    const decided = await send<QueuedReview>(first.url, "POST", `${route}/decision`, request);
    expect(decided).toMatchObject({
      status: 200,
      body: { state: "decided", decision: "overturned", in_force: true, until, decided_by: "ann" },
    });
    for (const { body } of await waiting) expect(body.decision).toBe("overturned");
    expect(Date.now() - began).toBeLessThan(20_000);
    for (const { body } of await onAllThreads(() => check(first.url, stakes))) {
      expect([body.decision, body.reason_codes]).toEqual(["connect", ["REVIEW_OVERTURNED"]]);
    }
    const listed = await send<{ reviews: QueuedReview[]; next: null }>(
      first.url,
      "GET",
      `/v1/reviews?state=decided&agent=${encodeURIComponent(AGENT)}`,
    );
    expect(listed.body.reviews.map((review) => review.id)).toContain(id);
    const disputed = { agent: AGENT, decision: held[0]!.body.request_id, statement: "not us" };
    const sent = await onAllThreads(() =>
      send<{ id: string }>(first.url, "POST", "/v1/disputes", disputed),
    );
    const disputeIds = sent.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect([disputeIds.length, new Set(disputeIds).size]).toEqual([3, 3]);
    first.started.process.kill("SIGKILL");
    await first.started.ended;

    const second = await start("kill");
    for (const { body } of await onAllThreads(() => check(second.url, stakes))) {
      expect(body.decision).toBe("connect");
    }
    const audited = await audits(second.url);
    const disputes = ["review.disputed", "review.disputed", "review.disputed"];
    // Before them stand those of the sample.
    expect(audited.slice(-5)).toEqual(["review.claimed", "review.decided", ...disputes]);
    const queued = await send<{ reviews: QueuedReview[] }>(
      second.url,
      "GET",
      `/v1/reviews?kind=dispute&state=open&agent=${encodeURIComponent(AGENT)}`,
    );
    expect(queued.body.reviews.map(({ id: each }) => each).toSorted()).toEqual(
      disputeIds.toSorted(),
    );
    const fourth = await send(second.url, "POST", "/v1/disputes", disputed);
    expect(fourth).toMatchObject({ status: 429, body: { code: "disputes_limited" } });
    const kept = await send<QueuedReview>(second.url, "GET", route);
    expect(kept.body).toMatchObject({ decision: "overturned", note: "known to us" });

    const anew = { decision: "upheld", again: true };
    expect((await send(second.url, "POST", `${route}/decision`, anew)).status).toBe(200);
    for (const { body } of await onAllThreads(() => check(second.url, stakes))) {
      expect([body.decision, body.reason_codes[0]]).toEqual(["refuse", "REVIEW_UPHELD"]);
    }
    second.started.process.kill("SIGTERM");
    expect((await second.started.ended).code).toBe(0);
  },
  stretched(120_000),
);

async function audits(url: string): Promise<string[]> {
  const sql = "SELECT event FROM audit_events WHERE event LIKE 'review.%' ORDER BY position";
  for (let tries = 0; ; tries += 1) {
    const answer = await send<{ rows?: string[][] }>(url, "POST", "/v1/query", { sql });
    const rows = answer.body.rows ?? [];
    if (rows.length >= 5 || tries > 50) return rows.flat();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test(
  "a pooled batch opens the same reviews and goes by what was decided on them",
  async () => {
    const { started, url } = await start("pool");
    const stakes = await stakesToEscalate(url);
    const item = {
      agent_id: AGENT,
      action: "payments.send",
      tool_level: "L2",
      stakes,
      context: {},
    };
    const one = (await send<VerifyResponse>(url, "POST", "/v1/trust/verify", item)).body;
    expect(one.review).toBeDefined();
    // They only look: together they would be above what the reviewer lets through.
    const items = Array.from({ length: 400 }, () => ({ ...item, reserve: false }));
    type Batch = { items: { result: VerifyResponse }[] };
    const batch = () => send<Batch>(url, "POST", "/v1/trust/verify/batch", { items });
    const before = (await batch()).body.items;
    expect(new Set(before.map(({ result }) => result.review?.id))).toEqual(
      new Set([one.review!.id]),
    );
    const route = `/v1/reviews/${one.review!.id}`;
    const until = Date.now() + 60_000;
    const request = { decision: "overturned", until, max_stakes: stakes };
    await send(url, "POST", `${route}/decision`, request);
    const after = (await batch()).body.items;
    expect(new Set(after.map(({ result }) => result.policy_action.log_reason))).toEqual(
      new Set(["REVIEW_OVERTURNED"]),
    );
    const { body } = await send<QueuedReview>(url, "GET", route);
    expect(body).toMatchObject({ level: "L2", first_stakes: stakes, stakes_max: stakes });
    started.process.kill("SIGTERM");
    await started.ended;
  },
  stretched(60_000),
);

test(
  "a service that ends releases who waits; the commands work on its files and through it",
  async () => {
    const dataDir = path.join(folder, "commands");
    const first = await start("commands");
    const stakes = await stakesToEscalate(first.url);
    const { body } = await check(first.url, stakes);
    const id = body.review!.id;
    const wait = send<QueuedReview>(first.url, "GET", `/v1/reviews/${id}?wait=60`);
    // The wait was sent before these, so that the service has it when they are answered.
    for (let reads = 0; reads < 3; reads++) await send(first.url, "GET", `/v1/reviews/${id}`);
    first.started.process.kill("SIGTERM");
    expect((await wait).body).toMatchObject({ id, state: "open" });
    expect((await first.started.ended).code).toBe(0);

    const at = ["--data-dir", dataDir, "--json"];
    const listed = await runCommand(["reviews", "list", ...at]);
    const queue = (JSON.parse(listed.stdout) as { reviews: { id: string }[] }).reviews;
    expect(queue.find((review) => review.id === id)).toMatchObject({ state: "open", agent: AGENT });
    const missing = ["reviews", "decide", id, "--decision", "overturned", ...at];
    expect((await runCommand(missing)).code).toBe(1);
    const unbound = await runCommand([...missing, "--until", "2099-01-01"]);
    expect([unbound.code, unbound.stderr]).toEqual([1, expect.stringContaining("max_stakes")]);
    const any = ["--max-stakes", "any"];
    const decided = await runCommand([...missing, "--until", "2099-01-01", ...any]);
    expect([decided.code, decided.stderr]).toEqual([1, expect.stringMatching(/90 days/)]);
    const upheld = ["reviews", "decide", id, "--decision", "upheld", "--who", "ann", ...at];
    expect(JSON.parse((await runCommand(upheld)).stdout)).toMatchObject({ decided_by: "ann" });

    const second = await start("commands");
    expect((await check(second.url, stakes)).body.decision).toBe("refuse");
    const shown = await runCommand(["reviews", "show", id, "--data-dir", dataDir], {
      TRUSTRANK_KEY: KEY,
    });
    expect(shown.stdout).toMatch(/^decision +upheld$/m);
    second.started.process.kill("SIGKILL");
  },
  stretched(120_000),
);

test(
  "a key without the scope decides nothing, and another tenant's review is not there",
  async () => {
    const { started, url } = await start("scopes");
    const stakes = await stakesToEscalate(url);
    const keyOf = async (tenant: string, scopes: string[]) =>
      (await send<{ key: string }>(url, "POST", "/v1/keys", { tenant, scopes })).body.key;
    const reader = await keyOf("acme", ["score:read"]);
    const reviewer = await keyOf("acme", ["reviews:decide", "score:read"]);
    const stranger = await keyOf("globex", ["reviews:decide", "score:read"]);
    const id = (await check(url, stakes, reader)).body.review!.id;
    const route = `/v1/reviews/${id}`;
    const upheld = { decision: "upheld" };
    const decide = (key: string) => send(url, "POST", `${route}/decision`, upheld, key);
    expect(await decide(reader)).toMatchObject({ status: 403 });
    expect(await decide(stranger)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await send(url, "GET", route, undefined, stranger)).status).toBe(404);
    expect((await decide(reviewer)).status).toBe(200);
    expect(await decide(reviewer)).toMatchObject({ status: 409, body: { code: "review_decided" } });
    for (const query of ["state=odd", "level=L9&state=open", "state=open&after=x", "wait=61"]) {
      const at = query.startsWith("wait") ? `${route}?${query}` : `/v1/reviews?${query}`;
      expect((await send(url, "GET", at)).body).toMatchObject({ code: "invalid_parameter" });
    }
    const bad = { decision: "overturned", max_stakes: -1, who: "", more: 1 };
    const refused = await send<{ errors: { pointer: string }[] }>(
      url,
      "POST",
      `${route}/decision`,
      bad,
    );
    expect(refused.body.errors.map(({ pointer }) => pointer).toSorted()).toEqual([
      "/max_stakes",
      "/more",
      "/who",
    ]);
    started.process.kill("SIGKILL");
  },
  stretched(60_000),
);
