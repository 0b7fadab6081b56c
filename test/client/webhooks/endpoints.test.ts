// Webhooks with the client, against the running service: managed by an operator, told to a receiver that
// verifies with the client's own helper.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { type WebhookEvent, verifyWebhook } from "../../../src/client/webhooks/verify.ts";
import { type LiveService, startLiveService } from "../_live.ts";
import { rejection } from "../_replies.ts";

let service: LiveService;
let client: TrustRankClient;
let receiver: http.Server;
let url: string;
let secret = "";
let status = 204;
const events: WebhookEvent[] = [];
const refused: unknown[] = [];

beforeAll(async () => {
  service = await startLiveService({ TRUSTRANK_WEBHOOK_ALLOW: "127.0.0.1" });
  const { baseUrl, apiKey } = service;
  client = new TrustRankClient({ baseUrl, apiKey, slowTimeoutMs: 30_000 });
  receiver = http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      void verifyWebhook(Buffer.concat(pieces), request.headers, secret)
        .then((event) => events.push(event))
        .catch((error: unknown) => refused.push(error))
        .then(() => response.writeHead(status).end());
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await service.stop();
});

it("registers, tests, changes, renews, and takes away", async () => {
  const { webhooks } = client;
  const made = await webhooks.create({ url, description: "on call" });
  secret = made.secret;
  const { id } = made;
  const { secret: _hidden, ...shown } = made;
  expect(await webhooks.list()).toEqual([shown]);
  expect(await webhooks.read(id)).toEqual(shown);

  expect(await webhooks.test(id)).toMatchObject({ delivered: true, status: 204 });
  expect(events).toMatchObject([{ type: "webhook.test", data: {} }]);
  expect((await webhooks.deliveries(id))[0]).toMatchObject({
    webhook_id: events[0]!.id,
    type: "webhook.test",
    delivered: true,
  });

  // Both secrets sign for a day: the receiver may hold either.
  const former = secret;
  secret = (await webhooks.rotateSecret(id)).secret;
  expect(secret).not.toBe(former);
  await webhooks.test(id);
  secret = former;
  await webhooks.test(id);
  expect(events).toHaveLength(3);
  secret = made.secret.replace(/.{4}=$/, "AAA=");
  await webhooks.test(id);
  expect(refused).toHaveLength(1);

  const changed = await webhooks.update(id, { events: ["decision.denied"], enabled: false });
  expect(changed).toMatchObject({ enabled: false, events: ["decision.denied"] });
  expect(await webhooks.deadLetters(id)).toEqual([]);
  expect(await webhooks.redeliver(id)).toEqual({ redelivered: 0, dead: 0 });
  expect(await webhooks.redeliver(id, ["evt_1"])).toEqual({ redelivered: 0, dead: 0 });
  expect(await webhooks.delete(id)).toMatchObject({ id });
  expect(await webhooks.list()).toEqual([]);
});

it("says what is wrong, and that there is no such endpoint", async () => {
  const { webhooks } = client;
  const made = webhooks.create({ url: "http://10.0.0.1/" });
  expect(await rejection(made)).toMatchObject({ status: 400, errors: [{ pointer: "/url" }] });
  const given = ["wh_0123456789abcdef0123"] as const;
  const asked = [
    webhooks.read(...given),
    webhooks.update(...given, {}),
    webhooks.delete(...given),
    webhooks.rotateSecret(...given),
    webhooks.test(...given),
    webhooks.deliveries(...given),
    webhooks.deadLetters(...given),
    webhooks.redeliver(...given),
  ];
  for (const thrown of await Promise.all(asked.map(rejection))) {
    expect(thrown).toMatchObject({ code: "not_found", status: 404 });
  }
});

it("reports an endpoint that does not take it", async () => {
  const { webhooks } = client;
  const { id, secret: own } = await webhooks.create({ url });
  secret = own;
  status = 500;
  expect(await webhooks.test(id)).toMatchObject({ delivered: false, status: 500 });
  status = 204;
});

it("takes no reply of another shape for an answer", async () => {
  const fetch = async () => Response.json({ webhooks: {}, id: 7 });
  const other = new TrustRankClient({ baseUrl: "http://trust", fetch });
  const asked = [
    other.webhooks.list(),
    other.webhooks.read("wh_1"),
    other.webhooks.create({ url }),
    other.webhooks.test("wh_1"),
    other.webhooks.redeliver("wh_1"),
  ];
  for (const thrown of await Promise.all(asked.map(rejection))) {
    expect(thrown).toMatchObject({ code: "malformed_reply" });
  }
});
