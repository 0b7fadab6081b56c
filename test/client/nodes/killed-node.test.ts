// Fail-over between real services on loopback, one of which is killed with SIGKILL under questions;
// and an outcome whose receipt was lost on the way, repeated over another way to the same journal.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { FaultProxy } from "../../../src/client/conformance/fault-proxy.ts";
import { startCommand, type Started } from "../../cli/_process.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type LiveService, startLiveService } from "../_live.ts";
import { rejection } from "../_replies.ts";

const KEY = "an-admin-secret-of-the-operator-0123456789";
const AGENTS = ["connect", "verify", "refuse"].map((name) => `agent://test/${name}`);

interface Node {
  readonly started: Started;
  readonly url: string;
}
const places: string[] = [];
const nodes: Node[] = [];
let live: LiveService;

async function start(dataDir: string): Promise<Node> {
  const flags = ["--port", "0", "--data-dir", dataDir, "--no-sample", "--json"];
  const environment = { TRUSTRANK_ADMIN_KEY: KEY, TRUSTRANK_KAIZEN: "off" };
  const started = startCommand(["serve", ...flags], environment);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}
async function kill({ started }: Node): Promise<void> {
  started.process.kill("SIGKILL");
  await started.ended;
}

beforeAll(async () => {
  for (const name of ["one", "two"]) {
    places.push(await mkdtemp(path.join(tmpdir(), `trustrank-node-${name}-`)));
  }
  nodes.push(...(await Promise.all(places.map(start))));
  live = await startLiveService();
});
afterAll(async () => {
  await Promise.all(nodes.map(kill));
  await Promise.all(places.map((place) => rm(place, { recursive: true, force: true })));
  await live?.stop();
});

it("answers every question while one of two services is killed", async () => {
  const baseUrl = nodes.map(({ url }) => url);
  const client = new TrustRankClient({ baseUrl, apiKey: KEY, timeoutMs: 20_000 });
  expect(await client.warmUp()).toBe(true);
  const ask = () => Promise.all(AGENTS.map((agent) => client.check(agent, { stakes: 5 })));
  const expected = ["connect", "connect_with_verification", "refuse"];
  let isOver = false;
  const asking = (async () => {
    const found: string[][] = [];
    while (!isOver) found.push((await ask()).map(({ decision }) => decision));
    return found;
  })();
  await kill(nodes[0]!);
  await ask();
  isOver = true;
  for (const each of await asking) expect(each).toEqual(expected);
  // Both together: the fault of the last node that was asked.
  await kill(nodes[1]!);
  const thrown = await rejection(client.check(AGENTS[0]!, { stakes: 5 }));
  expect(thrown).toMatchObject({ code: "unreachable", isTransient: true });
});

it("records an outcome once whose receipt came too late over the first node", async () => {
  const ways = await Promise.all([FaultProxy.open(live.baseUrl), FaultProxy.open(live.baseUrl)]);
  const baseUrl = ways.map((way) => way.baseUrl);
  const outcome = {
    reporter: "agent://acme/me",
    outcome: 1,
    stakes: 5,
    grade: "counterparty",
  } as const;
  try {
    for (let at = 0; at < 6; at += 1) {
      // Every way loses its receipt in turn; the outcome has reached the journal by then.
      await ways[at % 2]!.set({ kind: "delay", ms: 20_000 });
      await ways[(at + 1) % 2]!.set({ kind: "none" });
      const client = new TrustRankClient({ baseUrl, apiKey: live.apiKey, slowTimeoutMs: 3000 });
      const subject = `agent://shop/seller-${at}`;
      const first = await client.reportOutcome({ ...outcome, subject, id: `order-${at}` });
      const again = await client.reportOutcome({ ...outcome, subject, id: `order-${at}` });
      expect(again).toMatchObject({ outcome_id: first.outcome_id, duplicate: true });
      const { position } = first;
      expect(position).toBeGreaterThan(0);
    }
    const mine = async () =>
      (await live.call("GET", "/v1/outcomes?reporter=agent%3A%2F%2Facme%2Fme")).outcomes.length;
    await expect.poll(mine, { timeout: WAIT_MS_MAX }).toBe(6);
    expect(ways[0].count + ways[1].count).toBeGreaterThan(12);
  } finally {
    await Promise.all(ways.map((way) => way.close()));
  }
});
