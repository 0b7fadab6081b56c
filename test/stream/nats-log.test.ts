// The ordered log over one real server: places, repeats, bounds, what is said of a stream that may not be it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterRefused, StreamUnavailable } from "../../src/stream/ordered-log.ts";
import { formatTickOrigin, isTick, TICK_RULES } from "../../src/ledger/ordered/message.ts";
import { messageOf, reader, textOf } from "./_messages.ts";
import { type Servers, startServers } from "./_nats.ts";
import { needs } from "../_needs.ts";

const APPEND_MS = 10_000;

describe("on one server", needs("nats-server"), () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());

  test("messages have places in order and are read from any of them", async () => {
    const log = await servers.open({ name: "order" });
    expect(log.generation).toBe(1);
    expect(await log.readState()).toMatchObject({ firstSeq: 0, lastSeq: 0 });
    const early = reader(log);
    const places: number[] = [];
    for (let n = 1; n <= 30; n++) places.push(await log.append(messageOf(n), APPEND_MS));
    expect(places).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    const other = await servers.open({ name: "order" });
    const late = reader(other, 21);
    const all = await early.upTo(30);
    expect(all.map(textOf)).toEqual(places.map((n) => `message ${n}`));
    expect(all[4]).toMatchObject({ origin: "one:1", n: 5, count: 1, rules: 1, seq: 5 });
    expect(Math.abs(all[4]!.timeMs - Date.now())).toBeLessThan(600_000);
    expect((await late.upTo(30)).map(textOf)).toEqual(all.slice(20).map(textOf));
    expect(await other.readState()).toMatchObject({ firstSeq: 1, lastSeq: 30 });
  });

  test("a message that is appended again keeps its place", async () => {
    const log = await servers.open({ name: "again" });
    expect(await log.append(messageOf(1), APPEND_MS)).toBe(1);
    expect(await log.append(messageOf(2), APPEND_MS)).toBe(2);
    expect(await log.append(messageOf(1), APPEND_MS)).toBe(1);
    expect(await log.append(messageOf(1, "other", "two:1"), APPEND_MS)).toBe(3);
    expect(await log.readState()).toMatchObject({ lastSeq: 3 });
  });

  test("ticks take places of their own, and none is taken for a repeat", async () => {
    const log = await servers.open({ name: "tick" });
    const id = { origin: formatTickOrigin("node-1:1:0123456789ab"), n: 1, after: 0 };
    expect(await log.appendTick(id, APPEND_MS)).toBe(1);
    expect(await log.appendTick(id, APPEND_MS)).toBe(2);
    const [first] = await reader(log).upTo(2);
    expect(first).toMatchObject({ ...id, count: 0, rules: TICK_RULES });
    expect(isTick(first!)).toBe(true);
    const { bytes = 0 } = await log.readState();
    expect(bytes / 2, "bytes of a tick").toBeLessThan(250);
    const news: number[] = [];
    let tries = 0;
    const observer = { onTry: () => void tries++, onNew: (seq: number) => void news.push(seq) };
    await log.append(messageOf(1), APPEND_MS, observer);
    await log.append(messageOf(1), APPEND_MS, observer);
    expect([tries, news], "a repeat is no news").toEqual([2, [3]]);
  });

  test("nothing more is read while a message is taken, and nothing after the stop", async () => {
    const log = await servers.open({ name: "slow" });
    for (let n = 1; n <= 5; n++) await log.append(messageOf(n), APPEND_MS);
    const taken: number[] = [];
    let goOn = () => {};
    const following = log.follow(1, async ({ seq }) => {
      taken.push(seq);
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    });
    await expect.poll(() => taken).toEqual([1]);
    goOn();
    await expect.poll(() => taken).toEqual([1, 2]);
    following.stop();
    goOn();
    const after = reader(log);
    await after.upTo(5);
    expect(taken).toEqual([1, 2]);
  });

  test("a follower that is stopped at once takes nothing", async () => {
    const log = await servers.open({ name: "stopped" });
    await log.append(messageOf(1), APPEND_MS);
    const taken: number[] = [];
    log.follow(1, ({ seq }) => void taken.push(seq)).stop();
    await reader(log).upTo(1);
    expect(taken).toEqual([]);
  });

  test("a full log refuses at once and says what to raise; a higher bound makes room", async () => {
    const bytesMax = 64 * 1024;
    const log = await servers.open({ name: "full", bytesMax });
    const fill = async () => {
      for (let n = 1; n <= 100; n++) await log.append(messageOf(n, "x".repeat(4096)), 600_000);
    };
    const error = await fill().catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StreamUnavailable);
    expect((error as Error).message).toMatch(/is full .*raise TRUSTRANK_CLUSTER_STREAM_GB/);
    const { lastSeq, firstSeq } = await log.readState();
    expect(firstSeq).toBe(1);
    expect(lastSeq).toBeGreaterThan(10);
    const notes: string[] = [];
    await servers.open({
      name: "full",
      bytesMax: 2 * bytesMax,
      log: (event) => notes.push(event),
    });
    expect(notes).toEqual(["stream_bound_raised"]);
    expect(await log.append(messageOf(200), APPEND_MS)).toBe(lastSeq + 1);
    // A node with the former setting takes nothing away.
    await servers.open({ name: "full", bytesMax });
    expect(await log.append(messageOf(201), APPEND_MS)).toBe(lastSeq + 2);
  });

  test("nodes tell of themselves", async () => {
    const log = await servers.open({ name: "reports" });
    const other = await servers.open({ name: "reports" });
    expect([...(await log.readReports())]).toEqual([]);
    await log.publishReport("one", { seq: 1 });
    await other.publishReport("two-2", { seq: 2 });
    await log.publishReport("one", { seq: 3 });
    const expected = new Map([
      ["one", { seq: 3 }],
      ["two-2", { seq: 2 }],
    ]);
    const kept = await other.readReports();
    expect(new Map([...kept].map(([node, { told }]) => [node, told]))).toEqual(expected);
    const { revision, keptMs } = kept.get("one")!;
    await log.publishReport("one", { seq: 3 });
    const next = (await other.readReports()).get("one")!;
    expect(next.revision).toBeGreaterThan(revision);
    expect(next.keptMs).toBeGreaterThanOrEqual(keptMs);
    expect((await log.readState()).toldMs).toBeGreaterThanOrEqual(next.keptMs);
  });
});

