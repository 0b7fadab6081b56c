// protectRoute over the real service: what runs the route, what the caller gets when it does
// not, and what is marked.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { protectRoute } from "../../../src/client/gateway/protect.ts";
import { type Service, startTestService } from "../_service.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const agent = (name: string) => `agent://test/${name}`;
const boom = (): never => {
  throw new Error("boom");
};

let service: Service;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

describe("protectRoute", () => {
  const reached: string[] = [];
  const handler = (request: Request) => {
    reached.push(request.url);
    return new Response("done", { status: 201 });
  };
  const route = (baseUrl: string, toolLevel: "L0" | "L1" | "L3", more: object = {}) =>
    protectRoute(handler, {
      gateway: new TrustGateway({
        client: new TrustRankClient({ ...service, baseUrl, timeoutMs: WAIT_MS_MAX }),
      }),
      toolLevel,
      action: "payments.transfer",
      agentId: (request) => agent(request.headers.get("x-agent") ?? ""),
      ...more,
    });
  const request = (name: string) => new Request("http://app/", { headers: { "x-agent": name } });

  it("runs the route on ALLOW and nothing else", async () => {
    const gated = route(service.baseUrl, "L3");
    expect((await gated(request("connect"))).status).toBe(201);
    reached.length = 0;
    const refused = await gated(request("refuse"));
    expect([refused.status, refused.headers.get("x-trust-verdict")]).toEqual([403, "BLOCK"]);
    expect(await refused.json()).toEqual({ error: "BLOCK", reason: "REFUSE_RULE" });
    const failing = route(service.baseUrl, "L1", { stakes: boom });
    expect((await failing(request("connect"))).status).toBe(403);
    expect(reached).toEqual([]);
  });

  it("closes L3 and opens L0 visibly when the service is down", async () => {
    reached.length = 0;
    const closed = await route("http://127.0.0.1:1", "L3")(request("connect"));
    expect([closed.status, closed.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(reached).toEqual([]);
    const opened = await route("http://127.0.0.1:1", "L0")(request("connect"));
    expect([opened.status, await opened.text()]).toEqual([201, "done"]);
    expect(opened.headers.get("x-trust-degraded")).toBe("L0_open");
  });
});
