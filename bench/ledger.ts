// bench:ledger: outcomes acknowledged durably through the real service over HTTP on this machine,
// generator included. Batches and single posts in closed loops, then 5,000 a second in an open loop
// with verify beside it. One JSON object on the last line of stdout; `--smoke` runs it tiny.
import { readdirSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { nodeFiles, readWhole } from "../src/ledger/journal-files.ts";
import { FRAME_KINDS, HEADER_BYTES, segmentsOf } from "../src/ledger/journal-format.ts";
import { FRAME_BYTES, frameKind, frameLength } from "../src/ledger/journal-format.ts";
import { buildRequest, closedLoop, openLoop, quantile } from "./raw-client.ts";
import type { BuiltRequest } from "./raw-client.ts";
import { ADMIN_KEY, machine, startService } from "./server-process.ts";
import { registerReporter, type Reporter } from "./reporter.ts";

const BATCH_OUTCOMES = 500;
/**
 * Connections; each waits for its answer before it sends the next (answers of outcomes are not
 * pipelined).
 */
const BATCH_LANES = 8;
const SINGLE_LANES = 128;
const OFFERED_OUTCOMES = 5000;
const OFFERED_VERIFIES = 1000;
const AGENTS = 2000;
const REPORTER = "agent://bench/settlement";

interface Scale {
  batched: number;
  single: number;
  signed: number;
  seconds: number;
  offered: number;
}

const FULL: Scale = {
  batched: 150_000,
  single: 30_000,
  signed: 20_000,
  seconds: 8,
  offered: OFFERED_OUTCOMES,
};
const SMOKE: Scale = { batched: 2000, single: 400, signed: 200, seconds: 1, offered: 200 };

let serial = 0;

/** Every outcome has an id of its own, as a client that may have to repeat it gives it. */
function outcome(): string {
  const number = serial++;
  return JSON.stringify({
    subject: `agent://bench/seller-${number % AGENTS}`,
    reporter: REPORTER,
    outcome: number % 9 === 0 ? 0 : 1,
    stakes: 1 + (number % 500),
    grade: "counterparty",
    id: `b${process.pid}-${number}`,
  });
}

function batch(): string {
  return `[${Array.from({ length: BATCH_OUTCOMES }, outcome).join(",")}]`;
}

function singles(url: URL, count: number): BuiltRequest[] {
  return Array.from({ length: count }, () =>
    buildRequest(url, "/v1/outcomes", ADMIN_KEY, outcome(), 1),
  );
}

function batches(url: URL, outcomes: number): BuiltRequest[] {
  return Array.from({ length: Math.ceil(outcomes / BATCH_OUTCOMES) }, () =>
    buildRequest(url, "/v1/outcomes/batch", ADMIN_KEY, batch(), BATCH_OUTCOMES),
  );
}

/** Closed loops without signatures. */
async function unsigned(url: URL, scale: Scale) {
  process.stderr.write("batches\n");
  await closedLoop(url, batches(url, scale.batched / 20), BATCH_LANES);
  const batched = await closedLoop(url, batches(url, scale.batched), BATCH_LANES);
  process.stderr.write("single posts\n");
  const single = await closedLoop(url, singles(url, scale.single), SINGLE_LANES);
  return {
    outcomes_per_second: Math.round(batched.perSecond),
    single_outcomes_per_second: Math.round(single.perSecond),
    refused: batched.refused + single.refused,
  };
}

/** Closed loops with one signature each, and one per batch. */
async function signed(url: URL, scale: Scale, reporter: Reporter) {
  process.stderr.write("signed\n");
  const sign = (route: string, body: string, outcomes: number) =>
    buildRequest(url, route, ADMIN_KEY, body, outcomes, [
      `x-jws-signature: ${reporter.sign(body)}`,
    ]);
  const posts = Array.from({ length: scale.signed }, () => sign("/v1/outcomes", outcome(), 1));
  const single = await closedLoop(url, posts, SINGLE_LANES);
  const bodies = Math.ceil(scale.batched / BATCH_OUTCOMES);
  const many = Array.from({ length: bodies }, () =>
    sign("/v1/outcomes/batch", batch(), BATCH_OUTCOMES),
  );
  const batched = await closedLoop(url, many, BATCH_LANES);
  return {
    signed_outcomes_per_second: Math.round(single.perSecond),
    signed_batch_outcomes_per_second: Math.round(batched.perSecond),
    signed_refused: single.refused + batched.refused,
  };
}

/** Open loops: verify alone, then beside outcomes at the offered rate. */
async function offered(url: URL, scale: Scale) {
  const verify = JSON.stringify({
    agent_id: "agent://bench/seller-7",
    action: "payments.transfer",
    tool_level: "L2",
    context: {},
  });
  const asked = buildRequest(url, "/v1/trust/verify", ADMIN_KEY, verify, 1);
  const verifying = () => openLoop(url, () => asked, OFFERED_VERIFIES, scale.seconds, SINGLE_LANES);
  process.stderr.write("verify alone\n");
  const idle = await verifying();
  process.stderr.write("verify beside outcomes\n");
  const posts = singles(url, Math.round(scale.offered * scale.seconds));
  const posting = openLoop(
    url,
    (index) => posts[index]!,
    scale.offered,
    scale.seconds,
    SINGLE_LANES,
  );
  const [busy, outcomes] = await Promise.all([verifying(), posting]);
  return {
    offered_outcomes_per_second: scale.offered,
    ack_p50_ms: quantile(outcomes.latencies, 0.5),
    ack_p99_ms: quantile(outcomes.latencies, 0.99),
    verify_p99_ms_idle: quantile(idle.latencies, 0.99),
    verify_p99_ms_busy: quantile(busy.latencies, 0.99),
    offered_refused: outcomes.refused + idle.refused + busy.refused,
  };
}

/** One sync per commit: the commits of the journal are counted. */
function countCommits(dataDir: string): number {
  const journal = path.join(dataDir, "journal");
  let commits = 0;
  for (const { name } of segmentsOf(readdirSync(journal))) {
    const bytes = readWhole(nodeFiles, path.join(journal, name));
    for (let at = HEADER_BYTES; at + FRAME_BYTES <= bytes.byteLength;) {
      if (frameKind(bytes, at) === FRAME_KINDS.commit) commits++;
      at += FRAME_BYTES + frameLength(bytes, at);
    }
  }
  return commits;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { smoke: { type: "boolean", default: false } } });
  const scale = values.smoke ? SMOKE : FULL;
  const service = await startService("--no-sample");
  try {
    const url = new URL(service.url);
    const reporter = await registerReporter(service.url, ADMIN_KEY, REPORTER);
    const cpuBefore = service.cpuSeconds();
    const closed = await unsigned(url, scale);
    const cpu = service.cpuSeconds() - cpuBefore;
    const withSignatures = reporter === undefined ? {} : await signed(url, scale, reporter);
    const open = await offered(url, scale);
    const report = {
      ...closed,
      ...withSignatures,
      ...open,
      cpu_us_per_outcome: Number(((cpu / (scale.batched * 1.05 + scale.single)) * 1e6).toFixed(2)),
      fsyncs: countCommits(service.dataDir),
      machine: machine(),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await service.stop();
  }
}

await main();
