// cluster:revoke: how long a key lives after its revocation, on the node that answered, on the others, and on one that
// is cut off from the log. Outcomes are reported meanwhile. A table on stderr; one JSON object on the last line of stdout.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { quantile } from "../../bench/raw-client.ts";
import { machine } from "../../bench/server-process.ts";
import { allWell, type Ground, NO_CUTS } from "./faults.ts";
import { type ServiceNode, startServers } from "./parts.ts";
import { Reporters } from "./reporters.ts";
import {
  asked,
  BEHIND,
  BELIEVED,
  createKey,
  type KeyWatch,
  type Question,
  revoke,
  UNKNOWN_KEY,
  watchKey,
} from "./revoked-key.ts";
import { makeParts, seededRandom, startNodes } from "./run.ts";
import { isInside, natsServer, runInside, Stage } from "./stage.ts";

const HELP = `npm run --silent cluster:revoke -- [options]

  --keys <n>         keys made and revoked, in turn on every node (default 200)
  --refuse-sec <s>   TRUSTRANK_CLUSTER_REFUSE_SEC of the nodes (default: theirs, 10)
  --no-load          no outcomes meanwhile
  --seed <n>         of the outcomes (default 1)

Each key is asked with at every node, over and over. Then the cable of one node is cut: how long does it believe a key
that was revoked elsewhere? Ends with 1 when a key was believed after the answer on the node that gave it, or longer
than promised on the one cut off. Needs nats-server 2.10.23 or later (as cluster:chaos); without it, it ends with 3.
Without network namespaces no cable is cut.
`;
const NOT_HERE = 3;
const SMALL_BYTES = 512 * 1024 * 1024;
const REFUSE_SEC = 10;
/** Reads of scores are believed for so many times as long. */
const SCORE_READS_FACTOR = 3;
const MS_PER_S = 1000;
/** A cut cable is noticed by looks half a second apart; a request is timed from outside. */
const SLACK_MS = 1500;
const LOOK_MS = 20;

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "200" },
    "refuse-sec": { type: "string", default: String(REFUSE_SEC) },
    "no-load": { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const program = natsServer();
  if (program === undefined) {
    tell("nats-server is not on this machine: see --help");
    return NOT_HERE;
  }
  if (!isInside()) {
    const inside = runInside(process.argv.slice(1));
    if (inside !== undefined) return inside;
    tell("no namespaces here: no cable is cut");
  }
  process.env["TRUSTRANK_CLUSTER_REFUSE_SEC"] = values["refuse-sec"];
  const report = await revokeRun(mkdtempSync(path.join(tmpdir(), "trustrank-revoke-")), program);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  return report.is_kept ? 0 : 1;
}

async function revokeRun(folder: string, program: string) {
  const stage = await Stage.open(folder, SMALL_BYTES);
  const parts = makeParts(stage, program);
  const { nodes, servers } = parts;
  const random = seededRandom(Number(values.seed));
  const reporters = new Reporters(
    nodes.map(({ url }) => url),
    random,
    `revoke${values.seed}`,
  );
  const acknowledge = () => reporters.probe();
  const ground: Ground = { stage, ...parts, random, hit: () => undefined, acknowledge, ...NO_CUTS };
  await startServers(servers, ({ at }) => {
    rmSync(path.join(stage.disk("server", at), "jetstream"), { recursive: true, force: true });
  });
  startNodes(nodes);
  await allWell(ground);
  if (!values["no-load"]) reporters.start();
  const connected = await revokeMany(nodes, Number(values.keys));
  tell(
    `${values.keys} keys: after the answer p50 ${connected.others_p50_ms} ms, p99 ${connected.others_p99_ms} ms on the other nodes`,
  );
  const cutOff = stage.isPrivate ? await revokeUnheard(ground) : null;
  if (cutOff !== null) {
    tell(`cut off: last believed after ${cutOff.last_ms} ms, a read of a score ${cutOff.score_ms}`);
  }
  await reporters.stop();
  await Promise.all([...nodes, ...servers].map((part) => part.end("SIGKILL")));
  stage.close();
  return {
    bench: "cluster-revoke",
    machine: machine(),
    acked: reporters.acknowledged.length,
    keys: Number(values.keys),
    refuse_sec: Number(values["refuse-sec"]),
    connected,
    cut_off: cutOff,
    is_kept: connected.own_after_answer === 0 && (cutOff === null || cutOff.is_kept),
  };
}

