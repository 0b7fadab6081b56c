// Step-up of a CHALLENGE (RFC 9470): the parameters alone, and over both servers for every verdict
// and every gateway's profile.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildOpenApiDocument } from "../../../src/http/openapi/document.ts";
import { parseStepUp, formatStepUpChallenge } from "../../../src/http/routes/gateway.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { call, problemIn } from "../_client.ts";
import { describeAdapters, openTestServer, type TestServer } from "../_setup.ts";

const CHALLENGE =
  'Bearer error="insufficient_user_authentication", ' +
  'error_description="a stronger authentication is required (STAKES_NEED_VERIFICATION)"';

describe("step-up", () => {
  it("is off unless asked for, and then says what would do", () => {
    expect(parseStepUp(undefined, undefined, undefined)).toBeUndefined();
    expect(parseStepUp("deny", undefined, undefined)).toBeUndefined();
    const both = parseStepUp("step-up", "urn:acme:mfa phr", "0300")!;
    const reason = "STAKES_NEED_VERIFICATION";
    expect(formatStepUpChallenge(both, reason)).toBe(
      `${CHALLENGE}, acr_values="urn:acme:mfa phr", max_age="300"`,
    );
    const one = parseStepUp("step-up", undefined, "0")!;
    expect(formatStepUpChallenge(one, reason)).toBe(`${CHALLENGE}, max_age="0"`);
  });

  it.each<(string | undefined)[]>([
    ["maybe", "phr", undefined],
    ["step-up", undefined, undefined],
    ["step-up", 'phr", realm="x', undefined],
    ["step-up", "phr\\", undefined],
    ["step-up", "two  spaces", undefined],
    ["step-up", "line\r\nbreak", undefined],
    ["step-up", "é", undefined],
    ["step-up", "", undefined],
    ["step-up", "x".repeat(257), undefined],
    ["step-up", undefined, "-1"],
    ["step-up", undefined, "1.5"],
    ["step-up", undefined, "1".repeat(10)],
    [undefined, "phr", undefined],
    ["deny", undefined, "300"],
  ])("refuses challenge %j with acr_values %j and max_age %j", (challenge, acrValues, maxAge) => {
    expect(() => parseStepUp(challenge, acrValues, maxAge)).toThrow(/^invalid_parameter/);
  });

  it("stands in the OpenAPI document, answers and parameters", () => {
    const { paths } = buildOpenApiDocument(ROUTES, "1") as never as {
      paths: Record<string, Record<string, { parameters: { name: string }[]; responses: object }>>;
    };
    const { parameters, responses } = paths["/v1/gateway/authorize"]!["get"]!;
    expect(parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["challenge", "acr_values", "max_age"]),
    );
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining(["200", "401", "403", "default"]),
    );
  });
});

describeAdapters("step-up over HTTP", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter);
  });
  afterAll(() => service.stop());

  const ask = (profile: string, agent: string, more = "&challenge=step-up&acr_values=phr") => {
    const agentId = `agent_id=agent://test/${agent}`;
    const query = `?profile=${profile}&tool_level=L3&${agentId}${more}`;
    return call(service, `/v1/gateway/authorize${query}`);
  };

  it.each(["envoy", "nginx", "traefik", "caddy"])("%s: only a CHALLENGE is a 401", async (name) => {
    const statuses: Record<string, number> = {};
    for (const agent of ["connect", "verify", "escalate", "refuse"]) {
      const { status, headers, text } = await ask(name, agent);
      statuses[headers.get("x-trust-verdict")!] = status;
      const challenge = headers.get("www-authenticate");
      if (agent !== "verify") expect(challenge).toBeNull();
      else {
        expect(challenge).toMatch(/^Bearer error="insufficient_user_authentication", .*"phr"$/);
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("x-trust-effective")).toBe("deny");
        expect(text === "").toBe(name === "nginx");
      }
    }
    expect(statuses).toEqual({ ALLOW: 200, CHALLENGE: 401, QUARANTINE: 403, BLOCK: 403 });
  });

  it("is no answer to a challenge that waits for a person", async () => {
    const { status, headers } = await ask("caddy", "held");
    expect([status, headers.get("x-trust-verdict")]).toEqual([403, "CHALLENGE"]);
    expect(headers.get("x-trust-review")).toBe("rv-held");
    expect(headers.get("www-authenticate")).toBeNull();
  });

  it("is a plain denial where the operator does not ask for it", async () => {
    const answer = await ask("caddy", "verify", "");
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([403, null]);
  });

  it("lets a shadow key through as ever", async () => {
    const key = await service.makeKey(["score:read"], { isShadow: true });
    const query = "?profile=caddy&tool_level=L3&challenge=step-up&max_age=60";
    const headers = { "X-Trust-Agent-Id": "agent://test/verify" };
    const answer = await call(service, `/v1/gateway/authorize${query}`, { key, headers });
    expect([answer.status, answer.headers.get("x-trust-verdict")]).toEqual([200, "CHALLENGE"]);
  });

  it("takes Envoy's headers on its path, and no header where there is a query", async () => {
    const headers = {
      "X-Trust-Agent-Id": "agent://test/verify",
      "X-Trust-Tool-Level": "L3",
      "X-Trust-Challenge": "step-up",
      "X-Trust-Max-Age": "60",
    };
    const path = "/v1/gateway/envoy/at/a?challenge=deny";
    expect((await call(service, path, { headers })).status).toBe(401);
    const plain = await call(service, "/v1/gateway/authorize?profile=nginx", { headers });
    expect(plain.status).toBe(403);
  });

  it("refuses what it cannot mean", async () => {
    const answer = await ask("caddy", "verify", "&challenge=step-up");
    expect(problemIn(answer).code).toBe("invalid_parameter");
    const twice = await ask("caddy", "verify", "&challenge=deny&challenge=step-up&max_age=1");
    expect(problemIn(twice).code).toBe("invalid_parameter");
  });
});
