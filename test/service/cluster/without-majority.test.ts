// A node whose server of the log has lost the others: the server still answers questions about the log, and what it says
// is old. A key revoked at another node must not outlive the bound here, and what the node tells of its age must be true.
import { afterEach, describe, expect, it } from "vitest";
import { LAG_HEADER } from "../../../src/http/access/lag-guard.ts";
import { Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const REFUSE_SEC = 3;
/** What a request and a look at the answer take on a busy machine. */
const TOLERANCE_MS = 1500;
const CHECK = { subject: "agent://shop/seller", stakes: 5 };
const BOUND = { TRUSTRANK_CLUSTER_REFUSE_SEC: `${REFUSE_SEC}` };

describe("a node without a majority of the log's servers", needs("nats-server"), () => {
  let cluster: Cluster;
  afterEach(() => cluster?.close());

  /** What the node says a moment after the bound of the scores' reads, seen from `sinceMs` on. */
  async function assertCutOff(node: Node, key: string, sinceMs: number) {
    const list = async () => (await node.ask("GET", "/v1/evidence", undefined, key)).status;
    const check = async () => (await node.ask("POST", "/v1/check", CHECK, key)).status;
    await expect.poll(list, { timeout: 30_000, interval: 50 }).toBe(503);
    expect(performance.now() - sinceMs).toBeLessThan(REFUSE_SEC * 1000 + TOLERANCE_MS);
    await expect.poll(check, { timeout: 30_000, interval: 50 }).toBe(503);
    const cutMs = performance.now() - sinceMs;
    expect(cutMs).toBeLessThan(REFUSE_SEC * 3000 + TOLERANCE_MS);
    const answer = await fetch(`${node.url}/v1/evidence`, { headers: node.operator });
    expect(answer.status, "the environment's key").toBe(200);
    expect(Number(answer.headers.get(LAG_HEADER))).toBeGreaterThan(cutMs - TOLERANCE_MS);
    const { body } = await node.ask<{ warnings?: string[]; reasons?: string[] }>("GET", "/readyz");
    const told = [...(body.warnings ?? []), ...(body.reasons ?? [])];
    expect(told.some((each) => each.includes("ordered log"))).toBe(true);
  }

  async function makeKey(node: Node) {
    const scopes = ["score:read"];
    const { body } = await node.ask<{ key: string; key_id: string }>("POST", "/v1/keys", {
      tenant: "acme",
      scopes,
    });
    return body;
  }

  it("refuses keys within the bound when two of three servers are killed", async () => {
    cluster = await Cluster.open(3);
    await cluster.elected();
    const node = await cluster.node("one", BOUND);
    const { key } = await makeKey(node);
    await expect
      .poll(async () => (await node.ask("POST", "/v1/check", CHECK, key)).status)
      .toBe(200);
    const sinceMs = performance.now();
    cluster.server(1).kill("SIGKILL");
    cluster.server(2).kill("SIGKILL");
    await assertCutOff(node, key, sinceMs);
  }, 120_000);

  it("refuses a key that another node has revoked meanwhile, and serves again once joined", async () => {
    cluster = await Cluster.open(3);
    await cluster.elected();
    const one = await cluster.node("one", BOUND);
    const three = await cluster.node("three", { ...BOUND, ...cluster.environmentOf(2) });
    const { key, key_id: keyId } = await makeKey(one);
    const check = async () => (await three.ask("POST", "/v1/check", CHECK, key)).status;
    await expect.poll(check).toBe(200);
    const sinceMs = performance.now();
    await cluster.isolate(2);
    // The server that is gone may have led: the others take the revocation once they have elected, maybe that of a
    // request that was told otherwise, whose key is not to be found then.
    const revoke = async () => {
      await expect
        .poll(async () => (await one.ask("DELETE", `/v1/keys/${keyId}`)).status)
        .toBeLessThan(500);
    };
    await Promise.all([assertCutOff(three, key, sinceMs), revoke()]);
    await cluster.rejoin(2);
    await expect.poll(check, { timeout: 60_000, interval: 100 }).toBe(401);
  }, 180_000);
});
