// Nodes of a cluster on the page Health, over a real log and two nodes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeNodeState } from "../../../src/console/pages/health/parts.ts";
import type { ClusterNode, ClusterState } from "../../../src/contract/schemas/cluster/state.ts";
import { ADMIN_KEY, Cluster, type Node } from "../../service/cluster/_nodes.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type ConsoleStage, openConsoleOf } from "../_console.ts";
import { needs } from "../../_needs.ts";

describe("nodes of a cluster", needs("chromium", "nats-server"), () => {
  let cluster: Cluster;
  let one: Node;
  let stage: ConsoleStage;
  beforeAll(async () => {
    cluster = await Cluster.open();
    one = await cluster.node("one");
    await cluster.node("two");
    stage = await openConsoleOf({ url: one.url, admin_key: ADMIN_KEY }, () => cluster.close());
  }, 90_000);
  afterAll(() => stage?.close());

  it("are listed with their lag, what they lead, and how fresh their reports are", async () => {
    const leads = async () => {
      const { body } = await one.ask<ClusterState>("GET", "/v1/cluster");
      return (body.nodes ?? []).map(({ node, leads: jobs }) => [node, jobs.length]);
    };
    // The first to come has taken both leases; reports come every five seconds.
    await expect.poll(leads, { timeout: WAIT_MS_MAX }).toEqual([
      ["one", 2],
      ["two", 0],
    ]);
    const { page, expectSound } = await stage.visit("health");
    const rows = page.getByRole("region", { name: "nodes of the cluster" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(2);
    const [first, second] = await rows.allTextContents();
    expect(first).toMatch(/^one this onecurrentanswerskaizencredibility|credibilitykaizen/);
    expect(first).toMatch(/\d+ messages\d+(?:\.\d)? m?s ago/);
    expect(second).toMatch(/^twocurrentanswersnone/);
    await page.getByText("generation 1", { exact: false }).first().waitFor();
    await expectSound("health-cluster");
  }, 60_000);
});

describe("the state of a node", () => {
  const node = { age_seconds: 4, lag_messages: 3 } as ClusterNode;

  it.each([
    [{}, "current"],
    [{ lag_messages: 10_001 }, "behind"],
    [{ age_seconds: 31, lag_messages: 10_001 }, "no report"],
  ])("with %j is %s", (change, word) => {
    expect(describeNodeState({ ...node, ...change })[0]).toBe(word);
  });
});
