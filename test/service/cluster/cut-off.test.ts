// A node that is cut off from the log: a key revoked elsewhere lives there no longer than is promised, and
// holds again once the log is back.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const REFUSE_SEC = 2;
const CHECK = { subject: "agent://shop/seller", stakes: 5 };

describe("a node cut off", needs("nats-server"), () => {
  let cluster: Cluster;
  let node: Node;
  beforeAll(async () => {
    cluster = await Cluster.open();
    node = await cluster.node("one", { TRUSTRANK_CLUSTER_REFUSE_SEC: `${REFUSE_SEC}` });
  }, 60_000);
  afterAll(() => cluster?.close());

  it("refuses keys within the bound, reads of scores within three times it", async () => {
    const scopes = ["score:read"];
    const made = await node.ask<{ key: string }>("POST", "/v1/keys", { tenant: "acme", scopes });
    const { key } = made.body;
    const read = async () => (await node.ask("POST", "/v1/check", CHECK, key)).status;
    const other = async () => (await node.ask("GET", "/v1/evidence", undefined, key)).status;
    expect([await read(), await other()]).toEqual([200, 200]);
    const cutMs = performance.now();
    cluster.server(0).kill("SIGSTOP");
    await expect.poll(other, { timeout: 15_000, interval: 50 }).toBe(503);
    expect(performance.now() - cutMs).toBeLessThan(REFUSE_SEC * 1000 + 1500);
    expect(await read()).toBe(200);
    await expect.poll(read, { timeout: 15_000, interval: 50 }).toBe(503);
    expect(performance.now() - cutMs).toBeLessThan(REFUSE_SEC * 3000 + 1500);
    expect((await node.ask("GET", "/v1/evidence")).status, "the environment's key").toBe(200);
    cluster.server(0).kill("SIGCONT");
    await expect.poll(other, { timeout: 30_000, interval: 100 }).toBe(200);
  }, 90_000);
});
