// `trustrank cluster restore`: the log is lost with all its servers, and the nodes go on without loss.
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { Cluster, type Node, whySkipped } from "../../service/cluster/_nodes.ts";
import { endAll, runCommand } from "../_process.ts";

const OUTCOME = {
  subject: "agent://shop/seller",
  reporter: "agent://shop/buyer",
  outcome: 1,
  grade: "escrow",
  stakes: 5,
};

function report(node: Node, id: string) {
  const headers = { "idempotency-key": id };
  return node.ask<{ outcome_id: string }>("POST", "/v1/outcomes", OUTCOME, undefined, headers);
}

function journalOf(dataDir: string): Buffer {
  const directory = join(dataDir, "journal");
  const names = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return Buffer.concat(names.toSorted().map((name) => readFileSync(join(directory, name))));
}

async function reportAll(node: Node, first: number, count: number): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let index = first; index < first + count; index++) {
    const { status, body } = await report(node, `order-${index}`);
    expect(status).toBe(201);
    ids.set(`order-${index}`, body.outcome_id);
  }
  return ids;
}

describe.skipIf(whySkipped !== undefined)(`restore ${whySkipped ?? ""}`, () => {
  let lost: Cluster;
  let fresh: Cluster;
  beforeAll(async () => {
    [lost, fresh] = await Promise.all([Cluster.open(), Cluster.open()]);
  });
  afterEach(endAll);
  afterAll(async () => {
    await lost?.close();
    await fresh?.close();
  });

  test("goes on from the longest journal, and nothing acknowledged is lost", async () => {
    const one = await lost.node("one");
    const two = await lost.node("two");
    const receipts = await reportAll(one, 0, 10);
    await two.kill("SIGKILL");
    for (const [id, receipt] of await reportAll(one, 10, 10)) receipts.set(id, receipt);
    await one.kill("SIGKILL");
    expect(journalOf(two.dataDir).byteLength).toBeLessThan(journalOf(one.dataDir).byteLength);

    // A node that finds an empty log where its own was ends by itself.
    await expect(lost.node("one", fresh.environment).then((node) => gone(node))).rejects.toThrow();

    const command = ["cluster", "restore", "--json", one.dataDir, two.dataDir];
    const { code, stdout, stderr } = await runCommand(command, fresh.environment);
    expect([code, stderr]).toEqual([0, expect.stringContaining("copied from the longest")]);
    expect(JSON.parse(stdout)).toMatchObject({ generation: 2, nodes: 2 });
    expect(journalOf(two.dataDir)).toEqual(journalOf(one.dataDir));

    const nodes = await Promise.all([
      lost.node("one", fresh.environment),
      lost.node("two", fresh.environment),
    ]);
    for (const node of nodes) {
      for (const [id, receipt] of receipts) {
        expect((await report(node, id)).body.outcome_id).toBe(receipt);
      }
    }
    expect((await report(nodes[1]!, "order-new")).status).toBe(201);
    const journals = () => nodes.map(({ dataDir }) => journalOf(dataDir).toString("hex"));
    await expect.poll(() => new Set(journals()).size, { timeout: WAIT_MS_MAX }).toBe(1);

    // An empty node has not what the new log goes on from.
    await expect(
      lost.node("three", fresh.environment).then((node) => gone(node)),
    ).rejects.toThrow();
    for (const node of nodes) await node.kill("SIGKILL");
  }, 120_000);

  test("refuses a journal that is no beginning of the longest", async () => {
    const alone = { TRUSTRANK_CLUSTER: "" };
    const first = await fresh.node("alone", alone);
    await reportAll(first, 0, 2);
    await first.kill("SIGTERM");
    const copy = `${first.dataDir}-copy`;
    cpSync(first.dataDir, copy, { recursive: true });
    const again = await fresh.node("alone", alone);
    await reportAll(again, 2, 1);
    await again.kill("SIGTERM");
    const other = await fresh.node("alone-copy", alone);
    await reportAll(other, 5, 3);
    await other.kill("SIGTERM");
    const command = ["cluster", "restore", again.dataDir, other.dataDir];
    const { code, stderr } = await runCommand(command, fresh.environment);
    expect([code, stderr]).toEqual([65, expect.stringContaining("is no beginning of the one of")]);
  }, 60_000);

  test("makes a bureau that was alone the first node of a cluster", async () => {
    const name = { TRUSTRANK_CLUSTER_NAME: "grown" };
    const environment = { ...lost.environment, ...name };
    const first = await fresh.node("grown", { TRUSTRANK_CLUSTER: "" });
    const receipts = await reportAll(first, 0, 3);
    await first.kill("SIGTERM");
    const { code, stdout } = await runCommand(["cluster", "restore", first.dataDir], environment);
    expect([code, stdout]).toEqual([0, expect.stringContaining("generation 1 goes on behind")]);
    const node = await fresh.node("grown", environment);
    for (const [id, receipt] of receipts) {
      expect((await report(node, id)).body.outcome_id).toBe(receipt);
    }
    expect((await report(node, "order-new")).status).toBe(201);
  }, 60_000);
});

/** Rejects once a node does not answer any more. */
async function gone(node: Node): Promise<void> {
  const until = performance.now() + WAIT_MS_MAX;
  while (performance.now() < until) {
    await node.ask("GET", "/healthz");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
