// `trustrank cluster status` and `GET /v1/cluster` over a real server of the log.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClusterState } from "../../../src/contract/schemas/cluster/state.ts";
import { Cluster } from "../../service/cluster/_nodes.ts";
import { type Servers, startServers } from "../../stream/_nats.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { endAll, runCommand } from "../_process.ts";
import { needs } from "../../_needs.ts";

const COMMAND = ["cluster", "status", "--json"];

test("without servers it says which setting names them", async () => {
  const { code, stderr } = await runCommand(COMMAND);
  expect([code, stderr]).toEqual([
    2,
    "trustrank: name the servers of the log: --cluster or TRUSTRANK_CLUSTER\n",
  ]);
});

let servers: Servers | undefined;
afterEach(endAll);
afterAll(() => servers?.stop());

function environmentOf(name: string): Record<string, string> {
  return {
    TRUSTRANK_CLUSTER: servers!.addresses.join(","),
    TRUSTRANK_CLUSTER_NAME: name,
  };
}

describe("over a server", needs("nats-server"), () => {
  beforeAll(async () => {
    servers = await startServers();
  });

  test("it makes no log where there is none", async () => {
    const { code, stderr } = await runCommand(COMMAND, environmentOf("nothing"));
    expect(code).toBe(1);
    expect(stderr).toContain("there is no log `nothing` at 127.0.0.1:");
    const again = await runCommand(COMMAND, environmentOf("nothing"));
    expect(again.stderr).toBe(stderr);
  });

  test("it compares what nodes have told, and its exit code says whether all is well", async () => {
    const log = await servers!.open({ name: "told" });
    const report = {
      generation: 1,
      key: "aa",
      seq: 1000,
      lsn: 4000,
      chain: "c1",
      version: "0.1.0",
      atMs: Date.now(),
      checkpoints: [[1000, "c1"]],
    };
    await log.publishReport("a", report);
    await log.publishReport("b", { ...report, seq: 1010, chain: "c2" });
    const sound = await runCommand(COMMAND, environmentOf("told"));
    const state = JSON.parse(sound.stdout) as ClusterState;
    expect(state.chains).toMatchObject({ agree: true, compared: 1 });
    expect(state.nodes.map(({ node }) => node)).toEqual(["a", "b"]);
    expect([sound.code, state.is_sound]).toEqual([0, true]);
    const tabled = (hash: string) => ({ ...report, engine: "e", tables: [[1000, hash]] });
    await log.publishReport("a", tabled("t1"));
    await log.publishReport("b", tabled("t2"));
    const unlike = await runCommand(COMMAND.slice(0, 2), environmentOf("told"));
    expect(unlike.code).toBe(1);
    expect(unlike.stderr).toContain("agent tables differ at message 1000: `a` against `b`");
    await log.publishReport("b", tabled("t1"));
    const like = await runCommand(COMMAND.slice(0, 2), environmentOf("told"));
    expect([like.code, like.stdout]).toEqual([0, expect.stringContaining("agent tables agree")]);
    await log.publishReport("c", { ...report, chain: "other", checkpoints: [] });
    const told = await runCommand(COMMAND.slice(0, 2), environmentOf("told"));
    expect(told.code).toBe(1);
    expect(told.stdout).toContain("log told, generation 1, led by");
    expect(told.stderr).toContain("journals differ at message 1000");
  });
});

describe("a node", needs("nats-server"), () => {
  test("tells the same by HTTP, also after a restart with nothing new in the log", async () => {
    const cluster = await Cluster.open();
    try {
      const first = await cluster.node("one");
      const key = { tenant: "shop", scopes: ["score:read"], label: "gate" };
      expect((await first.ask("POST", "/v1/keys", key)).status).toBe(201);
      await first.kill("SIGKILL");
      const node = await cluster.node("one");
      const ask = () => node.ask<ClusterState>("GET", "/v1/cluster");
      await expect.poll(async () => (await ask()).status, { timeout: WAIT_MS_MAX }).toBe(200);
      // Its ticks are messages too: a report tells of all of them only until the next one.
      const askLag = async () => (await ask()).body.nodes[0]!.lag_messages;
      await expect.poll(askLag, { timeout: WAIT_MS_MAX }).toBe(0);
      const { body } = await ask();
      expect(body).toMatchObject({ name: "trustrank", generation: 1, is_sound: true });
      expect(body.last_message).toBeGreaterThan(0);
      expect(body.nodes[0]!.place).toBeGreaterThan(0);
      expect(body.nodes[0]!.chain).toMatch(/^[0-9a-f]{64}$/);
    } finally {
      await cluster.close();
    }
  });
});
