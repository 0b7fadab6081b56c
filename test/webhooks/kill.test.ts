// kill -9 of the whole service between deliveries, and again: every denial that had reached the decision
// log arrives, in order for each agent, verified by the specification's own library. The real command,
// real sockets, the real clock.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { WAIT_MS_MAX } from "../_patience.ts";
import { endAll, startCommand } from "../cli/_process.ts";
import { openReceiver } from "./_receiver.ts";

const KEY = "webhooks-suite-admin-key-0123456789abcdefgh";
const folder = mkdtempSync(join(tmpdir(), "trustrank-webhooks-"));
const PATIENT = { interval: 200 };
const ROUNDS = 3;
const EACH = 24;
/** The decision log is on disk after 50 ms. */
const LOGGED_MS = 400;

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function start() {
  const at = ["--data-dir", join(folder, "data"), "--port", "0", "--no-sample", "--json"];
  const server = startCommand(["serve", ...at], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_WEBHOOK_ALLOW: "127.0.0.1",
    TRUSTRANK_DISK_RESERVE_MB: "0",
  });
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, never> };
  };
  return { server, call };
}

it("loses no event to kill -9 between deliveries", { timeout: WAIT_MS_MAX * 3 }, async () => {
  const receiver = await openReceiver();
  let { server, call } = await start();
  // On a busy machine the thread of the webhooks may need longer than a request waits.
  await expect.poll(async () => (await call("GET", "/v1/webhooks")).status, PATIENT).toBe(200);
  const { status, json } = await call("POST", "/v1/webhooks", {
    url: receiver.url,
    events: ["decision.denied"],
  });
  expect(status).toBe(201);
  const created = json as unknown as { id: string; secret: string };
  receiver.secret = created.secret;
  const denied: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Some are taken, then the receiver fails: the kill comes between deliveries.
    const already = receiver.received.length;
    receiver.statusOf = () => (receiver.received.length >= already + 5 ? 503 : 204);
    for (let n = 0; n < EACH; n++) {
      const answer = await call("POST", "/v1/trust/verify", {
        agent_id: `agent://stranger/a${n % 4}`,
        action: "payments.transfer",
        tool_level: "L3",
        stakes: round * EACH + n,
      });
      expect(answer.json["verdict"]).not.toBe("ALLOW");
      denied.push(answer.json["request_id"] as unknown as string);
    }
    await wait(LOGGED_MS);
    server.process.kill("SIGKILL");
    expect((await server.ended).signal).toBe("SIGKILL");
    ({ server, call } = await start());
  }
  receiver.statusOf = () => 204;
  // Whoever knows that the receiver is back says so; it would be asked again by itself.
  await call("PATCH", `/v1/webhooks/${created.id}`, { enabled: true });
  const arrived = () =>
    new Set(receiver.accepted().map(({ data }) => data["request_id"] as string));
  await expect.poll(() => arrived().size, { timeout: WAIT_MS_MAX }).toBe(denied.length);
  expect([...arrived()].toSorted()).toEqual(denied.toSorted());
  expect(receiver.refused).toEqual([]);
  // In order for each agent, an event that came again aside.
  for (let n = 0; n < 4; n++) {
    const stakes = receiver
      .accepted()
      .filter(({ data }) => data["agent_id"] === `agent://stranger/a${n}`)
      .filter(({ id }, at, all) => all.findIndex((each) => each.id === id) === at)
      .map(({ data }) => data["stakes"] as number);
    expect(stakes).toEqual(stakes.toSorted((left, right) => left - right));
  }
  const tested = await call("POST", `/v1/webhooks/${created.id}/test`);
  expect(tested.json).toMatchObject({ delivered: true, status: 204, detail: "" });
  // A key that is revoked, and an agent that waits for a person, is told of by an endpoint that asks for it.
  await call("PATCH", `/v1/webhooks/${created.id}`, { events: ["key.revoked", "review.opened"] });
  const key = await call("POST", "/v1/keys", { tenant: "acme", scopes: ["score:read"] });
  const keyId = key.json["key_id"] as unknown as string;
  await call("DELETE", `/v1/keys/${keyId}`);
  const revoked = () => receiver.accepted().find(({ type }) => type === "key.revoked");
  await expect.poll(revoked, { timeout: WAIT_MS_MAX }).toMatchObject({
    tenant: "acme",
    data: { kind: "api_key", key_id: keyId },
  });
  for (let n = 0; n < 3; n++) {
    await call("POST", "/v1/check", { subject: "agent://test/escalate", stakes: n });
  }
  const reviews = () => receiver.accepted().filter(({ type }) => type === "review.opened");
  await expect
    .poll(reviews, { timeout: WAIT_MS_MAX })
    .toMatchObject([{ data: { agent_id: "agent://test/escalate", level: "connect" } }]);
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  await receiver.close();
});
