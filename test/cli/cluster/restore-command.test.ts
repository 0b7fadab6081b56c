// `trustrank cluster restore`: the log is lost with the disks of its servers, and the nodes go on without loss.
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { Cluster, type Node } from "../../service/cluster/_nodes.ts";
import { endAll, runCommand } from "../_process.ts";
import { needs } from "../../_needs.ts";

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

async function reportAll(node: Node, first: number, count: number): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let index = first; index < first + count; index++) {
    const { status, body } = await report(node, `order-${index}`);
    expect(status).toBe(201);
    ids.set(`order-${index}`, body.outcome_id);
  }
  return ids;
}

function journalOf(dataDir: string): Buffer {
  const directory = join(dataDir, "journal");
  const names = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return Buffer.concat(names.toSorted().map((name) => readFileSync(join(directory, name))));
}

test("a directory that is not there is refused before anything is asked of the log", async () => {
  const environment = { TRUSTRANK_CLUSTER: "127.0.0.1:1" };
  const directory = "/tmp/trustrank-no-such-directory";
  const { code, stderr } = await runCommand(["cluster", "restore", directory], environment);
  expect([code, stderr]).toEqual([65, `trustrank: there is no \`${directory}\`\n`]);
  expect(existsSync(directory)).toBe(false);
});

describe("restore", needs("nats-server"), () => {
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = await Cluster.open();
  });
  afterEach(async () => {
    await endAll();
    await cluster.close();
  });

  test("goes on from the longest journal, and nothing acknowledged is lost", async () => {
    const one = await cluster.node("one");
    const two = await cluster.node("two");
    const receipts = await reportAll(one, 0, 5);
    await expect.poll(() => journalOf(two.dataDir)).toEqual(journalOf(one.dataDir));
    await two.kill("SIGKILL");
    for (const [id, receipt] of await reportAll(one, 5, 5)) receipts.set(id, receipt);
    await one.kill("SIGKILL");
    expect(journalOf(two.dataDir).byteLength).toBeLessThan(journalOf(one.dataDir).byteLength);
    cpSync(two.dataDir, cluster.directoryOf("left-out"), { recursive: true });
    await cluster.wipe(0);

    const command = ["cluster", "restore", "--json", one.dataDir, two.dataDir];
    const restored = await runCommand(command, cluster.environment);
    expect([restored.code, restored.stderr]).toEqual([
      0,
      expect.stringContaining("copied from the longest"),
    ]);
    expect(JSON.parse(restored.stdout)).toMatchObject({ generation: 2, nodes: 2 });
    expect(journalOf(two.dataDir)).toEqual(journalOf(one.dataDir));

    const nodes = await Promise.all([cluster.node("one"), cluster.node("two")]);
    for (const node of nodes) {
      for (const [id, receipt] of receipts) {
        expect((await report(node, id)).body.outcome_id).toBe(receipt);
      }
    }
    expect((await report(nodes[1], "order-new")).status).toBe(201);
    const journals = () => nodes.map(({ dataDir }) => journalOf(dataDir).toString("hex"));
    await expect.poll(() => new Set(journals()).size, { timeout: WAIT_MS_MAX }).toBe(1);

    // A node of the old generation takes no part.
    await expect(cluster.node("left-out")).rejects.toThrow(
      /follows generation 1 of the log, not 2.*trustrank cluster/s,
    );
  });
});
