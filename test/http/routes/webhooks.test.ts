// The routes of webhooks over both servers, on real endpoints in a real directory: what is refused and
// where, that secrets are shown once, and that a key without the scope sees nothing.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WebhookCreated } from "../../../src/contract/schemas/webhooks.ts";
import { WEBHOOK_ENDPOINTS_MAX } from "../../../src/contract/webhooks/events.ts";
import { NO_NETWORKS } from "../../../src/webhooks/address.ts";
import { WebhookService } from "../../../src/webhooks/service.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { call, problemIn } from "../_client.ts";
import { ADAPTERS, openTestServer, START_MS } from "../_setup.ts";
import type { TestServer } from "../_setup.ts";

const ROUTE = "/v1/webhooks";
const URL = "https://hooks.acme.example/trustrank";

describe.each(ADAPTERS)("webhooks over %s", (adapter) => {
  let service: TestServer;

  beforeAll(async () => {
    const webhooks = new WebhookService({
      dataDir: temporaryDirectory(),
      serviceId: "tr-1",
      sources: [],
      post: () =>
        Promise.resolve({
          isDelivered: false,
          status: 500,
          detail: "answered 500",
          retryAfterSec: undefined,
        }),
      allowed: NO_NETWORKS,
      clock: () => START_MS,
      chance: () => 0,
      randomBytes,
      log: () => undefined,
    });
    service = await openTestServer(adapter, { webhooks });
  });
  afterAll(() => service?.stop());

  const send = (method: string, path: string, body?: unknown, key = service.admin) =>
    call(service, path, { key, method, ...(body === undefined ? {} : { body }) });

  it("are registered, shown without their secret, changed, tested and removed", async () => {
    const made = await send("POST", ROUTE, { url: URL, description: "on call" });
    expect(made.status).toBe(201);
    const { secret, ...shown } = made.json as WebhookCreated;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toMatchObject({ url: URL, tenant: null, enabled: true, paused_by: null });
    expect(shown.events).toContain("kaizen.promoted");
    const at = `${ROUTE}/${shown.id}`;
    expect((await send("GET", at)).json).toEqual(shown);
    expect((await send("GET", ROUTE)).json).toEqual({ webhooks: [shown] });

    const stopped = await send("PATCH", at, { enabled: false, events: ["decision.denied"] });
    expect(stopped.json).toMatchObject({ enabled: false, paused_by: "operator" });
    const renewed = await send("POST", `${at}/secret`);
    expect((renewed.json as WebhookCreated).secret).not.toBe(secret);
    const tested = await send("POST", `${at}/test`);
    expect(tested.json).toMatchObject({ delivered: false, status: 500, detail: "answered 500" });
    const { json } = await send("GET", `${at}/deliveries`);
    expect(json).toMatchObject({ deliveries: [{ type: "webhook.test", status: 500, attempt: 1 }] });
    expect((await send("GET", `${at}/dead`)).json).toEqual({ dead: [] });
    const none = await send("POST", `${at}/dead/redeliver`, {});
    expect(none.json).toEqual({ redelivered: 0, dead: 0 });

    expect((await send("DELETE", at)).json).toMatchObject({ id: shown.id });
    expect(problemIn(await send("GET", at)).code).toBe("not_found");
    expect((await send("GET", ROUTE)).json).toEqual({ webhooks: [] });
  });

  it.each([
    [{}, "/url", "required"],
    [{ url: "http://10.0.0.1/" }, "/url", "format"],
    [{ url: "https://169.254.169.254/" }, "/url", "format"],
    [{ url: `https://acme.example/${"a".repeat(2048)}` }, "/url", "length"],
    [{ url: URL, events: [] }, "/events", "length"],
    [{ url: URL, events: ["decision.made"] }, "/events/0", "enum"],
    [{ url: URL, tenant: "acme", events: ["kaizen.promoted"] }, "/events/0", "enum"],
    [{ url: URL, secret: "mine" }, "/secret", "unknown"],
  ])("refuse %j at %s", async (body, pointer, code) => {
    const problem = problemIn(await send("POST", ROUTE, body));
    expect(problem.code).toBe("invalid_request");
    expect(problem.errors).toEqual([expect.objectContaining({ pointer, code })]);
  });

  it("are an administrator's", async () => {
    for (const [method, path] of [
      ["GET", ROUTE],
      ["POST", ROUTE],
      ["GET", `${ROUTE}/wh_1`],
    ] as const) {
      const body = method === "POST" ? { url: URL } : undefined;
      const refused = await send(method, path, body, service.key);
      expect([refused.status, problemIn(refused).code]).toEqual([403, "insufficient_scope"]);
    }
  });

  it("have a bound", async () => {
    for (let n = 0; n < WEBHOOK_ENDPOINTS_MAX; n++) {
      expect((await send("POST", ROUTE, { url: `${URL}/${n}` })).status).toBe(201);
    }
    const refused = await send("POST", ROUTE, { url: URL });
    expect([refused.status, problemIn(refused).code]).toEqual([507, "webhooks_full"]);
  });
});
