// Work that one node of a cluster does for all: one has it, and another when that one stands still for longer than a lease
// lasts; a node that wakes up again knows that it does not lead any more.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterState } from "../../../src/contract/schemas/cluster/state.ts";
import { LEASE_MS } from "../../../src/stream/nats-lease.ts";
import { Cluster, type Node } from "./_nodes.ts";
import { needs } from "../../_needs.ts";

const JOBS = ["credibility", "kaizen"];
/** Reports come every five seconds. */
const TOLD_MS = 20_000;

describe("work of one node", needs("nats-server"), () => {
  let cluster: Cluster;
  const nodes: Node[] = [];
  beforeAll(async () => {
    cluster = await Cluster.open();
    nodes.push(await cluster.node("one"), await cluster.node("two", { TRUSTRANK_KAIZEN: "off" }));
    nodes.push(await cluster.node("three"));
  }, 90_000);
  afterAll(() => cluster?.close());

  /** Jobs of each node, as a node tells of them. */
  async function leads(by: Node): Promise<Record<string, string[]>> {
    const { body } = await by.ask<ClusterState>("GET", "/v1/cluster");
    return Object.fromEntries(body.nodes.map(({ node, leads: jobs }) => [node, jobs.toSorted()]));
  }

  it("goes to another node when its own stands still, and stays there", async () => {
    const [one, two, three] = nodes as [Node, Node, Node];
    // The first to come has taken both; the second may not run kaizen.
    await expect
      .poll(() => leads(three), { timeout: TOLD_MS })
      .toEqual({
        one: JOBS,
        two: [],
        three: [],
      });
    one.signal("SIGSTOP");
    const isTaken = async () => {
      const { two: second = [], three: third = [] } = await leads(three);
      return [...second, ...third].toSorted();
    };
    await expect.poll(isTaken, { timeout: LEASE_MS + TOLD_MS }).toEqual(JOBS);
    expect((await leads(three))["two"]).not.toContain("kaizen");
    one.signal("SIGCONT");
    await expect.poll(async () => (await leads(one))["one"], { timeout: TOLD_MS }).toEqual([]);
    expect(await isTaken()).toEqual(JOBS);
    expect((await two.ask("POST", "/v1/kaizen/credibility", {})).status).toBe(200);
  }, 120_000);
});
