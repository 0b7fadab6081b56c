// Routes for those who were refused, in the service as it starts: the signed report, the page, the
// link that opens it without a key, the dispute and what its decision does; and what none of them may
// tell or do.
import { createPublicKey, verify } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentReport, ReportLink } from "../../../src/contract/schemas/disputes.ts";
import type { QueuedReview } from "../../../src/contract/schemas/reviews.ts";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { startService } from "../../../src/service/start.ts";
import type { Service } from "../../../src/service/start.ts";

const ADMIN_KEY = "report-http-test-key-of-enough-length";
const AGENT = "agent://acme/procurement-bot";
const HOSTILE = 'agent <img src=x onerror=alert(1)> \u202egnp.\u200b"';
const dataDir = mkdtempSync(join(tmpdir(), "reports-http-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;
let acme: string;
let globex: string;

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: true },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
  acme = await makeKey("acme");
  globex = await makeKey("globex");
});
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Sent {
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
  readonly form?: Record<string, string>;
}

async function send(method: string, path: string, body?: unknown, more: Sent = {}) {
  const { key = acme, form } = more;
  const headers: Record<string, string> = { "content-type": "application/json", ...more.headers };
  if (key !== null) headers["authorization"] = `Bearer ${key}`;
  const payload = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(service.url + path, {
    method,
    headers,
    body: form === undefined ? payload : new URLSearchParams(form).toString(),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const { status } = response;
  return { status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

async function makeKey(
  tenant: string,
  scopes = ["score:read", "reviews:decide", "analytics:read"],
) {
  const made = await send("POST", "/v1/keys", { tenant, scopes }, { key: ADMIN_KEY });
  return made.body.key as string;
}

async function denial(key = acme, agent = AGENT) {
  for (let stakes = 1; stakes < 1e9; stakes *= 1.5) {
    const asked = { subject: agent, stakes, reserve: false };
    const { body } = await send("POST", "/v1/check", asked, { key });
    if (body.decision === "escalate") return { stakes, id: body.request_id as string };
  }
  throw new Error("no stakes escalate");
}

/** A decision of a moment ago may still be on its way into the log. */
async function untilLogged<Answer extends { status: number }>(ask: () => Promise<Answer>) {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    if (answer.status !== 504 || tries > 100) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const reportOf = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}/report`;
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

async function share(agent: string, key = acme): Promise<ReportLink> {
  const made = await send("POST", `${reportOf(agent)}/links`, {}, { key });
  expect(made.status).toBe(201);
  return made.body as ReportLink;
}

describe("the report", () => {
  it("says what counts and what helps, signed by a published key, and the tenant's own alone", async () => {
    const mine = await denial();
    const theirs = await denial(globex);
    const isLogged = async () => (await send("GET", reportOf(AGENT))).body.denials.length > 0;
    await expect.poll(isLogged, { timeout: 20_000 }).toBe(true);
    const { status, body } = await send("GET", reportOf(AGENT));
    expect(status).toBe(200);
    const report = body as AgentReport;
    expect(report).toMatchObject({ agent_id: AGENT, tenant: "acme", known: false });
    expect(report.against.length).toBeGreaterThan(0);
    for (const { sentence, remedy } of report.against) {
      expect([sentence, remedy].every((text) => text.length > 20)).toBe(true);
    }
    const denied = report.denials.map(({ request_id: id }) => id);
    expect(denied).toContain(mine.id);
    expect(denied).not.toContain(theirs.id);
    expect(report.reviews).toMatchObject([{ kind: "held", state: "open" }]);
    expect(JSON.stringify(report)).not.toContain("globex");

    const [header = "", payload = "", signature = ""] = report.jws.split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    const { body: set } = await send("GET", "/.well-known/jwks.json", undefined, { key: null });
    const jwk = set.keys.find(({ kid }: { kid: string }) => kid === report.kid);
    const { kty, crv, x } = jwk;
    const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" });
    const isGood = verify(
      null,
      Buffer.from(`${header}.${payload}`),
      key,
      Buffer.from(signature, "base64url"),
    );
    expect(isGood).toBe(true);
    expect(read(header)).toEqual({ alg: "EdDSA", kid: report.kid, typ: "agent-report+jws" });
    const { jws: _jws, kid: _kid, ...signed } = report;
    const { iss, iat, ...said } = read(payload);
    expect(said).toEqual(signed);
    expect([iss, Math.abs(iat - Date.now() / 1000) < 60]).toEqual([report.service_id, true]);
  });

  it("is a page where one is asked for, in which everything from outside is text", async () => {
    for (const [path, headers] of [
      [reportOf(HOSTILE), HTML],
      [`${reportOf(HOSTILE)}?format=html`, {}],
    ] as const) {
      const page = await send("GET", path, undefined, { headers });
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      const policy = page.headers.get("content-security-policy");
      expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/);
      expect(page.headers.get("referrer-policy")).toBe("no-referrer");
      expect(page.text).toContain("&lt;img src=x onerror=alert(1)&gt;");
      expect(page.text).toContain("\\u{202e}gnp.\\u{200b}");
      expect(page.text).not.toMatch(/<img|<script|<form|[\u200b\u202e]/);
    }
    const odd = await send("GET", `${reportOf(AGENT)}?format=pdf`);
    expect(odd).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });

  it("opens by a link without a key: that report, until its time, for as long as the key lives", async () => {
    const key = await makeKey("acme");
    const { url, token, expires_at, tenant } = await share(AGENT, key);
    expect(tenant).toBe("acme");
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    const page = await send("GET", url, undefined, { key: null, headers: HTML });
    expect(page.status).toBe(200);
    expect(page.text).toContain(`name="link" value="${token}"`);
    const data = await send("GET", `${url}&format=json`, undefined, { key: null });
    expect(data.body).toMatchObject({ agent_id: AGENT, tenant: "acme" });
    const [part = "", seal = ""] = token.split(".");
    const other = Buffer.from(part, "base64url").toString().replace("acme", "acne");
    for (const forged of [
      "",
      ".",
      part,
      `${part}.`,
      `${Buffer.from(other).toString("base64url")}.${seal}`,
    ]) {
      const answer = await send("GET", `/v1/shared-reports?token=${forged}`, undefined, {
        key: null,
      });
      expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
    }
    const reader = await makeKey("acme", ["score:read"]);
    const refused = await send("POST", `${reportOf(AGENT)}/links`, {}, { key: reader });
    expect(refused.status).toBe(403);
    const bad = await send("POST", `${reportOf(AGENT)}/links`, { valid_sec: 59 });
    expect(bad.body.errors).toMatchObject([{ pointer: "/valid_sec", code: "range" }]);
    const id = key.split("_")[2];
    expect((await send("DELETE", `/v1/keys/${id}`, undefined, { key: ADMIN_KEY })).status).toBe(
      200,
    );
    expect((await send("GET", url, undefined, { key: null })).status).toBe(404);
  });
});

describe("a dispute", () => {
  it("joins the queue, and its decision does what a review's does", async () => {
    const agent = AGENT;
    const { id, stakes } = await denial();
    const statement = "The bank recalled it.\n<b>not us</b> \u202e";
    const sent = await untilLogged(() =>
      send("POST", "/v1/disputes", { agent, decision: id, statement }),
    );
    expect(sent.status).toBe(201);
    expect(sent.body).toMatchObject({ agent, level: "connect", state: "open", request_id: id });
    const { body: page } = await send("GET", "/v1/reviews?kind=dispute");
    const [review] = page.reviews as QueuedReview[];
    expect(review).toMatchObject({
      id: sent.body.id,
      kind: "dispute",
      first_request_id: id,
      dispute: { statement, contact: null, request_id: id, by_link: false },
    });
    const foreign = await send("GET", "/v1/reviews?kind=dispute", undefined, { key: globex });
    expect(foreign.body.reviews).toEqual([]);
    const until = Date.now() + 60_000;
    const decision = { decision: "overturned", until, max_stakes: "any", who: "ann" };
    const decided = await send("POST", `/v1/reviews/${review!.id}/decision`, decision);
    expect(decided.body).toMatchObject({ decision: "overturned", in_force: true });
    const again = await send("POST", "/v1/check", { subject: agent, stakes });
    expect(again.body).toMatchObject({ decision: "connect", reason_codes: ["REVIEW_OVERTURNED"] });
    const held = await send("GET", "/v1/reviews?kind=held");
    expect(held.body.reviews).toMatchObject([{ settled_by: review!.id, decision: "overturned" }]);
    const { body: report } = await send("GET", reportOf(agent));
    expect(report.reviews.map((each: { kind: string }) => each.kind)).toEqual(["dispute", "held"]);
    expect(JSON.stringify(report)).not.toMatch(/ann|recalled/);
    await shownInSql(sent.body.id, statement);
  });

  async function shownInSql(id: string, statement: string) {
    const sql = `SELECT kind, statement, decision, decided_by FROM review_queue WHERE review_id = '${id}'`;
    await expect
      .poll(async () => (await send("POST", "/v1/query", { sql })).body.rows, { timeout: 20_000 })
      .toEqual([["dispute", statement, "overturned", "ann"]]);
    const foreign = { sql: "SELECT count(*) FROM review_queue WHERE tenant = 'acme'" };
    const theirs = await send("POST", "/v1/query", foreign, { key: globex });
    expect(theirs.body.rows).toEqual([[0]]);
  }

  it("comes from the form of a shared page, about the agent of the link alone", async () => {
    const agent = "agent://test/escalate";
    await send("POST", "/v1/check", { subject: agent, stakes: 20 });
    const { token: link } = await share(agent);
    const headers = { ...HTML, "content-type": "application/x-www-form-urlencoded" };
    const form = { link, decision: "", statement: "Why?\r\nPlease look.", contact: "a@b.example" };
    const sent = await send("POST", "/v1/disputes", undefined, { key: null, headers, form });
    expect(sent.status).toBe(201);
    expect(sent.text).toMatch(/on record[^]*rv-\d{8}-[0-9a-f]{24}/);
    const { body } = await send("GET", `/v1/reviews?kind=dispute&agent=${agent}`);
    expect(body.reviews).toMatchObject([
      { dispute: { statement: "Why?\nPlease look.", contact: "a@b.example", by_link: true } },
    ]);
    const other = { link, agent: AGENT, statement: "x" };
    const refused = await send("POST", "/v1/disputes", other, { key: null });
    expect(refused.body.errors).toMatchObject([{ pointer: "/agent", code: "mismatch" }]);
    const nobody = await send("POST", "/v1/disputes", { agent, statement: "x" }, { key: null });
    expect(nobody).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    const forged = { link: `${link}x`, statement: "x" };
    expect((await send("POST", "/v1/disputes", forged, { key: null })).status).toBe(404);
  });

  it("is refused with a pointer where it says too much, or is about what is not there", async () => {
    const theirs = await denial(globex);
    for (const [body, pointer, code] of [
      [{ agent: AGENT, statement: "x".repeat(1001) }, "/statement", "length"],
      [{ agent: AGENT, statement: " \n" }, "/statement", "length"],
      [{ agent: AGENT, statement: "a\u0000b" }, "/statement", "format"],
      [{ agent: AGENT }, "/statement", "required"],
      [{ statement: "x" }, "/agent", "required"],
      [{ agent: AGENT, statement: "x", level: "L9" }, "/level", "enum"],
      [{ agent: AGENT, statement: "x", more: 1 }, "/more", "unknown"],
      [{ agent: AGENT, statement: "x", decision: theirs.id }, "/decision", "not_found"],
    ] as const) {
      const { status, body: problem } = await send("POST", "/v1/disputes", body);
      expect([status, problem.errors[0].pointer, problem.errors[0].code]).toEqual([
        400,
        pointer,
        code,
      ]);
    }
    const most = { agent: "agent://full/length", statement: "🦊".repeat(1000) };
    expect((await send("POST", "/v1/disputes", most)).status).toBe(201);
  });

  it("is taken three times a day about an agent", async () => {
    const agent = "agent://angry/bot";
    const { url } = await share(agent);
    const body = { agent, level: "L2", statement: "again" };
    const ids = new Set<string>();
    for (let n = 0; n < 3; n += 1) ids.add((await send("POST", "/v1/disputes", body)).body.id);
    expect(ids.size).toBe(3);
    const fourth = await send("POST", "/v1/disputes", body);
    expect(fourth).toMatchObject({ status: 429, body: { code: "disputes_limited" } });
    expect(Number(fourth.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await send("GET", reportOf(agent))).body.dispute.left_today).toBe(0);
    const page = await send("GET", url, undefined, { key: null, headers: HTML });
    expect(page.text).toContain("No further dispute");
    expect((await send("POST", "/v1/disputes", body, { key: globex })).status).toBe(201);
  });
});
