// Provenance that cites as much as it may: what a checkpoint of DuckDB takes for it does not grow with its number.
import { afterAll, expect, test } from "vitest";
import type { NoteEvents } from "../../../src/contract/notes.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { NOW_MS } from "../_decisions.ts";
import { askCore, catchUp, notesInto, openStoreCore } from "../_fixtures.ts";

const NOTES = 2000;
const SOURCES = 64;
const SOURCE_LENGTH = 500;
const NOTES_AT_ONCE = 100;

/** Texts that do not compress to nothing: one differs from the next in most places. */
function sourcesOf(note: number): string[] {
  return Array.from({ length: SOURCES }, (_, at) => {
    let seed = note * SOURCES + at + 1;
    let text = "";
    while (text.length < SOURCE_LENGTH) {
      seed = Math.imul(seed, 1_103_515_245) + 12_345;
      text += (seed >>> 0).toString(36);
    }
    return text.slice(0, SOURCE_LENGTH);
  });
}

function provenanceOf(note: number): NoteEvents["provenance"] {
  return {
    recorded_at: NOW_MS + note,
    tenant: "acme",
    agent_id: "agent://acme/writer",
    action: "report.write",
    content_hash: `sha256:${String(note).padStart(64, "0")}`,
    cited_sources: sourcesOf(note),
    request_id: null,
  };
}

const dataDir = temporaryDirectory();
const notes = notesInto(dataDir);
for (let from = 0; from < NOTES; from += NOTES_AT_ONCE) {
  const all = Array.from({ length: NOTES_AT_ONCE }, (_, at) => provenanceOf(from + at));
  await Promise.all(all.map((event) => notes.recordNote("provenance", event)));
}
notes.close();
// Less memory than the rows take.
const { core, log } = openStoreCore(dataDir, 64);
afterAll(() => core.close());

test("64 MB of citations are applied in 64 MB of memory, without another opening", async () => {
  await catchUp(core, NOTES);
  expect(log).toEqual([]);
  expect(core.reopenCount).toBe(0);
  const { rows } = await askCore(
    core,
    `SELECT position, cited_sources FROM provenance WHERE position IN (1, ${NOTES}) ORDER BY 1`,
  );
  expect(rows).toEqual([1, NOTES].map((position) => [position, sourcesOf(position - 1)]));
});
