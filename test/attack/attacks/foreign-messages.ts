// Messages that somebody publishes into the log of a cluster with the credentials of its server alone: forged from
// those of nodes, sent once more, and poisonous. None counts, none ends a node, all are told.
import { headers, type MsgHdrs } from "@nats-io/transport-node";
import { generateKeySecret } from "../../../src/http/access/key-format.ts";
import { hashSecret } from "../../../src/http/access/key-holder.ts";
import { type AttackedCluster, defineClusterAttack, STREAM } from "../material/cluster.ts";

const REPLAYS = 1000;
const REPLAYS_SHORT = 100;

function copyHeaders(from: MsgHdrs, changes: Readonly<Record<string, string>> = {}): MsgHdrs {
  const made = headers();
  for (const [name, [value]] of from) if (name.startsWith("Tr-")) made.set(name, value!);
  for (const [name, value] of Object.entries(changes)) made.set(name, value);
  return made;
}

/** The text with all that stands in `changes` replaced by what is as long. */
function replaceBytes(data: Uint8Array, changes: readonly (readonly [string, string])[]): Buffer {
  let text = Buffer.from(data).toString("latin1");
  for (const [from, to] of changes) text = text.replaceAll(from, to);
  return Buffer.from(text, "latin1");
}

/** What doctor says of each node's directory, while it is served. */
async function findUntoldByDoctor({ nodes }: AttackedCluster): Promise<string[]> {
  const texts = await Promise.all(nodes.map((node) => node.command("doctor")));
  return texts.flatMap(({ text }, at) =>
    /cluster log: \d+ messages were passed over/.test(text) ? [] : [`doctor ${at + 1}: ${text}`],
  );
}

export const forgedMessage = defineClusterAttack(
  "forged-message",
  "a key's record from the log is published again with the scopes of an administrator",
  async (cluster) => {
    const { stage, services } = cluster;
    const broken: string[] = [];
    await stage.makeKey(services[0]!, "shop", ["score:read"]);
    const scope = '["score:read"]';
    const log = await cluster.readLog();
    const made = log.find(({ data }) => Buffer.from(data).includes(scope));
    if (made === undefined) throw new Error("the key's record is not in the log");
    const record = Buffer.from(made.data).toString("latin1");
    const [, keyId] = /"keyId":"(\w{10})"/.exec(record) ?? [];
    const [, secretHash] = /"secretHash":"([0-9a-f]{64})"/.exec(record) ?? [];
    if (keyId === undefined || secretHash === undefined) throw new Error("no key in its record");
    const own = generateKeySecret("live", keyId);
    const forged = replaceBytes(made.data, [
      [scope, '["admin"]     '],
      [secretHash, hashSecret(own.secret).toString("hex")],
    ]);
    const tries = [
      copyHeaders(made.headers, { "Tr-Origin": "one:9:forged", "Tr-N": "1" }),
      copyHeaders(made.headers, { "Tr-N": "9999" }),
      copyHeaders(made.headers),
      copyHeaders(made.headers, { "Tr-Seal": "00".repeat(32), "Tr-N": "9998" }),
    ];
    for (const each of tries) await cluster.publish(forged, each);
    broken.push(...(await cluster.findUntold(`${tries.length} messages`)));
    for (const service of services) {
      const { status } = await stage.ask(service, "/v1/keys", { key: own.text });
      if (status !== 401) broken.push(`the forged key is answered ${status}`);
    }
    broken.push(...(await findUntoldByDoctor(cluster)));
    return { broken, figures: { forged: tries.length } };
  },
);

export const replayedMessage = defineClusterAttack(
  "replayed-message",
  "messages of nodes, seals and all, are published many times over",
  async (cluster) => {
    const { stage, services } = cluster;
    const count = stage.isShort ? REPLAYS_SHORT : REPLAYS;
    const path = "/v1/agents/agent%3A%2F%2Fshop%2Fs";
    const evidence = async () => {
      const texts = await Promise.all(services.map((service) => stage.ask(service, path)));
      return texts.map(({ text }) => {
        const {
          outcomes,
          first_seen_at: first,
          last_outcome_at: last,
        } = (JSON.parse(text) as Agent).evidence;
        return `${outcomes} outcomes from ${first} to ${last}`;
      });
    };
    const before = await evidence();
    const log = await cluster.readLog();
    for (let at = 0; at < count; at += 1) {
      const { data, headers: own } = log[at % log.length]!;
      await cluster.publish(data, copyHeaders(own));
    }
    const { state } = await cluster.manager.streams.info(STREAM);
    const haveRead = await cluster.until(async () => {
      const texts = await Promise.all(services.map((service) => stage.ask(service, "/readyz")));
      return texts.every(({ text }) => {
        return (JSON.parse(text) as Ready).stream.position >= state.last_seq;
      });
    });
    const broken = haveRead ? [] : [`nodes do not read to message ${state.last_seq}`];
    const after = await evidence();
    if (after.join() !== before.join()) broken.push(`evidence ${before[0]} became ${after.join()}`);
    return { broken, figures: { replayed: count } };
  },
);

export const poisonMessage = defineClusterAttack(
  "poison-message",
  "unknown rules, wrong counts, foreign frames, and a log of a later generation that nobody began",
  async (cluster) => {
    const named = (members: Readonly<Record<string, string>>) => {
      const made = headers();
      const all = { Origin: "x:1:aa", N: "1", Count: "1", Rules: "1", ...members };
      for (const [name, value] of Object.entries(all)) made.set(`Tr-${name}`, value);
      return made;
    };
    const bytes = Uint8Array.of(1);
    const poison: readonly (readonly [Uint8Array, MsgHdrs])[] = [
      [bytes, named({ Rules: "99" })],
      [bytes, named({ Rules: "2" })],
      [bytes, named({})],
      [bytes, headers()],
      [new Uint8Array(0), named({ Count: "0", Rules: "2", Origin: "one:1:aa:tick" })],
      [new Uint8Array(5 * 1024 * 1024).fill(5), named({ N: "2" })],
      [bytes, named({ Count: "-1", N: "x", Rules: "1e99" })],
      [new Uint8Array(0), named({ Origin: `rules:99:${"ab".repeat(32)}`, Rules: "99" })],
    ];
    for (const [data, each] of poison) await cluster.publish(data, each);
    const broken = await cluster.findUntold(`${poison.length} messages`);
    broken.push(...(await findUntoldByDoctor(cluster)));
    for (const generation of [2, 99]) {
      await cluster.manager.streams.add({
        name: `trustrank_p0_g${generation}`,
        subjects: [`trustrank.p0.g${generation}`],
      });
    }
    await cluster.connection.request("trustrank.p0.g99", bytes, {
      headers: named({ Origin: `rules:2:${"ab".repeat(32)}`, Rules: "2" }),
      timeout: 10_000,
    });
    return { broken, figures: { poisonous: poison.length, generations: 2 } };
  },
);

interface Agent {
  readonly evidence: {
    readonly outcomes: number;
    readonly first_seen_at: string;
    readonly last_outcome_at: string;
  };
}

interface Ready {
  readonly stream: { readonly position: number };
}
