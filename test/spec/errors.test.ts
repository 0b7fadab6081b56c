// SPEC §5 and §7: who may ask, and which conditions are errors. A refusal is 403 with the verdict
// as application/json; a 403 for lack of scope is application/problem+json.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateError, TrustRankError } from "../../src/client/errors.ts";
import { AGENTS, openWorld, post } from "./_world.ts";
import type { World } from "./_world.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe.each(["main", "further"])("at the %s HTTP thread", (thread) => {
  const url = () => world.urls[thread === "main" ? 0 : 1];

  test("SPEC §5.1: verify requires a bearer key; so does every paid read", async () => {
    for (const route of ["/v1/trust/verify", "/v1/check", "/v1/handshake", "/v1/outcomes"]) {
      const response = await post(url(), route, {}, "wrong-key");
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(response.headers.get("content-type")).toBe("application/problem+json");
    }
    expect((await fetch(`${url()}/healthz`)).status, "SPEC §4.6").toBe(200);
  });

  test("SPEC §7: a refused handshake is 403 and carries the scored reason", async () => {
    const body = {
      initiator: "agent://test/connect",
      counterparty: "agent://test/refuse",
      stakes: 5,
    };
    const response = await post(url(), "/v1/handshake", body);
    expect(response.status).toBe(403);
    expect(response.headers.get("content-type")).toBe("application/json");
    const verdict = (await response.json()) as { decision: string; reasons: string[] };
    expect(verdict.decision).toBe("refuse");
    expect(verdict.reasons.length).toBeGreaterThan(0);
  });

  test("SPEC §7, §4.7: check and handshake never throw on a low score, require does", async () => {
    const client = new TrustRankClient({
      baseUrl: url(),
      apiKey: world.key,
      timeoutMs: WAIT_MS_MAX,
    });
    const refuse = "agent://test/refuse";
    expect((await client.check(refuse, { stakes: 1 })).allowed).toBe(false);
    const shaken = await client.handshake(AGENTS.trusted, refuse, { stakes: 1 });
    expect(shaken.decision).toBe("refuse");
    const thrown = await client.require(refuse, { stakes: 1 }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(TrustGateError);
    expect(thrown).toMatchObject({ verdict: { decision: "refuse" } });
    await expect(client.require("agent://test/escalate", { stakes: 1 })).resolves.toMatchObject({
      decision: "escalate",
    });
  });

  test("SPEC §7: an outage is a different error than a refusal", async () => {
    const client = new TrustRankClient({ baseUrl: "http://127.0.0.1:9", timeoutMs: 500 });
    const thrown = await client.require(AGENTS.trusted, { stakes: 1 }).catch((e: unknown) => e);
    expect(thrown).toBeInstanceOf(TrustRankError);
    expect(thrown).not.toBeInstanceOf(TrustGateError);
  });

  test("an error says where: code, pointer and request id", async () => {
    const response = await post(url(), "/v1/check", { subject: "agent://nobody", stakes: -1 });
    expect(response.status).toBe(400);
    const problem = (await response.json()) as { errors: { pointer: string }[] };
    expect(problem).toMatchObject({ code: "invalid_request", status: 400 });
    expect(problem.errors.map((error) => error.pointer)).toEqual(["/subject", "/stakes"]);
  });
});
