// bench:seals: time that sealing a message of a cluster's log takes its sender and each reader, in interleaved pairs
// with and without a seal. The frames of messages are random bytes: only their length matters here.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import {
  decodeOrderedMessage,
  type DeliveredMessage,
  encodeMessageHeaders,
} from "../src/stream/nats-stream.ts";
import { LogSeals } from "../src/stream/seal.ts";
import { numberOf, numbersOf, report } from "./load/flags.ts";
import { type Spread, spreadOf, tableOf, told } from "./load/spread.ts";
import { machine } from "./server-process.ts";

const HELP = `npm run bench -- seals [options]

  --pairs N        of runs with and without a seal, in turn (default 20)
  --messages N     of one run (default 2000)
  --bytes A,B,...  frames of a message: one outcome has some 300, 250 of them 75,000 (default 300,3000,75000)
  --out FILE       the result as a file as well, for \`npm run bench -- results\`
  --smoke          few messages, to see that it works

A table on stderr, one JSON object on the last line.
`;

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "20" },
    messages: { type: "string", default: "2000" },
    bytes: { type: "string", default: "300,3000,75000" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const SUBJECT = "trustrank.p0.g1";

interface Row {
  /** What the seal adds, us a message. */
  readonly send_us: Spread;
  readonly read_us: Spread;
}

/** Microseconds a message to write its headers, and to read it. */
function measureOnce(frames: Uint8Array, messages: number, seals: LogSeals | undefined) {
  const outgoing = { origin: "one:7:0123456789abcdef", count: 1, frames, rules: 2, after: 1000 };
  const sent: DeliveredMessage[] = [];
  const startedMs = performance.now();
  for (let n = 1; n <= messages; n += 1) {
    const headers = encodeMessageHeaders({ ...outgoing, n }, SUBJECT, seals);
    sent.push({ headers, subject: SUBJECT, seq: n, info: { timestampNanos: n }, data: frames });
  }
  const sentMs = performance.now();
  for (const message of sent) {
    const { isSealed } = decodeOrderedMessage(message, seals);
    if (isSealed !== (seals !== undefined)) throw new Error("a seal does not verify");
  }
  const readMs = performance.now() - sentMs;
  const toUs = (ms: number) => (ms * 1000) / messages;
  return { sendUs: toUs(sentMs - startedMs), readUs: toUs(readMs) };
}

/** Medians over the pairs of what a seal adds. */
function measure(bytes: number, pairs: number, messages: number, seals: LogSeals): Row {
  const frames = randomBytes(bytes);
  const send: number[] = [];
  const read: number[] = [];
  // The first pair warms the code up.
  for (let pair = 0; pair <= pairs; pair += 1) {
    const order = pair % 2 === 0 ? [undefined, seals] : [seals, undefined];
    const [first, second] = order.map((each) => measureOnce(frames, messages, each));
    const [without, sealed] = pair % 2 === 0 ? [first!, second!] : [second!, first!];
    if (pair === 0) continue;
    send.push(sealed.sendUs - without.sendUs);
    read.push(sealed.readUs - without.readUs);
  }
  return { send_us: spreadOf(send), read_us: spreadOf(read) };
}

function main(): void {
  if (values.help) return void process.stdout.write(HELP);
  const pairs = values.smoke ? 2 : numberOf("pairs", values.pairs, 1);
  const messages = values.smoke ? 50 : numberOf("messages", values.messages, 1);
  const secret = { secret: randomBytes(32), key: "ab".repeat(32) };
  const seals = new LogSeals(secret, "trustrank", 1);
  const rows = numbersOf("bytes", values.bytes, 1).map(
    (bytes) => [String(bytes), measure(bytes, pairs, messages, seals)] as const,
  );
  const head = ["bytes of frames", "sender, us more", "reader, us more"];
  const lines = rows.map(([bytes, row]) => [bytes, told(row.send_us), told(row.read_us)]);
  process.stderr.write(`\n${tableOf(head, lines)}`);
  const result = { bench: "seals", machine: machine(), pairs, messages };
  report({ ...result, rows: Object.fromEntries(rows) }, values.out);
}

main();
