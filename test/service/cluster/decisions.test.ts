// Decisions of all nodes in the SQL of one: each once, under the name of the node that made it, whichever node is
// killed on the way, and also those that were made before a node kept copies.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADMIN_KEY, Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

/** Looks come every second, reports of who keeps copies every five. */
const inOrder = (a: readonly unknown[], b: readonly unknown[]) =>
  a.join(" ") < b.join(" ") ? -1 : 1;
const WAIT = { timeout: 40_000, interval: 500 };
const CLUSTER = "/v1/cluster";
const AUTHORIZED = { authorization: `Bearer ${ADMIN_KEY}` };
const LIMITED = { TRUSTRANK_CLUSTER_DECISIONS_GB: "1" };
const ANALYTICS = { ...LIMITED, TRUSTRANK_CLUSTER_ROLE: "analytics" };
const ROWS =
  "SELECT node, request_id, count(*) AS times FROM decisions GROUP BY ALL ORDER BY ALL LIMIT 1000";

describe("decisions of all nodes", needs("nats-server"), () => {
  let cluster: Cluster;
  let one: Node;
  let two: Node;
  let three: Node;
  /** Of all decisions made so far, as their answers named them. */
  const made: [node: string, request: string, times: number][] = [];
  beforeAll(async () => {
    cluster = await Cluster.open();
    [one, two] = [await cluster.node("one", LIMITED), await cluster.node("two", LIMITED)];
  }, 60_000);
  afterAll(() => cluster?.close());

  async function decide(name: string, node: Node, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const { status, body } = await node.ask<{ request_id: string }>("POST", "/v1/trust/verify", {
        agent_id: `agent://test/${n % 2 === 0 ? "refuse" : "allow"}`,
        action: "payments.wire",
        tool_level: "L2",
        context: {},
      });
      expect(status).toBe(200);
      made.push([name, body.request_id, 1]);
    }
  }

  async function rowsOf(node: Node): Promise<unknown[][]> {
    const { body } = await node.ask<{ rows: unknown[][] }>("POST", "/v1/query", { sql: ROWS });
    return body.rows;
  }
  /** Waits until `node` has the decisions that `others` have of themselves, each once. */
  async function expectAll(node: Node, others: readonly Node[]): Promise<void> {
    const own = await Promise.all(others.map(rowsOf));
    const all = own.flat().toSorted(inOrder);
    expect(all.every(([, , times]) => times === 1)).toBe(true);
    const names = new Set(all.map(([name]) => name));
    await expect
      .poll(async () => (await rowsOf(node)).filter(([name]) => names.has(name)), WAIT)
      .toEqual(all);
  }

  it("each stands there once, also those of before, and is found by its id", async () => {
    await decide("one", one, 20);
    await decide("two", two, 20);
    three = await cluster.node("three", ANALYTICS);
    await decide("three", three, 5);
    const all = made.toSorted(inOrder);
    await expect.poll(() => rowsOf(three), WAIT).toEqual(all);
    expect(await rowsOf(one)).toHaveLength(20);
    const [, id] = made[0]!;
    const found = await three.ask<{ legs: { node: string }[] }>("GET", `/v1/decisions/${id}`);
    expect(JSON.stringify(found)).toContain('"node":"one"');
    const { body } = await three.ask<{ nodes: { node: string; role: string }[] }>("GET", CLUSTER);
    expect(body.nodes.map(({ node, role }) => [node, role])).toEqual([
      ["one", "serve"],
      ["three", "analytics"],
      ["two", "serve"],
    ]);
    const metrics = await fetch(`${three.url}/metrics`, { headers: AUTHORIZED });
    expect(await metrics.text()).toMatch(/trustrank_stream_decision_bytes_collected_total [1-9]/);
  }, 120_000);

  it("and whichever node is killed on the way", async () => {
    await Promise.all([decide("one", one, 60), decide("two", two, 60)]);
    await Promise.all([one.kill("SIGKILL"), three.kill("SIGKILL")]);
    await decide("two", two, 10);
    one = await cluster.node("one", LIMITED);
    await decide("one", one, 10);
    three = await cluster.node("three", ANALYTICS);
    await decide("two", two, 10);
    await expectAll(three, [one, two]);
    // Denials are on disk at once, other answers within a second: a kill may cost the node itself those.
    const kept = await rowsOf(one);
    expect(kept.length).toBeGreaterThanOrEqual(20 + 30 + 10);
    expect((await rowsOf(two)).length).toBe(100);
  }, 120_000);
});
