// The review that holds a call back, as a gateway's denial names it: over the gateway route, Envoy's path and
// the client's gateway, waited for by whoever was denied, and gone once a person has let it through.
import { afterAll, beforeAll, expect, it } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { answerHeaders } from "../../src/client/ruling.ts";
import { type LiveService, startLiveService } from "../client/_live.ts";

let service: LiveService;
let client: TrustRankClient;
beforeAll(async () => {
  service = await startLiveService();
  client = new TrustRankClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKey,
    timeoutMs: 30_000,
  });
});
afterAll(() => service.stop());

const ask = (route: string, agent: string, stakes: number) =>
  fetch(service.baseUrl + route, {
    headers: {
      Authorization: `Bearer ${service.apiKey}`,
      "X-Trust-Agent-Id": agent,
      "X-Trust-Tool-Level": "L3",
      "X-Trust-Stakes": String(stakes),
    },
  });

it.each([
  ["the gateway route", "/v1/gateway/authorize?profile=caddy"],
  ["nginx's profile", "/v1/gateway/authorize?profile=nginx"],
  ["Envoy's path", "/v1/gateway/envoy/at/pay"],
])("%s names it in a denial, and the caller waits there", async (name, route) => {
  const agent = `agent://newcomers/${name.replaceAll(/\W/g, "-")}`;
  let stakes = 1;
  let denied = await ask(route, agent, stakes);
  while (!denied.headers.has("x-trust-review") && stakes < 1e9) {
    stakes *= 4;
    denied = await ask(route, agent, stakes);
  }
  expect([denied.status, denied.headers.get("x-trust-effective")]).toEqual([403, "deny"]);
  const id = denied.headers.get("x-trust-review")!;
  const waiting = client.awaitReview(id, { timeoutMs: 30_000 });
  const gateway = new TrustGateway({ client });
  const answer = await gateway.authorize({
    agentId: agent,
    action: "a.b",
    toolLevel: "L3",
    stakes,
  });
  expect(answerHeaders(answer)["X-Trust-Review"]).toBe(id);

  const until = Date.now() + 60_000;
  await service.call("POST", `/v1/reviews/${id}/decision`, {
    decision: "overturned",
    until,
    max_stakes: "any",
  });
  expect(await waiting).toMatchObject({ id, agent, decision: "overturned" });
  const allowed = await ask(route, agent, stakes);
  expect([allowed.status, allowed.headers.get("x-trust-review")]).toEqual([200, null]);
});

it("is not there where nobody waits for a person", async () => {
  for (const agent of ["connect", "refuse"]) {
    const { headers } = await ask("/v1/gateway/authorize?profile=kong", `agent://test/${agent}`, 5);
    expect(headers.has("x-trust-review")).toBe(false);
  }
});
