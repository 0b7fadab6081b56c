// Parts of decision segments over real servers: what one node sends another reads, compressed on the way; garbage
// from whoever may write there is a part of nothing.
import { connect, headers } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NodeSegmentPart, DecisionSegmentPart } from "../../../src/stream/decisions/parts.ts";
import { type Servers, startServers } from "../_nats.ts";
import { needs } from "../../_needs.ts";

const MEBIBYTE = 1024 ** 2;

describe("parts of decisions", needs("nats-server"), () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());
  const open = async (name: string, decisionBytesMax = 16 * MEBIBYTE) => {
    const { decisions } = await servers.open({ name, decisionBytesMax });
    // Whoever sends asks first where it stands, which makes the stream.
    await decisions.state();
    return decisions;
  };
  const part = (segment: string, from: number, length = 8): DecisionSegmentPart => {
    return { segment, from, bytes: Buffer.alloc(length, segment) };
  };

  test("what one node sends another reads in order, and each knows where it stands", async () => {
    const [one, two] = [await open("a"), await open("a")];
    expect(await one.findNewestPlace("one")).toBeUndefined();
    await one.publish("one", part("s-1", 0));
    await two.publish("two", part("s-9", 16));
    await one.publish("one", part("s-1", 8));
    expect(await two.findNewestPlace("one")).toEqual({ segment: "s-1", byte: 16 });
    const read: NodeSegmentPart[] = [];
    const reading = await two.read(1, async (each) => void read.push(each));
    await expect.poll(() => read).toHaveLength(2);
    reading.close();
    await reading.ended;
    expect(read.map(({ seq, node, segment, from }) => ({ seq, node, segment, from }))).toEqual([
      { seq: 2, node: "two", segment: "s-9", from: 16 },
      { seq: 3, node: "one", segment: "s-1", from: 8 },
    ]);
    expect(Buffer.from(read[0]!.bytes).toString()).toBe("s-9s-9s-");
    expect(await one.state()).toMatchObject({ firstSeq: 1, lastSeq: 3 });
    expect((await one.state()).id).toBe((await two.state()).id);
  });

  test("a full stream drops its oldest", async () => {
    const parts = await open("b", MEBIBYTE);
    const noise = (at: number) => {
      const bytes = Buffer.alloc(512 * 1024);
      for (let i = 0, x = at + 1; i < bytes.length; i++) {
        x = (x * 48_271) % 2_147_483_647;
        bytes[i] = x;
      }
      return { segment: "s-1", from: at * bytes.length, bytes };
    };
    for (let at = 0; at < 5; at++) await parts.publish("one", noise(at));
    const { firstSeq, lastSeq } = await parts.state();
    expect(lastSeq).toBe(5);
    expect(firstSeq).toBeGreaterThan(1);
  });

  test("garbage is a part of nothing, also what would grow without bound", async () => {
    const parts = await open("c");
    await parts.publish("one", part("s-1", 0));
    const connection = await connect({ servers: servers.addresses });
    connection.publish("c.decisions.one", "garbage");
    await connection.flush();
    await connection.close();
    await parts.publish("one", part("s-1", 0, 2 * MEBIBYTE));
    const read: NodeSegmentPart[] = [];
    const reading = await parts.read(1, async (each) => void read.push(each));
    await expect.poll(() => read).toHaveLength(2);
    reading.close();
    await reading.ended;
    expect(read.map(({ bytes }) => bytes.byteLength)).toEqual([0, 0]);
    expect(read[0]).toMatchObject({ segment: "", from: Number.NaN });
  });

  test("a part without a seal, or in another's name, is a part of nothing from the rules on that demand one", async () => {
    const secret = { secret: Buffer.alloc(32, 1), key: "ab".repeat(32) };
    const older = await open("d");
    await older.publish("one", part("s-1", 0));
    const told: string[] = [];
    const note = (event: string, detail: string) => void told.push(`${event}: ${detail}`);
    const log = await servers.open({ name: "d", secret, log: note });
    const parts = log.decisions;
    // The log begins after the first part was stored.
    await parts.publish("one", part("s-1", 8));
    await older.publish("one", part("s-1", 16));
    expect(await parts.findNewestPlace("one")).toBeUndefined();
    const connection = await connect({ servers: servers.addresses });
    const { message } = (
      await connection.request("$JS.API.STREAM.MSG.GET.d_decisions", JSON.stringify({ seq: 2 }))
    ).json<{ message: { hdrs: string; data: string } }>();
    const carried = headers();
    for (const line of Buffer.from(message.hdrs, "base64").toString().split("\r\n").slice(1)) {
      const [name, value] = line.split(": ");
      if (value !== undefined) carried.set(name!, value);
    }
    const data = Buffer.from(message.data, "base64");
    await connection.request("d.decisions.two", data, { headers: carried, timeout: 5000 });
    await connection.close();
    const read: NodeSegmentPart[] = [];
    const reading = await parts.read(0, async (each) => void read.push(each));
    await expect.poll(() => read).toHaveLength(4);
    reading.close();
    await reading.ended;
    expect(read.map(({ bytes, segment }) => [segment, bytes.byteLength])).toEqual([
      ["s-1", 8],
      ["s-1", 8],
      ["", 0],
      ["", 0],
    ]);
    expect(told).toEqual([expect.stringMatching(/^decisions_unsealed: part 3 .* node one/)]);
  });
});
