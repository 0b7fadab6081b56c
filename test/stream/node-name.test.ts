// A node's name over a real server: one data directory has it at a time, the same one takes it again at once, and
// whoever has lost it is told.
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LEASE_MS } from "../../src/stream/nats-lease.ts";
import { ClusterRefused } from "../../src/stream/ordered-log.ts";
import { needs } from "../_needs.ts";
import { type Servers, startServers } from "./_nats.ts";

describe("the name of a node", needs("nats-server"), () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());

  const holderOf = (directory: string, epoch = 1) => ({
    directory,
    host: `host-${directory}`,
    epoch,
  });
  const ignore = () => undefined;

  test("is taken again at once by a later start of the same directory, and the former one is told", async () => {
    const [former, later] = [await servers.open(), await servers.open()];
    const told: string[] = [];
    await former.takeNodeName("again", holderOf("d1", 7), (detail) => told.push(detail));
    const startedMs = performance.now();
    await later.takeNodeName("again", holderOf("d1", 8), ignore);
    expect(performance.now() - startedMs).toBeLessThan(LEASE_MS / 3);
    await expect.poll(() => told, { timeout: LEASE_MS }).toHaveLength(1);
    expect(told[0]).toContain("start 8 of the same data directory (this is start 7)");
  });

  test("is refused to another directory while it is renewed, and to an earlier start of the same", async () => {
    const holder = await servers.open();
    await holder.takeNodeName("held", holderOf("d1", 7), ignore);
    const join = async (directory: string, epoch?: number) =>
      (await servers.open()).takeNodeName("held", holderOf(directory, epoch), ignore);
    const [other, earlier] = await Promise.allSettled([join("d2"), join("d1", 6)]);
    const { reason } = other as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(ClusterRefused);
    expect(String(reason)).toContain(
      "held by data directory `d1` (this one is `d2`) on host `host-d1`",
    );
    expect(earlier.status).toBe("rejected");
    // A clean end gives it back.
    await holder.close();
    await join("d2");
  });

  test("is free once its holder has not renewed it for as long as a lease lasts", async () => {
    const log = await servers.open();
    const connection = await connect({ servers: servers.addresses });
    const bucket = await new Kvm(connection).open("test_leases");
    await bucket.create("node.dead", JSON.stringify(holderOf("d1")));
    const startedMs = performance.now();
    await log.takeNodeName("dead", holderOf("d2"), ignore);
    expect(performance.now() - startedMs).toBeGreaterThan(LEASE_MS / 2);
    await connection.close();
  });
});