/** Revoked on each node in turn, and asked with on all of them. */
async function revokeMany(nodes: readonly ServiceNode[], count: number) {
  const others: number[] = [];
  const fromSent: number[] = [];
  const answers: number[] = [];
  let asks = 0;
  let ownAfterAnswer = 0;
  for (let turn = 0; turn < count; turn++) {
    const own = turn % nodes.length;
    const key = await createKey(nodes[own]!.url);
    const watches = nodes.map(({ url }) => watchKey(url, key.key, "verify", UNKNOWN_KEY));
    await Promise.all(watches.map((watch) => watch.believed));
    const sentAt = performance.now();
    await revoke(nodes[own]!.url, key.keyId);
    const answeredAt = performance.now();
    answers.push(answeredAt - sentAt);
    await Promise.all(watches.map((watch) => watch.refused));
    // One more round: what was refused stays so.
    await Promise.all(nodes.map(({ url }) => assertRefused(url, key.key)));
    for (const [at, watch] of watches.entries()) {
      asks += watch.asks;
      const lateMs = lateOf(watch, answeredAt);
      fromSent.push(lateOf(watch, sentAt));
      if (at !== own) others.push(lateMs);
      else if (lateMs > 0) ownAfterAnswer++;
    }
  }
  const rounded = (share: number, of: readonly number[]) => Number(quantile(of, share).toFixed(1));
  return {
    asks,
    answer_p50_ms: rounded(0.5, answers),
    answer_p99_ms: rounded(0.99, answers),
    others_p50_ms: rounded(0.5, others),
    others_p99_ms: rounded(0.99, others),
    others_max_ms: rounded(1, others),
    all_from_sent_p50_ms: rounded(0.5, fromSent),
    all_from_sent_p99_ms: rounded(0.99, fromSent),
    others_at_once: others.filter((ms) => ms === 0).length / others.length,
    own_after_answer: ownAfterAnswer,
  };
}

/** Ms after that moment at which the key was last sent and believed; 0 where it was not. */
function lateOf(watch: KeyWatch, sinceAt: number): number {
  return Math.max(0, watch.lastBelievedAt - sinceAt);
}

async function assertRefused(url: string, key: string): Promise<void> {
  let answer = BEHIND;
  // Under load a node may not have heard of the others for a while: that says nothing of the key.
  while (answer === BEHIND) answer = await asked(url, key, "verify");
  if (answer !== UNKNOWN_KEY) throw new Error(`a revoked key was answered with ${answer}`);
}

/** The cable of one node is cut, then a key is revoked on another. */
async function revokeUnheard({ stage, nodes }: Ground) {
  const away = nodes.at(-1)!;
  const { key, keyId } = await createKey(nodes[0]!.url);
  const watch = (question: Question) => watchKey(away.url, key, question, BEHIND);
  const [other, score] = [watch("usage"), watch("verify")];
  await Promise.all([other.believed, score.believed]);
  stage.cut("node", away.at);
  const cutAt = performance.now();
  await revoke(nodes[0]!.url, keyId);
  const answeredAt = performance.now();
  await Promise.all([other.refused, score.refused]);
  const back = performance.now();
  stage.mend("node", away.at);
  // It hears of the revocation, and does not believe the key again.
  for (let answer = ""; answer !== UNKNOWN_KEY; await wait(LOOK_MS)) {
    answer = await asked(away.url, key, "verify");
    if (answer === BELIEVED) throw new Error("a revoked key was believed again");
  }
  const boundMs = Number(values["refuse-sec"]) * MS_PER_S;
  const [lastMs, scoreMs] = [lateOf(other, answeredAt), lateOf(score, answeredAt)].map(Math.round);
  return {
    promised_ms: boundMs,
    promised_score_ms: boundMs * SCORE_READS_FACTOR,
    cut_before_ms: Math.round(answeredAt - cutAt),
    last_ms: lastMs!,
    score_ms: scoreMs!,
    heard_after_ms: Math.round(performance.now() - back),
    is_kept: lastMs! <= boundMs + SLACK_MS && scoreMs! <= boundMs * SCORE_READS_FACTOR + SLACK_MS,
  };
}

process.exitCode = await main();
// What still runs ends with this process.
process.exit();
