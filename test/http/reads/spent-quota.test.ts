// A tenant whose quota is used up gets no score from any route of the service as it starts, under every
// method, format and error; with a quota left the same requests give scores, so that the test can fail.
import http from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Route } from "../../../src/http/route.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { type Service, startService } from "../../../src/service/start.ts";
import { SCOPES } from "../../../src/contract/vocabulary.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import {
  buildRouteRequests,
  classifyRoute,
  type Gives,
  listUnknownNames,
  type RequestSubjects,
  type RouteRequest,
} from "./_routes.ts";

const ADMIN_KEY = "spent-quota-test-key-of-enough-length";
/** Of the tenant's own namespace, so that lists, SQL and exports have its row. */
const AGENT = "agent://acme/ledger-sync";
/** Asked about before the quota is used up. */
const PAID_AGENT = "agent://globex/price-scout";
/** Never asked about by the tenant. */
const UNASKED = "agent://hooli/search-agent";
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-spent-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;
let about: RequestSubjects;

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

function send({ method, path: route, headers = {}, body }: RouteRequest, key?: string) {
  const text = body === undefined ? "" : JSON.stringify(body);
  const sent = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(method === "GET" || method === "HEAD" ? {} : { "content-length": Buffer.byteLength(text) }),
    ...headers,
  };
  return new Promise<Answer>((resolve, reject) => {
    const request = http.request(service.url + route, { method, headers: sent });
    request.on("error", reject);
    request.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, headers: received, text: Buffer.concat(parts).toString("latin1") });
      });
    });
    request.end(text);
  });
}

async function ask(method: string, route: string, body?: unknown, key = ADMIN_KEY) {
  const { status, text } = await send({ method, path: route, body }, key);
  expect(status, `${method} ${route} ${text}`).toBeLessThan(300);
  return JSON.parse(text);
}

/** Members that say how good an agent is, or what follows from it. */
const SCORE_MEMBERS =
  /\b(score(?!:)|internal_score|effective_score|tier|risk_level|threshold_met|failure_(?!rate)\w+|max_stakes|verdict|regime)\b\W{1,4}[^,\s}]/;
const AUTHZEN_DECISION = /"decision":(true|false)/;
const SCORE_HEADERS = /^x-trust-(verdict|score|risk|reason|decision|max-stakes)/;
/** Pages, counts and minimum scores that have the words, and nothing of any agent. */
const SPEAKS_OF_SCORES = new Set([
  "query_schema",
  "metrics",
  "openapi",
  "docs",
  "policy_show",
  "policy_set",
  // `max_stakes` of a condition is an operator's own number.
  ...["set", "read", "lift"].flatMap((verb) => [
    `${verb}_agent_condition`,
    `${verb}_namespace_condition`,
  ]),
  "list_conditions",
]);

/** Whether an answer tells of a score, in whichever format. */
function tellsScore({ headers, text }: Answer): boolean {
  if (Object.keys(headers).some((name) => SCORE_HEADERS.test(name))) return true;
  return text.startsWith("PAR1") || SCORE_MEMBERS.test(text) || AUTHZEN_DECISION.test(text);
}

const openSession = async (key: string) => {
  const own = { "sec-fetch-site": "same-origin" };
  const answer = await send({
    method: "POST",
    path: "/console/session",
    headers: own,
    body: { key },
  });
  const cookie = answer.headers["set-cookie"]![0]!.split(";")[0]!;
  return { ...own, cookie, "x-tr-csrf": (JSON.parse(answer.text) as { csrf: string }).csrf };
};

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
  await ask("PUT", "/v1/namespaces/acme", { tenant: "buyer" });
  const told = { reporter: "agent://voice/v", outcome: 1, stakes: 10, grade: "counterparty" };
  const subjects = [AGENT, PAID_AGENT, UNASKED].flatMap((subject) => [subject, subject, subject]);
  for (const subject of subjects) await ask("POST", "/v1/outcomes", { ...told, subject });
  const scopes = SCOPES.filter((scope) => scope !== "admin");
  const { key } = await ask("POST", "/v1/keys", { tenant: "buyer", scopes });
  const check = { subject: PAID_AGENT, stakes: 1e9 };
  const { request_id, review } = await ask("POST", "/v1/check", check, key);
  const report = `/v1/agents/${encodeURIComponent(AGENT)}/report/links`;
  const { token } = await ask("POST", report, {}, key);
  about = {
    agent: AGENT,
    requestId: request_id,
    reviewId: review.id,
    linkToken: token,
    session: await openSession(key),
    key,
  };
  const stored = { method: "GET", path: `/v1/decisions/${request_id}` };
  const isStored = async () => expect((await send(stored, key)).status).toBe(200);
  await vi.waitFor(isStored, { timeout: WAIT_MS_MAX });
  const listed = { method: "GET", path: "/v1/agents?limit=0" };
  const isListed = async () => expect((await send(listed, key)).text).toMatch(/"total":[1-9]/);
  await vi.waitFor(isListed, { timeout: WAIT_MS_MAX });
}, WAIT_MS_MAX);
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Driven {
  readonly name: string;
  readonly gives: Gives;
  readonly request: RouteRequest;
  readonly answer: Answer;
}

