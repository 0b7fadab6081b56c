// Proof of the servers before a node joins: real servers of several releases and settings, each refused with the
// sentence that mends it.
import { afterEach, describe, expect, test } from "vitest";
import { MESSAGE_BYTES_MAX } from "../../src/ledger/ordered/message.ts";
import { ClusterRefused, StreamUnavailable } from "../../src/stream/ordered-log.ts";
import {
  fetchServerFacts,
  describeServerFault,
  verifyServers,
  NATS_VERSION_MIN,
} from "../../src/stream/server-proof.ts";
import { NATS_SERVER_OLD, type Servers, type ServersOptions, startServers } from "./_nats.ts";
import { needs, needsThat } from "../_needs.ts";

let servers: Servers | undefined;
afterEach(async () => {
  await servers?.stop();
  servers = undefined;
});

async function refusalOf(
  options: ServersOptions,
  kind: typeof ClusterRefused | typeof StreamUnavailable = ClusterRefused,
): Promise<string> {
  servers = await startServers(options);
  const error = await verifyServers(servers.monitors, MESSAGE_BYTES_MAX).catch(
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(kind);
  return (error as Error).message;
}

describe("of servers", needs("nats-server"), () => {
  test("those that sync before they acknowledge are taken", async () => {
    servers = await startServers();
    const [facts] = await verifyServers(servers.monitors, MESSAGE_BYTES_MAX);
    expect(facts).toMatchObject({ name: "n0", isSynced: true, payloadBytesMax: 8 * 1024 * 1024 });
    expect(facts!.version).toMatch(/^2\.\d+\.\d+/);
  });

  test("one that syncs later is refused", async () => {
    expect(await refusalOf({ sync: "default" })).toBe(
      "n0 acknowledges before it has synced: set `sync_interval: always` in its `jetstream` block and restart it",
    );
  });

  test("one without JetStream is refused", async () => {
    expect(await refusalOf({ hasJetStream: false })).toMatch(
      /^n0 runs without JetStream: give it a `jetstream` block .*`sync_interval: always`/,
    );
  });

  test("one that takes no message of the largest kind is refused", async () => {
    expect(await refusalOf({ payloadMax: "1MB" })).toMatch(/1048576 bytes: set `max_payload: 8MB`/);
  });

  test("one that shows nothing of itself is not to be had: it may come back", async () => {
    const refusal = await refusalOf({ hasMonitor: false }, StreamUnavailable);
    expect(refusal).toMatch(/does not answer .*start nats-server with `http: 8222`/);
    expect(refusal).toContain("TRUSTRANK_CLUSTER_MONITOR");
  });

  test("a page that is no monitoring page does not answer", async () => {
    servers = await startServers();

    const [address] = servers.addresses;
    await expect(fetchServerFacts(`http://${address}`)).rejects.toThrow(StreamUnavailable);
  });
});

const OLD = needsThat(
  NATS_SERVER_OLD !== undefined,
  "nats-server 2.9 is not unpacked (Debian 12 has it: .ci/nats-server.sh)",
);

test("a release that never syncs is refused", OLD, async () => {
  const refusal = await refusalOf({ program: NATS_SERVER_OLD!, sync: "default" });
  expect(refusal).toMatch(/^n0 is nats-server 2\.9\.\d+: .*install 2\.10\.23 or later$/);
});

test("releases are compared by number", () => {
  const of = (version: string) => ({
    monitor: "",
    name: "n0",
    version,
    hasJetStream: true,
    isSynced: true,
    payloadBytesMax: MESSAGE_BYTES_MAX,
  });
  const isTaken = (version: string) =>
    describeServerFault(of(version), MESSAGE_BYTES_MAX) === undefined;
  expect(
    [NATS_VERSION_MIN, "2.10.27", "2.11.0", "2.12.3", "3.0.0", "2.11.0-beta.1", "2.100.0"].map(
      isTaken,
    ),
  ).toEqual(Array.from({ length: 7 }, () => true));
  expect(["2.9.10", "2.10.22", "2.10", "1.99.99", "", "latest", "2.x.3"].map(isTaken)).toEqual(
    Array.from({ length: 7 }, () => false),
  );
});
