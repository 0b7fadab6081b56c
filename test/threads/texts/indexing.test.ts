// A start over many registered sources, with all real parts: the port answers before their texts
// are indexed, the first answer already compares a text with its source, and in the end all are
// indexed and every answer is the same.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { VerifyContext } from "../../../src/contract/schemas/scores.ts";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { openServiceCore } from "../../../src/service/core.ts";
import { startIndexing } from "../../../src/threads/texts/indexing.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { startService } from "../../../src/service/start.ts";
import { encodeSourceEvent } from "../../../src/vault/sources/events.ts";
import { itemOf } from "../../vault/_setup.ts";
import { openJournal } from "../../../bench/journal.ts";

const ADMIN_KEY = "evidence-indexing-test-key-0123456789abcd";
const SOURCES = 3000;
/** Its text takes longer to index than an answer may. */
const LONG = 7;
const dataDir = mkdtempSync(join(tmpdir(), "trustrank-indexing-"));

interface BatchItem {
  result: { provenance_data: { sources: { status: string }[] } };
}

interface Line {
  event: string;
  members: Record<string, unknown> | undefined;
}

const BY = { tenant: "operator", keyId: "test", isAdmin: true };
const lines: Line[] = [];
const note = (event: string, members?: Record<string, unknown>) => lines.push({ event, members });
const log = { info: note, warn: note, error: note };

/** What page `number` says, and no other. */
function claimOf(number: number): string {
  return `The ferry Number${number}x sank in Harbour${number}x and ${number + 3} sailors drowned.`;
}

/** What no page speaks of; another text for every number. */
function strangeOf(number: number): string {
  return `Chloroplasts of green leaves convert carbon dioxide into glucose ${number}.`;
}

function pageOf(number: number): string {
  const filler = "Quiet waters surround the old lighthouse of the northern coast. ";
  return filler.repeat(number === LONG ? 2000 : 15) + claimOf(number);
}

/** A journal as registrations leave it behind. */
function writeSources(): void {
  const nowMs = Date.now();
  const core = openJournal(dataDir, nowMs);
  const batch = new FrameBatch();
  for (let number = 0; number < SOURCES; number++) {
    const text = pageOf(number);
    const sha256 = createHash("sha256").update(text).digest("hex");
    const about = { source_id: `page/${number}`, sha256, size: text.length, kind: "text/plain" };
    const by = { title: "", tenant: "operator", registered_at: nowMs, registrar: "test" };
    const state = { visibility: "tenant" as const, state: "active" as const };
    const event = { ...about, ...by, ...state, text };
    batch.addEvent(FRAME_KINDS.evidence, encodeSourceEvent(event));
    if (batch.count === 200 || number === SOURCES - 1) core.commit([batch.drain()], nowMs);
  }
  core.close();
}

const trueOf = (page: number) => ({ content: claimOf(page), cited_sources: [`page/${page}`] });
const falseOf = (page: number) => ({ content: strangeOf(page), cited_sources: [`page/${page}`] });

beforeAll(writeSources);
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

it("compares texts with sources that are not indexed yet, and with all of them later", async () => {
  const evidence = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    onFatal: () => undefined,
  });
  const { vault, assessor } = evidence.sources;
  expect(vault.backlogCount).toBe(SOURCES);
  const codeOf = async (context: VerifyContext) =>
    (await assessor.assess(context, "operator")).reasonCode;
  expect(await codeOf(trueOf(2999))).toBe("");
  expect(await codeOf(falseOf(2998))).toBe("CITATION_MISMATCH");
  expect(vault.backlogCount).toBe(SOURCES - 2);

  lines.length = 0;
  const stop = startIndexing(vault.memory, log);
  // Asked, and replaced, while others are at the same texts.
  const replaced: number[] = [];
  for (let page = 0; vault.backlogCount > 0; page = (page + 13) % SOURCES) {
    if (page === LONG || replaced.includes(page)) continue;
    expect(await codeOf(falseOf(page))).toBe("CITATION_MISMATCH");
    const other = SOURCES - 10 - replaced.length;
    if (page % 3 > 0 || replaced.length > 500) continue;
    replaced.push(other);
    await vault.register([itemOf(`page/${other}`, strangeOf(other))], BY);
  }
  await stop();
  expect(replaced.length).toBeGreaterThan(10);
  for (const page of replaced) {
    expect(await codeOf(trueOf(page))).toBe("CITATION_MISMATCH");
    expect(await codeOf(falseOf(page))).not.toBe("CITATION_MISMATCH");
  }
  expect(lines.map(({ event }) => event)).toEqual(["evidence_indexed"]);
  expect(lines[0]!.members).toMatchObject({ count: SOURCES - 2 });
  for (const page of [0, LONG, 1500, SOURCES - 3]) {
    expect(await codeOf(trueOf(page))).toBe("");
    expect(await codeOf(falseOf(page))).toBe("CITATION_MISMATCH");
  }
  await evidence.sources.close();
  await evidence.ledger.close();
});

it("ends in the middle of it when the service ends", async () => {
  const evidence = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    onFatal: () => undefined,
  });
  await startIndexing(evidence.sources.vault.memory, log)();
  expect(evidence.sources.vault.backlogCount).toBeGreaterThan(0);
  await evidence.sources.close();
  await evidence.ledger.close();
});

it("opens the port at once and is right from the first answer on", async () => {
  lines.length = 0;
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  const service = await startService(config, log, () => undefined);
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const post = async (route: string, body: object) => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    // On a busy machine an answer may miss its deadline: then the question is asked again.
    for (;;) {
      const response = await fetch(service.url + route, init);
      if (response.status !== 503) return response.json();
      await response.text();
    }
  };
  const asked = { agent_id: "agent://acme/writer", action: "report.publish", tool_level: "L2" };
  const provenanceOf = async (context: VerifyContext) => {
    const answer = await post("/v1/trust/verify", { ...asked, context });
    const { provenance_data } = answer as { provenance_data: unknown };
    return provenance_data;
  };
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(await provenanceOf(falseOf(2998))).toMatchObject({
    sources: [{ id: "page/2998", status: "CITATION_MISMATCH" }],
  });
  expect(await provenanceOf(trueOf(2997))).toMatchObject({ source_verified: true });
  // By threads of the pool, which read and index for themselves.
  const items = Array.from({ length: 300 }, (_, at) => ({ ...asked, context: falseOf(at + 900) }));
  const batch = (await post("/v1/trust/verify/batch", { items })) as { items: BatchItem[] };
  const found = batch.items.map(({ result }) => result.provenance_data.sources[0]?.status);
  expect(new Set(found)).toEqual(new Set(["CITATION_MISMATCH"]));
  const gauge = async () => {
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    return Number(/^trustrank_evidence_unindexed (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(gauge).toBe(0);
  expect(await provenanceOf(falseOf(2995))).toMatchObject({
    sources: [{ id: "page/2995", status: "CITATION_MISMATCH" }],
  });
  await expect.poll(() => lines.map(({ event }) => event)).toContain("evidence_indexed");
  await service.close();
});
