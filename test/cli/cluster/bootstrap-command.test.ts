// `trustrank cluster bootstrap`: a new node copies the journal of one that runs, and is equal to it.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { ADMIN_KEY, Cluster, type Node } from "../../service/cluster/_nodes.ts";
import { endAll, runCommand } from "../_process.ts";
import { needs } from "../../_needs.ts";

async function reportAll(node: Node, first: number, count: number): Promise<void> {
  for (let index = first; index < first + count; index++) {
    const outcome = {
      subject: `agent://shop/seller-${index}`,
      reporter: "agent://shop/buyer",
      outcome: 1,
      grade: "escrow",
      stakes: 5,
    };
    expect((await node.ask("POST", "/v1/outcomes", outcome)).status).toBe(201);
  }
}

function journalOf(dataDir: string): Buffer {
  const directory = join(dataDir, "journal");
  const names = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return Buffer.concat(names.toSorted().map((name) => readFileSync(join(directory, name))));
}

test("it asks for the bureau's key first", async () => {
  const directory = temporaryDirectory();
  const from = ["--from", "http://127.0.0.1:1", "--key", "none"];
  const command = ["cluster", "bootstrap", "--data-dir", directory, ...from];
  const { code, stderr } = await runCommand(command);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("copy it from a node of the cluster"),
  ]);
  expect(readdirSync(directory)).toEqual([]);
});

describe("bootstrap", needs("nats-server"), () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.open();
  });
  afterEach(endAll);
  afterAll(() => cluster?.close());

  test("copies a journal after a restore, goes on where it was cut short, and joins", async () => {
    const former = await cluster.node("one");
    await reportAll(former, 0, 4);
    await former.kill("SIGKILL");
    await cluster.wipe(0);
    const restore = ["cluster", "restore", former.dataDir];
    expect((await runCommand(restore, cluster.environment)).code).toBe(0);
    const one = await cluster.node("one");
    await reportAll(one, 4, 4);

    // Without a copy a new node lacks what the log goes on from.
    const dataDir = cluster.directoryOf("two");
    mkdirSync(dataDir);
    copyFileSync(join(one.dataDir, "bureau.key"), join(dataDir, "bureau.key"));
    const command = ["cluster", "bootstrap", "--json", "--data-dir", dataDir, "--from", one.url];
    const bootstrap = () => runCommand([...command, "--key", ADMIN_KEY]);
    const first = await bootstrap();
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining("seg-")]);
    // The cluster records of itself meanwhile: whole up to where the copy was made.
    const copied = journalOf(dataDir);
    expect(copied).toEqual(journalOf(one.dataDir).subarray(0, copied.byteLength));
    expect(copied.includes("agent://shop/seller-7")).toBe(true);

    // As a copy that was cut short leaves it.
    const segment = readdirSync(join(dataDir, "journal")).find((name) => name.endsWith(".log"));
    const path = join(dataDir, "journal", segment!);
    truncateSync(path, readFileSync(path).byteLength - 50);
    await reportAll(one, 8, 2);
    const second = await bootstrap();
    expect(second.code).toBe(0);
    const { position, former_position: before } = JSON.parse(second.stdout) as Record<
      string,
      number
    >;
    expect(position).toBeGreaterThan(before!);

    const two = await cluster.node("two");
    await reportAll(two, 10, 2);
    const journals = () => [one, two].map((node) => journalOf(node.dataDir).toString("hex"));
    await expect.poll(() => new Set(journals()).size, { timeout: WAIT_MS_MAX }).toBe(1);
  });
});
