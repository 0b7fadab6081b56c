// `trustrank cluster repair`: bits that flipped in a node's journal, fetched over HTTP from another node.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { loadBureauKey } from "../../../src/journal/signing-key.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import { NOW_MS, recordOf, runOf, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { ADMIN_KEY, Cluster, type Node } from "../../service/cluster/_nodes.ts";
import { endAll, runCommand } from "../_process.ts";
import { needs } from "../../_needs.ts";

/** A bureau's journal of several small segments, as one that was alone leaves it. */
function history(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  const key = loadBureauKey(join(dataDir, "bureau.key"), true);
  const core = new LedgerCore({
    files: diskFileLayer,
    directory: join(dataDir, "journal"),
    key,
    epoch: 1,
    nowMs: NOW_MS,
    fold: () => 0,
    segmentBytesMax: 20_000,
  });
  for (let index = 1; index <= 60; index++) core.commit([runOf([recordOf(index)])], NOW_MS + index);
  for (let from = 100; from < 500; from += 50) {
    const records = Array.from({ length: 50 }, (_, at) => recordOf(from + at));
    core.commit([runOf(records)], NOW_MS + from);
  }
  core.close();
}

const segmentsIn = (dataDir: string) =>
  readdirSync(join(dataDir, "journal"))
    .filter((name) => name.startsWith("seg-"))
    .toSorted();
const bytesOf = (dataDir: string, name: string) => readFileSync(join(dataDir, "journal", name));

function flip(dataDir: string, name: string, at: number): void {
  const bytes = bytesOf(dataDir, name);
  bytes[at]! ^= 16;
  writeFileSync(join(dataDir, "journal", name), bytes);
}

test("it asks for a journal with its key first", async () => {
  const from = ["--from", "http://127.0.0.1:1", "--key", "none"];
  const command = ["cluster", "repair", "--data-dir", temporaryDirectory(), ...from];
  const { code, stderr } = await runCommand(command);
  expect([code, stderr]).toEqual([2, expect.stringContaining("trustrank cluster bootstrap")]);
});

describe("repair", needs("nats-server"), () => {
  let cluster: Cluster;
  let one: Node;
  beforeAll(async () => {
    cluster = await Cluster.open();
    const dataDir = cluster.directoryOf("one");
    history(dataDir);
    await runCommand(["cluster", "restore", dataDir], cluster.environment);
    one = await cluster.node("one");
  }, 60_000);
  afterEach(endAll);
  afterAll(() => cluster?.close());

  const repair = (dataDir: string, from: string) => {
    const where = ["--data-dir", dataDir, "--from", from, "--key", ADMIN_KEY];
    return runCommand(["cluster", "repair", "--json", ...where]);
  };
  const doctor = (dataDir: string) => runCommand(["doctor", "--data-dir", dataDir]);

  test("a node that was stopped is whole again, and one that runs as far as its sealed segments", async () => {
    const dataDir = cluster.directoryOf("two");
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "bureau.key"), readFileSync(join(one.dataDir, "bureau.key")));
    const from = ["--from", one.url, "--key", ADMIN_KEY];
    const copied = await runCommand(["cluster", "bootstrap", "--data-dir", dataDir, ...from]);
    expect(copied.code).toBe(0);
    const two = await cluster.node("two");
    const ready = async () => (await two.ask("GET", "/readyz")).status;
    await expect.poll(ready, { timeout: WAIT_MS_MAX }).toBe(200);
    const names = segmentsIn(dataDir);
    expect(names.length).toBeGreaterThan(4);

    // While it runs.
    flip(dataDir, names[1]!, 700);
    const live = await repair(dataDir, one.url);
    expect([live.code, live.stderr]).toEqual([0, expect.stringContaining("newest segment")]);
    expect(JSON.parse(live.stdout)).toMatchObject({
      newest_verified: false,
      mended: [{ segment: names[1], from: one.url, kept: `quarantine-1-${names[1]}` }],
    });
    expect(bytesOf(dataDir, names[1]!)).toEqual(bytesOf(one.dataDir, names[1]!));

    // Stopped, with damage in a sealed segment and in the newest.
    await two.kill("SIGTERM");
    flip(dataDir, names[2]!, 5000);
    flip(dataDir, names.at(-1)!, 400);
    const sick = await doctor(dataDir);
    expect([sick.code, sick.stdout]).toEqual([65, expect.stringContaining("cluster repair")]);

    // A node that gives damaged bytes is refused, and nothing has changed.
    const before = names.map((name) => bytesOf(dataDir, name));
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const headers = { authorization: request.headers.authorization! };
      const given = await fetch(`${one.url}${request.url}`, { headers });
      const bytes = Buffer.from(await given.arrayBuffer());
      if (request.url?.endsWith(".log") === true) bytes[2000]! ^= 1;
      response.writeHead(given.status).end(bytes);
    };
    const liar = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve));
    const lies = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
    const refused = await repair(dataDir, lies);
    expect([refused.code, refused.stderr]).toEqual([
      65,
      expect.stringContaining(`no node gave \`${names[2]}\``),
    ]);
    expect(names.map((name) => bytesOf(dataDir, name))).toEqual(before);

    const mended = await repair(dataDir, `${lies},${one.url}`);
    liar.close();
    expect([mended.code, mended.stderr]).toEqual([0, ""]);
    const { mended: which } = JSON.parse(mended.stdout) as { mended: { segment: string }[] };
    expect(which.map(({ segment }) => segment)).toEqual([names[2], names.at(-1)]);
    const well = await doctor(dataDir);
    expect([well.code, well.stderr]).toEqual([0, ""]);
    const again = await cluster.node("two");
    const outcome = {
      subject: "agent://shop/seller",
      reporter: "agent://shop/buyer",
      outcome: 1,
      grade: "escrow",
      stakes: 5,
    };
    expect((await again.ask("POST", "/v1/outcomes", outcome)).status).toBe(201);
    const journals = () =>
      [one.dataDir, dataDir].map((each) =>
        Buffer.concat(segmentsIn(each).map((name) => bytesOf(each, name))).toString("hex"),
      );
    await expect.poll(() => new Set(journals()).size, { timeout: WAIT_MS_MAX }).toBe(1);
  }, 120_000);
});
