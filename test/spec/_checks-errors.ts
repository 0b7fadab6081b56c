// Checks of sections 5 to 7: authentication, events and errors (see _lines-limits.ts).
import { expect, vi } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError } from "../../src/client/errors.ts";
import { trustGate, TrustGateUnavailableError } from "../../src/client/gates/trust-gate.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../src/client/gateway/protect.ts";
import { answerHeaders } from "../../src/client/ruling.ts";
import { type ToolLevel } from "../../src/contract/vocabulary.ts";
import { ROUTES } from "../../src/http/routes/table.ts";
import {
  catchCode,
  type LineChecks,
  makeKey,
  newAgent,
  send,
  TEST_AGENTS,
} from "./_line-setting.ts";
import { VERIFY } from "./_line-requests.ts";
import { authorize, openGateway, SILENCE, underFault } from "./_line-gateway.ts";

const { connect, escalate, refuse } = TEST_AGENTS;
const buildBody = (agent_id: string, tool_level: ToolLevel = "L2") => ({
  agent_id,
  action: "order.place",
  tool_level,
});
const caught = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

export const ERROR_CHECKS: Readonly<Record<string, LineChecks>> = {
  "5.1-bearer": {
    async HTTP(setting) {
      for (const key of [null, "wrong", ""]) {
        const { status, json, headers } = await send(
          setting,
          "POST",
          VERIFY,
          buildBody(connect),
          key,
        );
        expect([status, json.code]).toEqual([401, "unauthenticated"]);
        expect(headers.get("www-authenticate")).toBe("Bearer");
      }
    },
    async client({ world }) {
      const client = new TrustRankClient({
        baseUrl: world.urls[0],
        apiKey: "wrong",
        timeoutMs: 10_000,
      });
      expect(await catchCode(client.verify(buildBody(connect)))).toBe("unauthenticated");
    },
  },
  "5.2-identity": {
    async HTTP(setting) {
      const key = await makeKey(setting, { tenant: "lines-any", scopes: ["score:read"] });
      const { json } = await send(setting, "POST", VERIFY, buildBody(refuse), key);
      expect(json.policy_action.verdict, "whoever sends it, the agent named is judged").toBe(
        "BLOCK",
      );
    },
    async client({ client }) {
      const seen: string[] = [];
      const inner = (name: string) => (seen.push(name), { principalId: name });
      expect(await trustGate(inner, { client })(connect)).toEqual({ principalId: connect });
      expect(await caught(trustGate(inner, { client })(refuse))).toBeInstanceOf(TrustGateError);
      expect(seen).toEqual([connect, refuse]);
    },
  },
  "5.3-routes": {
    async HTTP(setting) {
      const needs = new Map(
        ROUTES.map(({ method, path, access }) => [`${method} ${path}`, access]),
      );
      const stated = ["/v1/check", "/v1/handshake", "/v1/outcomes", "/v1/kaizen/run"].map((path) =>
        needs.get(`POST ${path}`),
      );
      expect(stated).toEqual(["score:read", "score:read", "outcomes:write", "kaizen:run"]);
      const key = await makeKey(setting, { tenant: "lines-any", scopes: ["metrics:read"] });
      for (const path of ["/v1/check", "/v1/handshake", "/v1/outcomes", "/v1/kaizen/run"])
        expect((await send(setting, "POST", path, {}, key)).status, path).toBe(403);
      expect((await send(setting, "GET", "/healthz", undefined, null)).status).toBe(200);
    },
  },
  "5.4-keys": {
    async HTTP(setting) {
      const made = await send(setting, "POST", "/v1/keys", {
        tenant: "lines-key",
        scopes: ["score:read"],
      });
      const { key, key_id: id } = made.json;
      const works = async (each: string) =>
        (await send(setting, "POST", VERIFY, buildBody(connect), each)).status;
      expect(await works(key)).toBe(200);
      const rotated = await send(setting, "POST", `/v1/keys/${id}/rotate`, { overlap_sec: 0 });
      expect([await works(key), await works(rotated.json.key)]).toEqual([401, 200]);
      expect((await send(setting, "DELETE", `/v1/keys/${id}`)).status).toBe(200);
      expect(await works(rotated.json.key)).toBe(401);
    },
  },
  "6-provenance": {
    async client({ live }) {
      const client = new TrustRankClient({ ...live, slowTimeoutMs: 10_000 });
      const gateway = new TrustGateway({ client });
      gateway.provenance.offer({
        agent_id: newAgent(),
        action: "order.place",
        content: "text",
        cited_sources: [],
      });
      await gateway.provenance.flush(10_000);
      expect(gateway.provenance).toMatchObject({ counts: { sent: 1 } });
    },
    async HTTP(setting) {
      const body = {
        agent_id: newAgent(),
        action: "order.place",
        content_hash: `sha256:${"1".repeat(64)}`,
        cited_sources: [],
      };
      expect((await send(setting, "POST", "/v1/provenance", body)).status).toBe(202);
    },
  },
  "6-alert": {
    async client(setting) {
      await underFault(setting, { kind: "refused" }, async ({ gateway, client, alerts }) => {
        await authorize(gateway, "L0");
        expect(alerts, "nobody was blocked").toEqual([]);
        for (let at = 0; at < 3; at += 1) await authorize(gateway, "L3");
        expect(alerts).toMatchObject([
          { kind: "service_unreachable", toolLevel: "L3", blockedCount: 1 },
        ]);
        const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
        await authorize(new TrustGateway({ client }), "L3");
        const written = lines.mock.calls.map(([line]) => line as string);
        lines.mockRestore();
        expect(written).toHaveLength(1);
        expect(written[0]).toMatch(/1 request blocked since \d{4}-\d\d-\d\dT/);
      });
    },
  },
  "6-events": {
    async HTTP(setting) {
      const { status, json } = await send(setting, "GET", "/v1/webhooks");
      expect([status, json.webhooks ?? json.endpoints]).toEqual([200, []]);
    },
  },
  "7-refuse": {
    async HTTP(setting) {
      const body = { initiator: connect, counterparty: refuse, stakes: 5 };
      const { status, headers, json } = await send(setting, "POST", "/v1/handshake", body);
      expect([status, headers.get("content-type")]).toEqual([403, "application/json"]);
      expect(json.reasons.length).toBeGreaterThan(0);
    },
    async client({ client }) {
      const gated = trustGate((name: string) => ({ principalId: name }), { client });
      const { response } = (await caught(gated(refuse))) as TrustGateError;
      expect(response.status).toBe(403);
      const told = (await response.json()) as Record<string, unknown>;
      expect(JSON.stringify(told)).toContain("request_id");
    },
  },
  "7-low-score": {
    async client(setting) {
      const { gateway } = openGateway(setting);
      for (const toolLevel of ["L2", "L3"] as const)
        expect(await authorize(gateway, toolLevel, refuse)).toMatchObject({
          allowed: false,
          status: 403,
        });
    },
    async HTTP({ live }) {
      const reply = await fetch(
        `${live.baseUrl}/v1/gateway/authorize?profile=nginx&tool_level=L3`,
        {
          headers: { authorization: `Bearer ${live.apiKey}`, "x-trust-agent-id": refuse },
        },
      );
      expect(reply.status).toBe(403);
    },
  },
  "7-closed": {
    async client(setting) {
      await underFault(setting, SILENCE, async ({ gateway }) => {
        for (const level of ["L2", "L3"] as const) {
          const answer = await authorize(gateway, level);
          expect(answer).toMatchObject({ allowed: false, status: 503 });
          expect(Number(answerHeaders(answer)["Retry-After"])).toBeGreaterThanOrEqual(1);
        }
      });
    },
  },
  "7-open": {
    async client(setting) {
      await underFault(setting, SILENCE, async ({ gateway, logs }) => {
        for (const level of ["L0", "L1"] as const) {
          const answer = await authorize(gateway, level);
          expect(answer).toMatchObject({ allowed: true, status: 200, degraded: true });
          expect(answerHeaders(answer)["X-Trust-Degraded"]).toBe(`${level}_open`);
        }
        expect(logs.map(({ toolLevel }) => toolLevel)).toEqual(["L1"]);
      });
    },
  },
  "7-require": {
    async client({ client }) {
      expect(await caught(client.require(refuse, { stakes: 1 }))).toBeInstanceOf(TrustGateError);
    },
  },
  "7-verdicts": {
    async client({ client }) {
      for (const agent of [escalate, refuse]) {
        expect((await client.check(agent, { stakes: 1 })).allowed).toBe(false);
        expect((await client.handshake(connect, agent, { stakes: 1 })).connected).toBe(false);
      }
    },
  },
  "7-gate-closed": {
    async client(setting) {
      const faults = ["silence", "refused", "reset", "garbage", "wrong_type", "not_http"] as const;
      for (const kind of faults) {
        await underFault(setting, { kind }, async ({ client }) => {
          const gated = trustGate((name: string) => ({ principalId: name }), { client });
          expect(await caught(gated(connect)), kind).toBeInstanceOf(TrustGateUnavailableError);
        });
      }
    },
  },
  "7-never-reaches": {
    async client(setting) {
      let served = 0;
      const guardRoute = (gateway: TrustGateway, toolLevel: ToolLevel) =>
        protectRoute(() => ((served += 1), new Response("data")), {
          gateway,
          toolLevel,
          action: "order.place",
          agentId: (request) => request.headers.get("x-agent")!,
        });
      const call = (agent: string) => new Request("http://app/", { headers: { "x-agent": agent } });
      const { gateway } = openGateway(setting);
      expect((await guardRoute(gateway, "L2")(call(refuse))).status).toBe(403);
      await underFault(setting, SILENCE, async ({ gateway: lost }) => {
        expect((await guardRoute(lost, "L3")(call(connect))).status).toBe(503);
      });
      expect(served).toBe(0);
      expect((await guardRoute(gateway, "L2")(call(connect))).status).toBe(200);
      expect(served).toBe(1);
    },
  },
  "7-shape": {
    async HTTP(setting) {
      const body = { subject: "agent://alone", stakes: -1 };
      const { status, headers, json } = await send(setting, "POST", "/v1/check", body);
      expect([status, headers.get("content-type")]).toEqual([400, "application/problem+json"]);
      expect(json).toMatchObject({ status: 400, code: "invalid_request", instance: "/v1/check" });
      expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
        "/subject",
        "/stakes",
      ]);
    },
    async client({ client }) {
      const thrown = await caught(client.check("agent://alone", { stakes: 1 }));
      expect(thrown).toMatchObject({
        code: "invalid_request",
        status: 400,
        errors: [{ pointer: "/subject" }],
      });
    },
  },
};
