// A sealed log on a real server: how it begins, what others publish into it, and a node with another key.
import { connect, headers } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  buildRulesMessage,
  MESSAGE_RULES_VERSION,
  type OrderedMessage,
  parseRulesChange,
} from "../../src/ledger/ordered/message.ts";
import { ClusterRefused } from "../../src/stream/ordered-log.ts";
import { needs } from "../_needs.ts";
import { messageOf, reader } from "./_messages.ts";
import { type Servers, startServers } from "./_nats.ts";

const APPEND_MS = 10_000;
const SECRET = { secret: Buffer.alloc(32, 1), key: "ab".repeat(32) };
const OTHER = { secret: Buffer.alloc(32, 2), key: "cd".repeat(32) };

describe("on one server", needs("nats-server"), () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());

  test("the first message names rules and key, once, however many nodes begin", async () => {
    const name = "begun";
    const [log] = await Promise.all([1, 2, 3].map(() => servers.open({ name, secret: SECRET })));
    const after = { ...messageOf(1), rules: MESSAGE_RULES_VERSION, after: 1 };
    expect(await log!.append(after, APPEND_MS)).toBe(2);
    const [first, second] = await reader(log!).upTo(2);
    expect(parseRulesChange(first!.origin)).toEqual({
      rules: MESSAGE_RULES_VERSION,
      key: SECRET.key,
    });
    expect([first, second].map((each) => each?.isSealed)).toEqual([true, true]);
    await expect(servers.open({ name, secret: OTHER })).rejects.toThrow(ClusterRefused);
    await expect(servers.open({ name, secret: OTHER })).rejects.toThrow(/copy `bureau.key`/);
  });

  test("what is forged, changed or of another generation carries no valid seal", async () => {
    const name = "forged";
    const log = await servers.open({ name, secret: SECRET });
    const message = { ...messageOf(1), rules: MESSAGE_RULES_VERSION, after: 1 };
    await log.append(message, APPEND_MS);
    const [, sound] = await reader(log).upTo(2);
    const seal = await sealOf(servers, `${name}_p0_g1`, 2);
    const connection = await connect({ servers: servers.addresses });
    const publish = async (changes: Record<string, string>, data = "message 1") => {
      const carried = headers();
      const members = { "Tr-Origin": sound!.origin, "Tr-N": "1", "Tr-Count": "1" };
      const rest = { "Tr-Rules": "2", "Tr-After": "1", "Tr-Seal": seal };
      for (const [key, value] of Object.entries({ ...members, ...rest, ...changes }))
        carried.set(key, value);
      await connection.request(`${name}.p0.g1`, data, { headers: carried, timeout: APPEND_MS });
    };
    await publish({});
    await publish({ "Tr-N": "2" });
    await publish({ "Tr-After": "2" });
    await publish({ "Tr-Rules": "99" });
    await publish({}, "message 2");
    await publish({ "Tr-Seal": "" });
    await connection.close();
    const taken: readonly OrderedMessage[] = await reader(log).upTo(8);
    // A copy is sealed: its origin and number tell that it is a repeat.
    const sealed = [true, true, true, false, false, false, false, false];
    expect(taken.map(({ isSealed }) => isSealed)).toEqual(sealed);
  });

  test("a generation that no node has written is passed over and named, also by what begins the next one", async () => {
    const name = "invented";
    await servers.open({ name, secret: SECRET });
    const connection = await connect({ servers: servers.addresses });
    const invent = async (generation: string) => {
      const subject = `${name}.p0.g${generation}`;
      const config = { name: `${name}_p0_g${generation}`, subjects: [subject], storage: "file" };
      await connection.request(
        `$JS.API.STREAM.CREATE.${name}_p0_g${generation}`,
        JSON.stringify(config),
      );
      const carried = headers();
      carried.set("Tr-Origin", `rules:2:${OTHER.key}`);
      carried.set("Tr-Seal", await sealOf(servers, `${name}_p0_g1`, 1));
      await connection.request(subject, "", { headers: carried, timeout: APPEND_MS });
    };
    for (const generation of ["2", "7", "9e9", "99999999999999999999"]) await invent(generation);
    const told: string[] = [];
    const note = (event: string, detail: string) => void told.push(`${event}: ${detail}`);
    const again = await servers.open({ name, secret: SECRET, log: note });
    expect([again.generation, again.inventedGenerations]).toEqual([1, [7, 2]]);
    expect(told).toEqual([
      expect.stringMatching(/^stream_generation_invented: .* 7, 2 of the log/),
    ]);
    const next = await servers.open({ name, secret: SECRET, beginsAfter: 1 });
    expect(next.generation).toBe(3);
    // Empty as yet, it is no node's.
    expect((await servers.open({ name, secret: SECRET })).generation).toBe(1);
    const level = { rules: MESSAGE_RULES_VERSION, key: SECRET.key };
    await next.append(buildRulesMessage(level, 0), APPEND_MS);
    expect((await servers.open({ name, secret: SECRET })).generation).toBe(3);
    await connection.close();
  });

  test("a sealed report proves a generation of strays; where nothing proves any, the highest is followed", async () => {
    const name = "strays";
    for (const beginsAfter of [0, 1]) {
      const log = await servers.open({ name, beginsAfter });
      await log.append(messageOf(1), APPEND_MS);
    }
    const log = await servers.open({ name, secret: SECRET });
    expect(log.generation).toBe(2);
    await log.publishReport("one", { generation: 1 });
    expect((await servers.open({ name, secret: SECRET })).generation).toBe(1);
  });
});

/** The seal that a message of a stream carries. */
async function sealOf(servers: Servers, stream: string, seq: number): Promise<string> {
  const connection = await connect({ servers: servers.addresses });
  const reply = await connection.request(
    `$JS.API.STREAM.MSG.GET.${stream}`,
    JSON.stringify({ seq }),
  );
  await connection.close();
  const { message } = reply.json<{ message: { hdrs: string } }>();
  return /Tr-Seal: (\w+)/.exec(Buffer.from(message.hdrs, "base64").toString())![1]!;
}