/** Every route's answers; the run of kaizen comes last, since it takes the processor. */
async function driveAllRoutes(): Promise<Driven[]> {
  const driven: Driven[] = [];
  const isLast = ({ name }: Route) => Number(name === "kaizen_run");
  for (const route of ROUTES.toSorted((a, b) => isLast(a) - isLast(b))) {
    const key = route.name === "shared_agent_report" ? undefined : about.key;
    for (const request of buildRouteRequests(route, about)) {
      const answer = await send(request, key);
      driven.push({ name: route.name, gives: classifyRoute(route), request, answer });
    }
  }
  return driven;
}

const describeDriven = ({ name, request: { method, path: route }, answer }: Driven) =>
  `${name}: ${method} ${route}: ${answer.status} ${answer.text.slice(0, 500)}`;

async function paidReads(): Promise<number> {
  return (await ask("GET", "/v1/usage", undefined, about.key)).keys[0].paid_reads;
}

it("every route is in the table, and the table has no other", () => {
  expect(ROUTES.map(classifyRoute)).toHaveLength(ROUTES.length);
  expect(listUnknownNames(ROUTES)).toEqual([]);
});

it("a report, a link to one and a replay are one explanation each", async () => {
  const id = encodeURIComponent(AGENT);
  const explained = async () =>
    (await ask("GET", "/v1/usage", undefined, about.key)).keys[0].reads.explain as number;
  const before = await explained();
  await ask("GET", `/v1/agents/${id}/report?format=json`, undefined, about.key);
  await ask("POST", `/v1/agents/${id}/report/links`, {}, about.key);
  await ask("POST", `/v1/decisions/${about.requestId}/replay`, {}, about.key);
  expect(await explained()).toBe(before + 3);
  // The log, an opened link and test agents are free.
  await ask("GET", `/v1/decisions/${about.requestId}/trace`, undefined, about.key);
  const opened = { method: "GET", path: `/v1/shared-reports?token=${about.linkToken}` };
  expect((await send(opened)).status).toBe(200);
  const free = encodeURIComponent("agent://test/refuse");
  await ask("GET", `/v1/agents/${free}/report?format=json`, undefined, about.key);
  expect(await explained()).toBe(before + 3);
});

it(
  "no route gives a score once the quota is used up, and paid routes do before",
  async () => {
    const before = await driveAllRoutes();
    for (const each of before) {
      expect(each.answer.status, describeDriven(each)).toBeLessThan(500);
      if (each.gives === "admin") expect(each.answer.status, describeDriven(each)).toBe(403);
      if (each.gives !== "none" || SPEAKS_OF_SCORES.has(each.name)) continue;
      expect(tellsScore(each.answer), describeDriven(each)).toBe(false);
    }
    const silentOnes = new Set(["share_agent_report", "replay_decision"]);
    for (const { name, gives } of before) {
      if ((gives !== "paid" && gives !== "by_view") || silentOnes.has(name)) continue;
      const answers = before.filter((each) => each.name === name);
      expect(
        answers.some(({ answer }) => tellsScore(answer)),
        describeDriven(answers[0]!),
      ).toBe(true);
    }

    const used = await paidReads();
    await ask("PUT", "/v1/quotas/buyer", { paid_reads_per_month: used });
    const after = await driveAllRoutes();
    for (const each of after) {
      const { gives, name, request, answer } = each;
      const what = describeDriven(each);
      if (gives === "paid" || gives === "by_view") {
        expect(answer.status, what).toBe(429);
        if (request.method !== "HEAD") expect(answer.text, what).toContain("quota_exceeded");
        expect(Number(answer.headers["retry-after"]), what).toBeGreaterThan(0);
        expect(answer.headers["ratelimit"], what).toMatch(/^"month";r=0;t=\d+$/);
      }
      // What was paid before may be looked at again; the subject's own report needs no key.
      if (gives === "logged" || gives === "subject" || SPEAKS_OF_SCORES.has(name)) {
        expect(answer.text, what).not.toContain(UNASKED);
      } else expect(tellsScore(answer), what).toBe(false);
    }
    const logged = (all: readonly Driven[]) =>
      all.filter(({ name }) => name === "read_decision").map(({ answer }) => answer.text);
    expect(logged(after)).toEqual(logged(before));
    expect(await paidReads(), "what is refused costs nothing").toBe(used);
  },
  WAIT_MS_MAX,
);
