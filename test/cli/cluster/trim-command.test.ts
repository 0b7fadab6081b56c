// `trustrank cluster trim` over a real log: what every node has is removed, a node goes on behind it after a
// restart, one that is behind holds it back, and one that lacks what was removed joins over a copy.
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClusterState } from "../../../src/contract/schemas/cluster/state.ts";
import { loadClusterSecret } from "../../../src/cli/cluster/ordered-log.ts";
import { SEALED_RULES } from "../../../src/ledger/ordered/message.ts";
import { openNatsLog } from "../../../src/stream/nats-log.ts";
import { recordOf, runOf } from "../../ledger/_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { ADMIN_KEY, Cluster, type Node } from "../../service/cluster/_nodes.ts";
import { endAll, runCommand } from "../_process.ts";
import { needs } from "../../_needs.ts";

const MESSAGES = 1400;

test("it takes no number that would leave a node without its last message", async () => {
  const command = ["cluster", "trim", "--cluster", "127.0.0.1:1", "--keep", "10"];
  const { code, stderr } = await runCommand(command);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--keep takes a whole number")]);
});

describe("trim", needs("nats-server"), () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.open();
  });
  afterEach(endAll);
  afterAll(() => cluster?.close());

  const run = (...command: string[]) =>
    runCommand(["cluster", ...command, "--json"], cluster.environment);
  const trim = (...flags: string[]) => run("trim", "--keep", "1000", ...flags);
  const told = async (name: string, place: number) => {
    const at = async () => {
      const { nodes } = JSON.parse((await run("status")).stdout) as ClusterState;
      return nodes.find(({ node }) => node === name)?.place ?? -1;
    };
    await expect.poll(at, { timeout: WAIT_MS_MAX, interval: 500 }).toBeGreaterThanOrEqual(place);
  };
  const journalOf = (dataDir: string) => {
    const names = readdirSync(join(dataDir, "journal")).filter((name) => name.startsWith("seg-"));
    return names.map((name) => readFileSync(join(dataDir, "journal", name)).toString("hex")).join();
  };
  const report = async (node: Node) => {
    const outcome = {
      subject: "agent://shop/s",
      reporter: "agent://shop/b",
      outcome: 1,
      stakes: 5,
    };
    const { status } = await node.ask("POST", "/v1/outcomes", { ...outcome, grade: "escrow" });
    expect(status).toBe(201);
  };

  /** As another node sends them, one outcome each. */
  async function fill(): Promise<void> {
    const log = await openNatsLog({
      servers: cluster.environment["TRUSTRANK_CLUSTER"]!.split(","),
      credentialsFile: undefined,
      name: "trustrank",
      bytesMax: 2 ** 30,
      secret: loadClusterSecret(join(cluster.directoryOf("one"), "bureau.key")),
      log: () => undefined,
    });
    const rules = SEALED_RULES;
    const frames = (n: number) => Uint8Array.from(runOf([recordOf(n)]).bytes);
    const append = (n: number) =>
      log.append({ origin: "far:1:aa", n, count: 1, frames: frames(n), rules, after: 1 }, 10_000);
    for (let n = 1; n <= MESSAGES; n += 100) {
      // oxlint-disable-next-line no-await-in-loop -- a hundred at a time
      await Promise.all(Array.from({ length: 100 }, (_, index) => append(n + index)));
    }
    await log.close();
  }

  test("what all have goes, what one may need stays", async () => {
    const one = await cluster.node("one");
    await fill();
    await told("one", MESSAGES);
    // One node is no second copy.
    const alone = await trim();
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("1 of 2 nodes")]);
    let two = await cluster.node("two");
    await told("two", MESSAGES);
    const { code, stdout } = await trim();
    expect(code).toBe(0);
    const { first_message: first, removed } = JSON.parse(stdout) as Record<string, number>;
    expect([removed! > 300, first]).toEqual([true, removed! + 1]);
    const { body: state } = await one.ask<ClusterState>("GET", "/v1/cluster");
    expect(state.log_bytes_max).toBe(2 ** 30);

    await two.kill("SIGKILL");
    await report(one);
    two = await cluster.node("two");
    await report(two);

    // One that begins anew finds no beginning, says what to do, and holds back what it may yet want.
    const dataDir = cluster.directoryOf("three");
    const joined = cluster.node("three").then(async (node) => {
      await node.kill("SIGCONT");
      return "it listens";
    });
    await expect(joined).rejects.toThrow(/ended with 65: .*`trustrank cluster bootstrap`/s);
    const held = JSON.parse((await trim()).stdout) as object;
    expect(held).toEqual({ removed: 0, first_message: first, slowest: "three" });
    expect((await trim("--without", "nobody")).code).toBe(2);
    const without = JSON.parse((await trim("--without", "three")).stdout) as { slowest: string };
    expect(without.slowest).not.toBe("three");

    mkdirSync(dataDir, { recursive: true });
    copyFileSync(join(one.dataDir, "bureau.key"), join(dataDir, "bureau.key"));
    const from = ["--from", one.url, "--key", ADMIN_KEY];
    expect((await runCommand(["cluster", "bootstrap", "--data-dir", dataDir, ...from])).code).toBe(
      0,
    );
    const three = await cluster.node("three");
    await report(three);
    const journals = () => new Set([one, two, three].map((node) => journalOf(node.dataDir))).size;
    await expect.poll(journals, { timeout: WAIT_MS_MAX }).toBe(1);
  }, 150_000);
});
