// Two processes of one name: a node that was killed has its name again at once, and another data directory is refused
// it while the node lives.
import { copyFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../../_needs.ts";
import { endAll, startCommand } from "../../cli/_process.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { Cluster, type Node } from "./_nodes.ts";

describe("two processes of one name", needs("nats-server"), () => {
  let cluster: Cluster;
  let node: Node;
  beforeAll(async () => {
    cluster = await Cluster.open();
    node = await cluster.node("one");
  });
  afterAll(async () => {
    await endAll();
    await cluster?.close();
  });

  test("the same directory joins again at once after a kill", async () => {
    await node.kill("SIGKILL");
    const startedMs = performance.now();
    node = await cluster.node("one");
    expect(performance.now() - startedMs).toBeLessThan(12_000);
  }, 60_000);

  test("another directory is told who holds the name, and ends", async () => {
    const dataDir = temporaryDirectory();
    copyFileSync(path.join(node.dataDir, "bureau.key"), path.join(dataDir, "bureau.key"));
    const second = startCommand(["serve", "--port", "0", "--json", "--data-dir", dataDir], {
      ...cluster.environment,
      TRUSTRANK_CLUSTER_NODE: "one",
    });
    second.firstLine.catch(() => undefined);
    const { code, stderr } = await second.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/node name `one` is held by data directory `[0-9a-f-]{36}`.* on host `/);
    expect((await node.ask("GET", "/v1/keys")).status).toBe(200);
  }, 60_000);
});
