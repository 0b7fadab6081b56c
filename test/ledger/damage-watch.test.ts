// Rot that looks at the journal find: told once, kept as long as it is there.
import { beforeEach, expect, test } from "vitest";
import type { JournalDamage } from "../../src/journal/faults.ts";
import { DamageWatch } from "../../src/ledger/damage-watch.ts";
import type { ScrubMessage } from "../../src/ledger/messages.ts";

const NOW_MS = Date.UTC(2026, 3, 1);

let notes: [string, string][] = [];
let records: Record<string, unknown>[] = [];
let watch: DamageWatch;

beforeEach(() => {
  notes = [];
  records = [];
  watch = new DamageWatch({
    log: (event, detail) => notes.push([event, detail]),
    append: (payload) => {
      records.push(JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>);
      return Promise.resolve(1);
    },
    clock: () => NOW_MS,
  });
});

const damageIn = (segment: string, offset = 100): JournalDamage => ({
  segment,
  offset,
  afterLsn: 7,
  reason: "a batch does not verify",
});

function look(damages: readonly JournalDamage[], more: Partial<ScrubMessage> = {}): void {
  watch.applyScrub({ kind: "scrub", segments: 3, damages, isDone: true, isWhole: true, ...more });
}

test("damage is known when it is found, and told once however often it is seen", () => {
  look([damageIn("seg-1.log")], { isDone: false });
  expect(watch.damages).toEqual([damageIn("seg-1.log")]);
  expect(watch.verifiedMs).toBeUndefined();
  look([damageIn("seg-1.log"), damageIn("seg-2.log")]);
  look([damageIn("seg-1.log"), damageIn("seg-2.log")]);
  expect(watch.damages).toHaveLength(2);
  expect(watch.verifiedMs).toBe(NOW_MS);
  expect(notes.map(([event]) => event)).toEqual(["journal_damaged", "journal_damaged"]);
  expect(notes[0]![1]).toMatch(/seg-1\.log at byte 100.*backup.*doctor --repair/);
  expect(records).toMatchObject([
    { event: "journal.damaged", segment: "seg-1.log", offset: 100, after_position: 7 },
    { event: "journal.damaged", segment: "seg-2.log" },
  ]);
});

test("only a look at all segments takes damage back, and says so", () => {
  look([damageIn("seg-1.log")]);
  look([], { isWhole: false });
  expect(watch.damages).toHaveLength(1);
  look([damageIn("seg-1.log")], { isDone: false });
  look([]);
  expect(watch.damages).toEqual([]);
  expect(records.map(({ event }) => event)).toEqual(["journal.damaged", "journal.mended"]);
  expect(notes.at(-2)).toEqual(["journal_mended", "seg-1.log verifies again"]);
  expect(notes.at(-1)![0]).toBe("journal_verified");
});

test("damage at another place of a segment is no mending", () => {
  look([damageIn("seg-1.log", 500)]);
  look([damageIn("seg-1.log", 100)]);
  expect(watch.damages).toEqual([damageIn("seg-1.log", 100)]);
  expect(records.map(({ event }) => event)).toEqual(["journal.damaged", "journal.damaged"]);
});

test("a record that cannot be written is an alarm of its own", async () => {
  const failing = new DamageWatch({
    log: (event, detail) => notes.push([event, detail]),
    append: () => Promise.reject(new Error("no room")),
    clock: () => NOW_MS,
  });
  failing.applyScrub({
    kind: "scrub",
    segments: 1,
    damages: [damageIn("seg-1.log")],
    isDone: false,
    isWhole: true,
  });
  await expect.poll(() => notes).toContainEqual(["journal_audit_failed", "Error: no room"]);
  expect(failing.damages).toHaveLength(1);
});
