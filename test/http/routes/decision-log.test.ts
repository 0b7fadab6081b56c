// The decision log over HTTP, in the service as it starts: decisions that it made itself, chosen,
// paged, counted, and nobody else's.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DecisionFacets, LoggedLeg } from "../../../src/contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../../src/contract/schemas/trace.ts";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { type Service, startService } from "../../../src/service/start.ts";

const ADMIN_KEY = "decision-log-test-key-of-enough-length";
const dataDir = mkdtempSync(join(tmpdir(), "decision-log-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;
let acme = "";
let globex = "";

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
  const scopes = ["score:read"];
  acme = (await send("POST", "/v1/keys", { tenant: "acme", scopes })).body.key;
  const shadow = { tenant: "globex", scopes, is_shadow: true };
  globex = (await send("POST", "/v1/keys", shadow)).body.key;
  for (const [index, level] of ["L0", "L1", "L2", "L2", "L3"].entries()) {
    await verify(acme, `agent://shop/n${index}`, level);
  }
  await send("POST", "/v1/check", { subject: "agent://shop/n0", stakes: 50_000 }, acme);
  const parties = { initiator: "agent://shop/n0", counterparty: "agent://shop/n9", stakes: 5 };
  await send("POST", "/v1/handshake", parties, acme);
  await verify(globex, "agent://shop/n0", "L3");
});
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function send(method: string, path: string, body?: unknown, key = ADMIN_KEY) {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const verify = (key: string, agent_id: string, tool_level: string) =>
  send(
    "POST",
    "/v1/trust/verify",
    { agent_id, action: "order.place", tool_level, context: {} },
    key,
  );

interface Page {
  decisions: LoggedLeg[];
  complete: boolean;
  next: string | null;
}

async function list(query: string, key = acme): Promise<Page> {
  const { status, body } = await send("GET", `/v1/decisions?${query}`, undefined, key);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

async function count(query: string, key = acme): Promise<DecisionFacets> {
  const { status, body } = await send("GET", `/v1/decisions/facets?${query}`, undefined, key);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

describe("decisions over HTTP", () => {
  it("are chosen by what they say", async () => {
    const { decisions: all } = await list("");
    expect(all).toHaveLength(8);
    const choices: [string, (leg: LoggedLeg) => boolean][] = [
      ["kind=handshake", ({ kind }) => kind === "handshake"],
      ["level=L2", ({ tool_level }) => tool_level === "L2"],
      ["verdict=CHALLENGE", ({ verdict }) => verdict === "CHALLENGE"],
      ["effective=deny", ({ effective }) => effective === "deny"],
      ["disposition=step_up", ({ disposition }) => disposition === "step_up"],
      ["effective=allow&kind=verify", (leg) => leg.effective === "allow" && leg.kind === "verify"],
      ["flagged=true", ({ flagged }) => flagged],
      ["shadow=true", ({ enforced }) => !enforced],
      ["subject=agent://shop/n9", ({ subject }) => subject === "agent://shop/n9"],
      [`config=${all[0]!.config_version}`, () => true],
      ["config=c-0000000000000000", () => false],
      ["reason=THIN_FILE", (leg) => [leg.log_reason, ...leg.reason_codes].includes("THIN_FILE")],
    ];
    for (const [query, isWanted] of choices) {
      const wanted = all.filter(isWanted);
      expect((await list(query)).decisions, query).toEqual(wanted);
      expect((await count(query)).entries, query).toBe(wanted.length);
    }
  });

  it("come in pages by `next`, the last of which has none", async () => {
    const { decisions: all } = await list("");
    const seen: LoggedLeg[] = [];
    let page = await list("limit=3");
    for (seen.push(...page.decisions); page.next !== null; seen.push(...page.decisions)) {
      page = await list(`limit=3&before=${encodeURIComponent(page.next)}`);
    }
    expect(seen).toEqual(all);
    const [newest] = all;
    expect((await list(`before=${newest!.evaluated_at}`)).decisions).not.toContainEqual(newest);
    expect((await list(`since=${newest!.evaluated_at}`)).decisions).toContainEqual(newest);
  });

  it("are one tenant's own; an administrator's key sees and chooses", async () => {
    for (const query of ["", "tenant=globex", "shadow=true"]) {
      const { decisions } = await list(query);
      expect(decisions.every(({ tenant }) => tenant === "acme")).toBe(true);
      expect((await count(query)).facets.tenant.every(({ value }) => value === "acme")).toBe(true);
    }
    expect((await list("tenant=globex")).decisions).toEqual([]);
    expect((await count("", globex)).entries).toBe(1);
    const theirs = (await list("tenant=globex", ADMIN_KEY)).decisions;
    expect(theirs.map(({ tenant, enforced }) => [tenant, enforced])).toEqual([["globex", false]]);
    const { facets } = await count("tenant=globex", ADMIN_KEY);
    expect(facets.tenant).toEqual([
      { value: "acme", entries: 8, decisions: 8 },
      { value: "globex", entries: 1, decisions: 1 },
    ]);
    expect(facets.shadow).toEqual([{ value: "true", entries: 1, decisions: 1 }]);
  });

  it("are counted by facet and over time", async () => {
    const counts = await count("level=L2");
    expect(counts).toMatchObject({ entries: 2, decisions: 2, looked_at: 8, complete: true });
    const levels = Object.fromEntries(
      counts.facets.level.map((each) => [each.value, each.entries]),
    );
    expect(levels).toEqual({ L0: 1, L1: 1, L2: 2, L3: 1 });
    expect(counts.facets.kind).toEqual([{ value: "verify", entries: 2, decisions: 2 }]);
    expect(counts.times.reduce((sum, { allow, deny }) => sum + allow + deny, 0)).toBe(2);
    const none = await count("since=2999-01-01");
    expect(none).toMatchObject({ entries: 0, looked_at: 0, oldest_at: null, times: [] });
  });

  it.each(["verdict=NO", "before=x", "flagged=2", "level=connect"])(
    "refuses the query %s",
    async (query) => {
      for (const path of ["/v1/decisions", "/v1/decisions/facets"]) {
        const { status, body } = await send("GET", `${path}?${query}`, undefined, acme);
        expect([status, body.code]).toEqual([400, "invalid_parameter"]);
      }
    },
  );
});

describe("a decision's trace over HTTP", () => {
  const traceOf = (id: string, key = acme) =>
    send("GET", `/v1/decisions/${id}/trace`, undefined, key);

  it("ends at what was recorded, with the weights of the config on file", async () => {
    const { decisions } = await list("");
    for (const leg of decisions) {
      const { status, body } = await traceOf(leg.request_id);
      expect(status).toBe(200);
      const trace = body as DecisionTrace;
      const traced = trace.legs.find((each) => each.leg === leg.leg)!;
      expect(trace).toMatchObject({ verdict: leg.verdict, decision: leg.decision });
      expect(traced.rules!.filter(({ decides }) => decides).map(({ rule }) => rule)).toEqual([
        leg.log_reason ?? leg.leg_decision,
      ]);
      expect(traced.score.internal_score).toBe(leg.internal_score);
      expect(traced.features!.map(({ name }) => name)).toContain("track_record");
      expect(traced.row).toMatchObject({ known: false, outcomes: 0 });
    }
  });

  it("is one tenant's own", async () => {
    const [theirs] = (await list("", globex)).decisions;
    expect((await traceOf(theirs!.request_id)).status).toBe(404);
    expect((await traceOf(theirs!.request_id, ADMIN_KEY)).status).toBe(200);
    expect((await traceOf("nothing")).body.code).toBe("not_found");
  });
});

describe("configs over HTTP", () => {
  it("are listed, read and compared", async () => {
    const { body } = await send("GET", "/v1/configs");
    const [{ config_version: live }] = (await list("limit=1")).decisions as [LoggedLeg];
    const one = { version: live, in_force: true, shipped: true, replayable: true };
    expect(body.configs).toEqual([expect.objectContaining(one)]);
    for (const name of [live, "active"]) {
      const found = await send("GET", `/v1/configs/${name}?against=active`);
      expect(found.body).toMatchObject({ ...one, against: live, differences: [] });
      expect(found.body.config.check.weights).toBeTypeOf("object");
    }
  });

  it("are not for keys that only read scores, and refuse what is none", async () => {
    for (const path of ["/v1/configs", "/v1/configs/active"]) {
      expect((await send("GET", path, undefined, acme)).body.code).toBe("insufficient_scope");
    }
    const codeOf = async (path: string) => (await send("GET", path)).body.code;
    expect(await codeOf("/v1/configs/c-0000000000000000")).toBe("not_found");
    expect(await codeOf("/v1/configs/..%2Fstate")).toBe("not_found");
    expect(await codeOf("/v1/configs/active?against=c-0000000000000000")).toBe("not_found");
    expect(await codeOf("/v1/configs/active?against=yesterday")).toBe("invalid_parameter");
  });
});
