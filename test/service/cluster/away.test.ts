// The log's only server is killed: writes are refused at once as soon as that is known, reads go on, and
// all heals when it is back. And a node whose disk was lost takes its place again.
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADMIN_KEY, Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const WAIT = { timeout: 30_000, interval: 100 };
const AT_ONCE_MS = 500;

describe("a log that is away", needs("nats-server"), () => {
  let cluster: Cluster;
  let node: Node;
  beforeAll(async () => {
    cluster = await Cluster.open();
    node = await cluster.node("one");
  }, 60_000);
  afterAll(() => cluster?.close());

  async function report(stakes: number) {
    const startedAt = performance.now();
    const answer = await fetch(`${node.url}/v1/outcomes`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        "content-type": "application/json",
        "idempotency-key": `order-${stakes}`,
      },
      body: JSON.stringify({
        subject: "agent://shop/seller",
        reporter: "agent://shop/buyer",
        outcome: 1,
        grade: "escrow",
        stakes,
      }),
    });
    const body = (await answer.json()) as { code?: string; detail?: string };
    const ms = performance.now() - startedAt;
    return { status: answer.status, retry: answer.headers.get("retry-after"), body, ms };
  }

  const streamOf = async () => {
    const { body } = await node.ask<{ stream: Record<string, unknown> }>("GET", "/readyz");
    return body.stream;
  };

  it("refuses what would be recorded at once, and nothing else", async () => {
    expect((await report(1)).status).toBe(201);
    cluster.server(0).kill("SIGKILL");
    await expect.poll(async () => (await streamOf())["away_since"], WAIT).not.toBeNull();
    for (const stakes of [2, 3, 4]) {
      const { status, retry, body, ms } = await report(stakes);
      expect([status, body.code, retry]).toEqual([503, "journal_unavailable", "5"]);
      expect(body.detail).toMatch(/^the cluster's ordered log is not to be had/);
      expect(ms).toBeLessThan(AT_ONCE_MS);
    }
    const check = { subject: "agent://shop/seller", stakes: 5 };
    expect((await node.ask("POST", "/v1/check", check)).status).toBe(200);
    const { body } = await node.ask("GET", "/v1/service/status");
    expect(body["stream"]).toMatchObject({ connected: false });
  }, 60_000);

  it("takes it again when the server is back, each id once", async () => {
    cluster.restart(0);
    const statuses: number[] = [];
    const again = async () => statuses[statuses.push((await report(2)).status) - 1];
    await expect.poll(again, WAIT).toBe(200);
    expect(statuses.filter((status) => status === 201).length).toBeLessThan(2);
    expect(await streamOf()).toMatchObject({ away_since: null, connected: true });
  }, 60_000);

  it("records at once at a node that began again over an empty directory", async () => {
    const offer = (of: Node, id: string) =>
      of.ask(
        "POST",
        "/v1/outcomes",
        {
          subject: "agent://shop/new",
          reporter: "agent://shop/buyer",
          outcome: 1,
          grade: "escrow",
          stakes: 5,
        },
        ADMIN_KEY,
        { "idempotency-key": id },
      );
    const before = await cluster.node("two");
    for (const id of ["a", "b", "c"]) expect((await offer(before, id)).status).toBe(201);
    await before.kill("SIGKILL");
    rmSync(before.dataDir, { recursive: true });
    const after = await cluster.node("two");
    expect((await offer(after, "c")).status).toBe(200);
    for (const id of ["d", "e", "f"]) expect((await offer(after, id)).status).toBe(201);
  }, 60_000);
});