describe("when the server goes away", needs("nats-server"), () => {
  test("the log is unavailable, and goes on by itself afterwards", async () => {
    const servers = await startServers();
    try {
      const notes: string[] = [];
      const log = await servers.open({ log: (event) => notes.push(event) });
      const reading = reader(log);
      await log.append(messageOf(1), APPEND_MS);
      await reading.upTo(1);
      await servers.kill(0);
      await Promise.all(
        [
          log.append(messageOf(2), 500),
          log.readState(),
          log.acquireLease("work"),
          log.publishReport("one", {}),
          log.readReports(),
        ].map((asked) => expect(asked).rejects.toThrow(StreamUnavailable)),
      );
      const appending = log.append(messageOf(3), 60_000);
      servers.start(0);
      await servers.ready();
      const last = await appending;
      // The one that was refused may have been taken all the same, once.
      const all = await reading.upTo(last);
      expect(all.map(({ n }) => n).filter((n) => n !== 2)).toEqual([1, 3]);
      expect(notes.length).toBeLessThan(10);
    } finally {
      await servers.stop();
    }
  });

  test("a file of credentials that is not there is refused at once", async () => {
    const servers = await startServers();
    const opening = servers.open({ credentialsFile: "/nowhere/node.creds" });
    await expect(opening).rejects.toThrow(ClusterRefused);
    await servers.stop();
  });
});
