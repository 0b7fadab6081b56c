// Refusals of the gateway and AuthZEN routes, over both servers: forged, repeated and missing
// members, shadow keys, and AuthZEN's own rules.
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, problemIn } from "../http/_client.ts";
import {
  describeAdapters,
  openTestServer,
  type TestServer,
  sendRaw,
  statusesOf,
} from "../http/_setup.ts";

const AUTHORIZE = "/v1/gateway/authorize";
const told = (agent: string, level = "L2") => ({
  "X-Trust-Agent-Id": `agent://test/${agent}`,
  "X-Trust-Tool-Level": level,
});

describeAdapters("gateway routes", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter);
  });
  afterAll(() => service.stop());

  it("need a known profile, an agent and a tool level", async () => {
    const headers = told("connect");
    for (const query of [
      "",
      "?profile=varnish",
      "?profile=__proto__",
      "?profile=nginx&profile=x",
    ]) {
      const answer = await call(service, AUTHORIZE + query, { headers });
      expect(problemIn(answer).code).toBe("invalid_parameter");
    }
    for (const [name, value] of Object.entries(headers)) {
      const answer = await call(service, `${AUTHORIZE}?profile=nginx`, {
        headers: { [name]: value },
      });
      expect(problemIn(answer).code).toBe("invalid_request");
    }
    const stakes = { ...headers, "X-Trust-Stakes": "1e9" };
    const answer = await call(service, `${AUTHORIZE}?profile=nginx`, { headers: stakes });
    expect(problemIn(answer).errors?.[0]?.pointer).toBe("/stakes");
  });

  it("let the operator's query outweigh a header that anyone may have sent", async () => {
    const path = `${AUTHORIZE}?profile=nginx&tool_level=L3&agent_id=agent://test/refuse`;
    const answer = await call(service, path, { headers: told("connect", "L0") });
    expect([answer.status, answer.headers.get("x-trust-verdict")]).toEqual([403, "BLOCK"]);
  });

  it("read nothing from the query that Envoy appends", async () => {
    const path = "/v1/gateway/envoy/at/a?tool_level=L0&agent_id=agent://test/connect";
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const headers = told("refuse", "L3");
      expect((await call(service, path, { method, headers })).status).toBe(403);
      expect(problemIn(await call(service, path, { method })).code).toBe("invalid_request");
    }
    const bytes = "";
    const headers = told("connect");
    expect((await call(service, path, { method: "POST", headers, bytes })).status).toBe(200);
  });

  it("refuse a repeated identity instead of choosing one", async () => {
    const lines = [
      `GET ${AUTHORIZE}?profile=nginx HTTP/1.1`,
      "Host: a",
      `Authorization: Bearer ${service.key}`,
      "X-Trust-Tool-Level: L2",
      "X-Trust-Agent-Id: agent://test/refuse",
      "X-Trust-Agent-Id: agent://test/connect",
    ];
    const { text } = await sendRaw(service.server.port, [`${lines.join("\r\n")}\r\n\r\n`]);
    expect(statusesOf(text)).toEqual([400]);
  });

  it("take the query of a POST too, and the method as the action", async () => {
    const path = `${AUTHORIZE}?profile=caddy&tool_level=L2&agent_id=agent://test/connect`;
    const answer = await call(service, path, { method: "POST", bytes: "" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("private, max-age=300");
    const odd = { headers: { "X-Forwarded-Method": "not a method" } };
    expect(problemIn(await call(service, path, odd)).errors?.[0]?.pointer).toBe("/action");
  });

  it("let a shadow key through with the real verdict in the headers", async () => {
    const key = await service.makeKey(["score:read"], { isShadow: true });
    const options = { key, headers: told("refuse", "L3") };
    const answer = await call(service, `${AUTHORIZE}?profile=traefik`, options);
    expect(answer.status).toBe(200);
    const shown = ["verdict", "effective", "enforced"].map((name) =>
      answer.headers.get(`x-trust-${name}`),
    );
    expect(shown).toEqual(["BLOCK", "allow", "false"]);
  });

  it("never let a denial be cached, and tell the end client no numbers", async () => {
    const answer = await call(service, `${AUTHORIZE}?profile=caddy`, {
      headers: told("refuse", "L3"),
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(answer.json)).toEqual(["verdict", "reason", "request_id"]);
  });

  it("cost one paid read each and need a key with its scope", async () => {
    const counted = async () => {
      const [{ reads, test_reads: free }] = (await call(service, "/v1/usage?group_by=tenant")).json
        .rows;
      return [reads.verify, free] as const;
    };
    const [paid, free] = await counted();
    await call(service, `${AUTHORIZE}?profile=nginx`, { headers: told("connect") });
    expect(await counted(), "a test agent is free").toEqual([paid, free + 1]);
    const ordinary = { ...told("connect"), "X-Trust-Agent-Id": "agent://a/b" };
    await call(service, `${AUTHORIZE}?profile=nginx`, { headers: ordinary });
    expect(await counted()).toEqual([paid + 1, free + 1]);
    const options = { key: null, headers: told("connect") };
    expect((await call(service, `${AUTHORIZE}?profile=nginx`, options)).status).toBe(401);
  });
});

describeAdapters("AuthZEN", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter);
  });
  afterAll(() => service.stop());

  const item = (agent: string, more: object = {}) => ({
    subject: { type: "agent", id: `agent://test/${agent}` },
    action: { name: "can_read" },
    resource: { type: "document", id: "1" },
    ...more,
  });
  const decide = async (body: unknown) =>
    (await call(service, "/access/v1/evaluation", { body })).json;

  it("makes an action of ours of a name and a resource's type", async () => {
    expect(await decide(item("connect"))).toMatchObject({ decision: true });
    const spaced = await call(service, "/access/v1/evaluation", {
      body: item("connect", { action: { name: "can read" } }),
    });
    expect(problemIn(spaced).errors?.[0]?.pointer).toBe("/action");
  });

  it("takes the strictest tool level named, and refuses words it does not know", async () => {
    const named = (level: string) => ({ properties: { tool_level: level } });
    const mixed = item("connect", {
      action: { name: "a.b", ...named("L0") },
      context: { tool_level: "L2" },
    });
    expect((await decide(mixed)).context.verdict).toBe("ALLOW");
    const unknown = item("connect", { action: { name: "a.b", ...named("L9") } });
    const answer = await call(service, "/access/v1/evaluation", { body: unknown });
    expect(problemIn(answer).errors?.[0]?.pointer).toBe("/tool_level");
  });

  it("requires what AuthZEN requires", async () => {
    for (const name of ["subject", "action", "resource"]) {
      const answer = await call(service, "/access/v1/evaluation", {
        body: item("connect", { [name]: undefined }),
      });
      expect(problemIn(answer).errors?.[0]?.pointer).toBe(`/${name}`);
    }
  });

  it("evaluates a list with defaults, keeping faults to their item", async () => {
    const { subject, ...rest } = item("connect");
    const body = { ...rest, evaluations: [{ subject }, {}, item("refuse"), 5] };
    const { json } = await call(service, "/access/v1/evaluations", { body });
    const decisions = json.evaluations.map((each: { decision: boolean }) => each.decision);
    expect(decisions).toEqual([true, false, false, false]);
    expect(json.evaluations[1].context.error).toMatchObject({ status: 400 });
    const ids = json.evaluations.map((each: { context: { request_id: string } }) => {
      return each.context.request_id;
    });
    expect(new Set(ids).size).toBe(4);
  });

  it.each([
    ["execute_all", 3],
    ["deny_on_first_deny", 2],
    ["permit_on_first_permit", 1],
  ])("stops as %s says", async (semantic, count) => {
    const evaluations = [item("connect"), item("refuse"), item("connect")];
    const body = { evaluations, options: { evaluations_semantic: semantic } };
    const { json } = await call(service, "/access/v1/evaluations", { body });
    expect(json.evaluations).toHaveLength(count);
  });

  it("refuses an unknown semantic and a list that is none", async () => {
    const options = { evaluations_semantic: "toString" };
    const bodies = [{ evaluations: [item("connect")], options }, { evaluations: "all" }];
    for (const body of bodies) {
      const answer = await call(service, "/access/v1/evaluations", { body });
      expect(problemIn(answer).code).toBe("invalid_request");
    }
    const single = await call(service, "/access/v1/evaluations", { body: item("connect") });
    expect(single.json.decision).toBe(true);
  });

  it("is found by discovery under the address that was asked", async () => {
    const options = { key: null, headers: { "X-Forwarded-Proto": "https" } };
    const { json } = await call(service, "/.well-known/authzen-configuration", options);
    const base = service.base.replace("http:", "https:");
    expect(json).toEqual({
      policy_decision_point: base,
      access_evaluation_endpoint: `${base}/access/v1/evaluation`,
      access_evaluations_endpoint: `${base}/access/v1/evaluations`,
    });
  });
});
