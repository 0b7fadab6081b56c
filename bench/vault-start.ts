// Time of a start over many registered sources until the port answers, until the
// first text is compared with one of them, and until all of them are indexed. Generates the journal
// itself. `--sources`, `--units` (of each text), `--smoke`.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsed } from "./load/parsed.ts";
import { parseServeConfig } from "../src/service/settings/config.ts";
import { FRAME_KINDS } from "../src/journal/format.ts";
import { FrameBatch } from "../src/ledger/frame-batch.ts";
import { startService } from "../src/service/start.ts";
import { encodeSourceEvent } from "../src/vault/sources/events.ts";
import { machine } from "./server-process.ts";
import { openJournal } from "./journal.ts";

const ADMIN_KEY = "vault-start-bench-key-0123456789abcdefghij";
const COMMIT_SOURCES = 200;
const WORDS = [
  ..."harbour bridge engineer labour metre loan rail valley garden river market winter".split(" "),
  ..."treaty museum copper orchard ferry parish glacier library timber council canal".split(" "),
];

/** Page `number`: sentences of its own, so that no other page supports them. */
function pageOf(number: number, units: number): string {
  let text = "";
  for (let at = 0; text.length < units; at++) {
    const word = (step: number) => WORDS[(number * step + at * 7) % WORDS.length];
    text += `The ${word(3)} of ${word(5)} ${number}x${at} cost ${number + at * 31} pounds. `;
  }
  return text;
}

const STRANGE = "Chloroplasts of green leaves convert carbon dioxide into glucose.";

interface Answer {
  provenance_data: { sources: { status: string }[] };
}

const idOf = (number: number) => `https://wiki.example.org/page/${number}`;

function writeSources(dataDir: string, sources: number, units: number): void {
  const core = openJournal(dataDir, Date.now());
  const batch = new FrameBatch();
  for (let number = 0; number < sources; number++) {
    const text = pageOf(number, units);
    const event = {
      source_id: idOf(number),
      sha256: createHash("sha256").update(text).digest("hex"),
      size: Buffer.byteLength(text),
      kind: "text/plain",
      title: "A page",
      tenant: "operator",
      visibility: "tenant" as const,
      state: "active" as const,
      registered_at: Date.now(),
      registrar: "bench",
      text,
    };
    batch.addEvent(FRAME_KINDS.evidence, encodeSourceEvent(event));
    const isDue = batch.count === COMMIT_SOURCES || number === sources - 1;
    if (isDue) core.commit([batch.drain()], Date.now());
  }
  core.close();
}

async function measure(dataDir: string, sources: number, units: number) {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const startedAt = performance.now();
  const seconds = () => Number(((performance.now() - startedAt) / 1000).toFixed(2));
  const service = await startService(config, silent, () => undefined);
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const statusOf = async (content: string, page: number) => {
    const context = { content, cited_sources: [idOf(page)] };
    const asked = { agent_id: "agent://bench/writer", action: "report.publish", tool_level: "L2" };
    const body = JSON.stringify({ ...asked, context });
    const init = { method: "POST", headers, body };
    const response = await fetch(`${service.url}/v1/trust/verify`, init);
    const { provenance_data } = (await response.json()) as Answer;
    return provenance_data.sources[0]?.status;
  };
  await fetch(`${service.url}/healthz`);
  const healthSeconds = seconds();
  const page = Math.floor(sources * 0.9);
  const asked = performance.now();
  const isSupported = (await statusOf(pageOf(page, 200), page)) === "SOURCE_VERIFIED";
  const firstVerifyMs = performance.now() - asked;
  const isRefused = (await statusOf(STRANGE, page - 1)) === "CITATION_MISMATCH";
  const left = async () => {
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    return Number(/^trustrank_evidence_unindexed (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const leftAtFirst = await left();
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const indexedSeconds = seconds();
  await service.close();
  return {
    sources,
    units,
    seconds_to_healthz: healthSeconds,
    first_verify_ms: Number(firstVerifyMs.toFixed(1)),
    left_after_first_verify: leftAtFirst,
    seconds_to_all_indexed: indexedSeconds,
    is_compared: isSupported && isRefused,
    machine: machine(),
  };
}

const { values } = parsed(import.meta.filename, {
  options: {
    sources: { type: "string", default: "100000" },
    units: { type: "string", default: "2000" },
    smoke: { type: "boolean", default: false },
  },
});
const sources = values.smoke ? 500 : Number(values.sources);
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-vault-start-"));
try {
  const units = Number(values.units);
  writeSources(dataDir, sources, units);
  process.stdout.write(`${JSON.stringify(await measure(dataDir, sources, units))}\n`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
