// A node whose servers do not let it in: its start ends with a sentence, and the process with it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endAll, startCommand } from "../../cli/_process.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { type Servers, startServers } from "../../stream/_nats.ts";
import { needs } from "../../_needs.ts";

/** May make streams and buckets, and read none. */
const BLIND = `authorization { users: [{ user: blind, password: blind, permissions: { publish: { deny: ["$JS.API.CONSUMER.>"] } } }] }
no_auth_user: blind`;

describe("a node that is refused", needs("nats-server"), () => {
  let servers: Servers;
  const dataDir = temporaryDirectory();
  beforeAll(async () => {
    servers = await startServers({ more: BLIND });
  });
  afterAll(async () => {
    await endAll();
    await servers?.stop();
  });

  test("ends, though it has a connection: what its servers keep from it is tried for ten seconds", async () => {
    const flags = ["--port", "0", "--json", "--no-sample", "--data-dir", dataDir];
    const node = startCommand(["serve", ...flags], {
      TRUSTRANK_CLUSTER: servers.addresses.join(","),
      TRUSTRANK_CLUSTER_MONITOR: servers.monitors.join(","),
      TRUSTRANK_CLUSTER_NODE: "one",
      TRUSTRANK_CLUSTER_STREAM_GB: "1",
    });
    node.firstLine.catch(() => undefined);
    const { code, stderr } = await node.ended;
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the ordered log is not to be had"),
    });
  }, 60_000);
});
