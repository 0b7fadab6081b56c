// Nodes of a real cluster and what others publish into their log: it neither stops them nor counts.
import { Kvm } from "@nats-io/kv";
import { connect, headers } from "@nats-io/transport-node";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { loadClusterSecret } from "../../../src/cli/cluster/ordered-log.ts";
import { openNatsLog } from "../../../src/stream/nats-log.ts";
import { runCommand } from "../../cli/_process.ts";
import { needs } from "../../_needs.ts";
import { Cluster, type Node } from "./_nodes.ts";

const PATIENCE = { timeout: 30_000, interval: 200 };
const OUTCOME = {
  subject: "agent://shop/s",
  reporter: "agent://shop/b",
  outcome: 1,
  stakes: 5,
  grade: "escrow",
};

describe("a sealed log", needs("nats-server"), () => {
  let cluster: Cluster;
  afterEach(() => cluster?.close());

  const servers = () => cluster.environment["TRUSTRANK_CLUSTER"]!.split(",");
  const settings = () => ({
    servers: servers(),
    name: "trustrank",
    bytesMax: 2 ** 30,
    log: () => undefined,
  });
  /** As somebody does who has the credentials of the log's servers alone. */
  async function publish(rules: number, data: Uint8Array): Promise<void> {
    const connection = await connect({ servers: servers() });
    const carried = headers();
    const members = { Origin: "x:1:aa", N: "1", Count: "1", Rules: String(rules) };
    for (const [name, value] of Object.entries(members)) carried.set(`Tr-${name}`, value);
    await connection.request("trustrank.p0.g1", data, { headers: carried, timeout: 10_000 });
    await connection.close();
  }
  const recordOutcome = async (node: Node) =>
    expect((await node.ask("POST", "/v1/outcomes", OUTCOME)).status).toBe(201);
  const warningsOf = async (node: Node) => {
    const { body } = await node.ask<{ warnings?: string[] }>("GET", "/readyz");
    return (body.warnings ?? []).join();
  };

  test("poison stops no node, also started again, and a sealed message of unknown rules does, with the reason", async () => {
    cluster = await Cluster.open();
    const one = await cluster.node("one");
    const two = await cluster.node("two");
    for (const rules of [99, 2, 1]) await publish(rules, Uint8Array.of(1));
    for (const node of [one, two]) {
      await expect.poll(() => warningsOf(node), PATIENCE).toContain("3 messages");
      await recordOutcome(node);
    }
    await two.kill("SIGKILL");
    const doctor = await runCommand(["doctor", "--data-dir", two.dataDir]);
    expect(doctor.stdout).toMatch(/ok +cluster log: 3 messages were passed over, the newest at/);
    const again = await cluster.node("two");
    await expect.poll(() => warningsOf(again), PATIENCE).toContain("3 messages");
    await recordOutcome(again);
    const finish = ["cluster", "upgrade", "finish", "--data-dir", one.dataDir];
    const finished = async () => (await runCommand(finish, cluster.environment)).stdout;
    await expect.poll(finished, PATIENCE).toContain("already");

    const secret = loadClusterSecret(path.join(one.dataDir, "bureau.key"));
    const log = await openNatsLog({ ...settings(), secret });
    const { lastSeq: after } = await log.readState();
    const frames = Uint8Array.of(1);
    await log.append({ origin: "new:1:aa", n: 1, count: 1, frames, rules: 3, after }, 10_000);
    await log.close();
    await expect
      .poll(
        () =>
          one.ask("GET", "/readyz").then(
            () => "up",
            () => "ended",
          ),
        PATIENCE,
      )
      .toBe("ended");
    await expect(cluster.node("one")).rejects.toThrow(
      /ended with 70: .*rules 3.*install the release/s,
    );
  });

  test("an older log takes seals from `cluster upgrade finish` on, which waits for the last node", async () => {
    cluster = await Cluster.open();
    const older = await openNatsLog(settings());
    await older.append({ origin: "old:1:aa", n: 1, count: 1, frames: Uint8Array.of(1) }, 10_000);
    mkdirSync(cluster.directoryOf("one"), { recursive: true });
    const one = await cluster.node("one");
    const checkpoints: unknown[] = [];
    const report = { generation: 1, key: "", seq: 1, lsn: 1, chain: "", version: "", checkpoints };
    await older.publishReport("zero", { ...report, atMs: Date.now() });
    const finish = ["cluster", "upgrade", "finish", "--data-dir", one.dataDir];
    const run = (...flags: string[]) => runCommand([...finish, ...flags], cluster.environment);
    await expect
      .poll(async () => (await run()).stderr, PATIENCE)
      .toMatch(/upgrade these nodes first.*: zero$/m);
    // It waits for the first report of node one.
    await expect
      .poll(async () => (await run("--without", "zero")).stdout, PATIENCE)
      .toMatch(/rules 2 from message \d+ on/);
    await older.append({ origin: "old:1:aa", n: 2, count: 1, frames: Uint8Array.of(1) }, 10_000);
    await older.close();
    await expect.poll(() => warningsOf(one), PATIENCE).toContain("2 messages");
    // A report without a seal counts no more.
    await expect.poll(() => warningsOf(one), PATIENCE).toContain("`zero` carry no valid seal");
    await recordOutcome(one);
  });

  test("forged reports and an invented generation neither end a node nor refuse its start, and are named", async () => {
    cluster = await Cluster.open();
    const one = await cluster.node("one");
    await recordOutcome(one);
    const connection = await connect({ servers: servers() });
    const bucket = await new Kvm(connection).open("trustrank_nodes");
    const forged = { generation: 1, key: "f".repeat(64), seq: 1, lsn: 1, chain: "x", version: "1" };
    const content = { ...forged, atMs: Date.now(), checkpoints: [], rules: 2, rulesMax: 2 };
    for (const name of ["f1", "f2", "f3", "f4"]) await bucket.put(name, JSON.stringify(content));
    const stream = { name: "trustrank_p0_g7", subjects: ["trustrank.p0.g7"], storage: "file" };
    await connection.request("$JS.API.STREAM.CREATE.trustrank_p0_g7", JSON.stringify(stream));
    await connection.request("trustrank.p0.g7", "", { timeout: 10_000 });
    await connection.close();
    await expect.poll(() => warningsOf(one), PATIENCE).toContain("`f1`, `f2`, `f3`, `f4`");
    await one.kill("SIGKILL");
    const again = await cluster.node("one");
    await expect.poll(() => warningsOf(again), PATIENCE).toMatch(/`f1`.*generation 7 /);
    await recordOutcome(again);
    const status = ["cluster", "status", "--data-dir", again.dataDir];
    const told = await runCommand(status, cluster.environment);
    expect([told.code, told.stdout]).toEqual([1, expect.stringContaining("generation 1")]);
    expect(told.stderr).toMatch(/`f4` carry no valid seal/);
    expect(told.stdout).not.toContain("f1");
    const without = [...status.slice(0, 2), "--data-dir", cluster.directoryOf("none")];
    const unchecked = await runCommand(without, cluster.environment);
    expect(unchecked.stderr).toContain("seals are not checked");
  });

  test("after a rotation of the bureau key on the files, a restore begins the generation of the next key", async () => {
    cluster = await Cluster.open();
    const one = await cluster.node("one");
    await recordOutcome(one);
    await one.kill("SIGTERM");
    const run = (...args: string[]) => runCommand(args, cluster.environment);
    expect((await run("keys", "rotate-signing", "--data-dir", one.dataDir)).code).toBe(0);
    await expect(cluster.node("one")).rejects.toThrow(/begun with the bureau key/);
    const restored = await run("cluster", "restore", one.dataDir);
    expect(restored.stdout).toContain("generation 2 goes on");
    await recordOutcome(await cluster.node("one"));
  });
});
