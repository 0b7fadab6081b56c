// Reports, leases, names and replies beside a sealed log, on a real server, and what somebody writes there who has the
// credentials of the log's servers alone.
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SEALED_RULES } from "../../src/ledger/ordered/message.ts";
import { LEASE_MS } from "../../src/stream/nats-lease.ts";
import { listLivingNodes, ReportWatch } from "../../src/stream/living-nodes.ts";
import { findDivergence, findJoinRefusal, type NodeReport } from "../../src/stream/reports.ts";
import { readClusterView } from "../../src/stream/reports.ts";
import { needs } from "../_needs.ts";
import { messageOf } from "./_messages.ts";
import { type Servers, startServers } from "./_nats.ts";

const SECRET = { secret: Buffer.alloc(32, 1), key: "ab".repeat(32) };
const ignore = () => undefined;

function reportWith(changes: Partial<NodeReport> = {}): NodeReport {
  return {
    generation: 1,
    key: SECRET.key,
    seq: 1000,
    lsn: 1,
    chain: "c",
    version: "1",
    atMs: Date.now(),
    checkpoints: [[1000, "c"]],
    rulesMax: SEALED_RULES,
    rules: SEALED_RULES,
    ...changes,
  };
}

describe("beside a sealed log", needs("nats-server"), () => {
  let servers: Servers;
  let connection: NatsConnection;
  beforeAll(async () => {
    servers = await startServers();
    connection = await connect({ servers: servers.addresses });
  });
  afterAll(async () => {
    await connection?.close();
    await servers?.stop();
  });
  const open = (name: string) => servers.open({ name, secret: SECRET });
  const bucketOf = (name: string) => new Kvm(connection).open(name);

  test("forged reports outvote nobody, refuse no start, are not living, and are named", async () => {
    const log = await open("votes");
    await log.publishReport("one", reportWith());
    const bucket = await bucketOf("votes_nodes");
    const forged = reportWith({ key: "f".repeat(64), checkpoints: [[1000, "x"]] });
    const names = ["f1", "f2", "f3", "f4"];
    for (const name of names) await bucket.put(name, JSON.stringify(forged));
    await bucket.put("f5", "no JSON");
    const watch = new ReportWatch(() => performance.now());
    const view = await readClusterView(log, watch);
    expect(view.reports.map(([node]) => node)).toEqual(["one"]);
    expect(view.unsealed).toEqual([...names, "f5"]);
    expect(listLivingNodes(view.ages)).toEqual(["one"]);
    const others = view.reports.map(([, report]) => report);
    expect(findDivergence(reportWith(), others)).toBeUndefined();
    const joining = { node: "two", key: SECRET.key, nowMs: Date.now() };
    expect(await findJoinRefusal(await open("votes"), joining)).toBeUndefined();
  });

  test("a report in another's name, changed or written again does not count, and does not hide the next one", async () => {
    const log = await open("again");
    await log.publishReport("one", reportWith({ seq: 1 }));
    const bucket = await bucketOf("again_nodes");
    const old = (await bucket.get("one"))!.string();
    await bucket.put("two", old);
    await bucket.put("three", old.replace('"seq":1,', '"seq":2,'));
    expect([...(await log.readReports()).keys()]).toEqual(["one"]);
    expect(log.unsealedReports).toEqual(["three", "two"]);

    const watch = new ReportWatch(() => performance.now());
    await log.publishReport("one", reportWith({ seq: 2 }));
    const { revision } = (await log.readReports()).get("one")!;
    watch.update(await log.readReports());
    await bucket.put("one", old);
    expect((await log.readReports()).has("one")).toBe(false);
    expect(log.unsealedReports).toContain("one");
    // Who has not seen the later one takes it once, and the node's next one all the same.
    const late = await open("again");
    expect((await late.readReports()).has("one")).toBe(true);
    await bucket.put("one", old);
    expect((await late.readReports()).has("one")).toBe(false);
    await log.publishReport("one", reportWith({ seq: 3 }));
    for (const each of [log, late]) {
      const found = (await each.readReports()).get("one")!;
      expect(found.told).toMatchObject({ seq: 3 });
      expect(found.revision).toBeGreaterThan(revision);
    }
  });

  test("reports without seals count where the log has the first rules, until a sealed one says otherwise", async () => {
    const older = await servers.open({ name: "older" });
    await older.append(messageOf(1), 10_000);
    await older.publishReport("zero", reportWith({ rules: 1 }));
    const log = await open("older");
    await log.publishReport("one", reportWith({ rules: 1 }));
    expect([...(await log.readReports()).keys()].toSorted()).toEqual(["one", "zero"]);
    await log.publishReport("one", reportWith());
    expect([...(await log.readReports()).keys()]).toEqual(["one"]);
    expect(log.unsealedReports).toEqual(["zero"]);
    const reopened = await open("older");
    expect([...(await reopened.readReports()).keys()]).toEqual(["one"]);
  });

  test("a forged lease takes no job, and ends none", async () => {
    const [one, two] = [await open("jobs"), await open("jobs")];
    const lease = await one.acquireLease("work");
    const bucket = await bucketOf("jobs_leases");
    const old = (await bucket.get("work"))!.string();
    await bucket.put("work", "forged");
    // Renewed over what was forged.
    await expect
      .poll(async () => (await bucket.get("work"))!.string(), { timeout: LEASE_MS })
      .toContain('"seal"');
    expect(lease!.isHeld).toBe(true);
    expect(await two.acquireLease("work")).toBeUndefined();
    await lease!.release();
    await bucket.put("work", JSON.stringify({ holder: "x", token: 9 }));
    const next = await two.acquireLease("work");
    expect(next!.token).toBeGreaterThan(lease!.token);
    // What the former holder has written stands in nobody's way.
    await bucket.put("work", old);
    await expect
      .poll(async () => (await bucket.get("work"))!.string(), { timeout: LEASE_MS })
      .toContain(`"token":${next!.token}`);
    expect(next!.isHeld).toBe(true);
    await next!.release();
  });

  test("a forged holder of a name ends nobody, nor does one of before, and a sealed later start does", async () => {
    const holderOf = (directory: string, epoch: number) => ({ directory, epoch, host: "h" });
    const first = await open("names");
    await first.takeNodeName("n", holderOf("d1", 3), ignore);
    const bucket = await bucketOf("names_leases");
    const old = (await bucket.get("node.n"))!.string();
    await first.close();
    const [second, third] = [await open("names"), await open("names")];
    const told: string[] = [];
    await second.takeNodeName("n", holderOf("d2", 1), (detail) => told.push(detail));
    const renewed = () =>
      expect
        .poll(async () => (await bucket.get("node.n"))!.string(), { timeout: LEASE_MS })
        .toMatch(/"d2".*"seal"/);
    await bucket.put("node.n", JSON.stringify(holderOf("d2", 99)));
    await renewed();
    await bucket.put("node.n", old);
    await renewed();
    expect(told).toEqual([]);
    await third.takeNodeName("n", holderOf("d2", 2), ignore);
    await expect.poll(() => told, { timeout: LEASE_MS }).toHaveLength(1);
  });

  test("a name that only forged values hold is taken at once", async () => {
    const log = await open("free");
    const bucket = await bucketOf("free_leases");
    const forged = { directory: "d9", host: "x", epoch: 9 };
    await bucket.put("node.n", JSON.stringify(forged));
    const startedMs = performance.now();
    await log.takeNodeName("n", { directory: "d1", host: "h", epoch: 1 }, ignore);
    expect(performance.now() - startedMs).toBeLessThan(LEASE_MS / 3);
  });

  test("a reply that no node has sealed for this question is none", async () => {
    const [one, two] = [await open("asked"), await open("asked")];
    const heard: string[] = [];
    const subscription = connection.subscribe("asked.applied", {
      callback: (_error, message) => {
        heard.push(message.string());
        for (const name of ["two", "three"]) message.respond(name);
        // What a node has replied to another question, once it is known.
        if (sealed !== undefined) message.respond("two", { headers: sealed });
      },
    });
    let sealed: NonNullable<Parameters<NatsConnection["publish"]>[2]>["headers"];
    await connection.flush();
    expect(await one.polling.collectReplies("7", 2, 500)).toEqual([]);
    two.polling.serveReplies((question) => Promise.resolve(question === "7" ? "two" : undefined));
    const mine = connection.subscribe("mine", {
      callback: (_error, message) => {
        if (message.headers?.get("Tr-Seal")) sealed = message.headers;
      },
    });
    const askAgain = () => {
      connection.publish("asked.applied", "7", { reply: "mine" });
      return sealed;
    };
    await expect.poll(askAgain, { interval: 100 }).toBeDefined();
    mine.unsubscribe();
    expect(await one.polling.collectReplies("8", 2, 500)).toEqual([]);
    // The first that counts ends the wait, where one is wanted.
    expect(await one.polling.collectReplies("7", 1, 5000)).toEqual(["two"]);
    expect(heard.length).toBeGreaterThan(2);
    subscription.unsubscribe();
  });
});
