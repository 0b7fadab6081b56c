// Events of the journal for webhooks: revoked keys and damage, under the same ids whenever they are read, and
// nothing of outcomes.
import { join } from "node:path";
import { expect, it } from "vitest";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import { JournaledNotes } from "../../../src/bureau/notes.ts";
import { JournalEvents } from "../../../src/threads/webhooks/journal-events.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../../ledger/_fixtures.ts";

it("tells of revoked keys, in order, from any place on", async () => {
  const dataDir = join(temporaryDirectory(), "data");
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: () => undefined,
    clock: () => NOW_MS,
  });
  const notes = new JournaledNotes(ledger);
  const source = new JournalEvents(diskFileLayer, resolveDataPaths(dataDir).journal, "tr-1", () =>
    ledger.position(),
  );
  try {
    const begin = source.head();
    await ledger.append(recordOf(1));
    const detail = { key_id: "k1", tenant: "acme", label: "gateway" };
    const event = { recorded_at: NOW_MS, tenant: "acme", actor: "k0", detail };
    await notes.recordNote("audit_events", { ...event, event: "api_key.created" });
    const position = await notes.recordNote("audit_events", { ...event, event: "api_key.revoked" });
    await ledger.append(recordOf(2));
    const revoked = { event: "revoked", at_ms: NOW_MS, tenant: "globex", kid: "kid-1" };
    const key = { ...revoked, compromised_since_ms: null };
    await ledger.appendKeyEvent(Buffer.from(JSON.stringify(key)));
    const damage = { event: "journal.damaged", at_ms: NOW_MS, segment: "seg-1.log", offset: 7 };
    await ledger.appendAudit(Buffer.from(JSON.stringify(damage)));
    const finding = {
      event: "finding.raised",
      at_ms: NOW_MS,
      kind: "ring",
      agents: ["agent://a/1"],
    };
    await ledger.appendAudit(Buffer.from(JSON.stringify(finding)));
    await ledger.appendAudit(Buffer.from(JSON.stringify({ event: "access.denied" })));
    await ledger.appendAudit(Buffer.from("not JSON"));
    const review = { id: "rv-1", tenant: "acme", agent: "agent://shop/a", level: "L3" };
    const opened = { event: "review.opened", at_ms: NOW_MS, ...review, first_request_id: "r" };
    const counted = { event: "review.counted", at_ms: NOW_MS, reviews: [] };
    for (const each of [opened, counted, opened]) {
      await ledger.appendReviewEvent(Buffer.from(JSON.stringify(each)));
    }
    const { readings, next } = source.read(begin);
    expect(next).toBe(ledger.position());
    expect(readings.flatMap(({ events }) => events)).toMatchObject([
      {
        type: "key.revoked",
        tenant: "acme",
        data: { kind: "api_key", key_id: "k1", label: "gateway", revoked_by: "k0" },
      },
      { type: "key.revoked", tenant: "globex", data: { kind: "reporter_key", kid: "kid-1" } },
      {
        type: "journal.damaged",
        tenant: null,
        data: { segment: "seg-1.log", offset: 7 },
      },
      { type: "finding.raised", tenant: null, data: { kind: "ring", agents: ["agent://a/1"] } },
      { type: "review.opened", tenant: "acme", lane: "agent://shop/a", data: { request_id: "r" } },
      { type: "review.opened", tenant: "acme", data: { review_id: "rv-1", level: "L3" } },
    ]);
    // One review is one event, however often it is on record.
    const ids = readings.slice(-2).flatMap(({ events }) => events.map(({ id }) => id));
    expect(ids[0]).toBe(ids[1]);
    expect(readings[0]!.next).toBe(position);
    // The same ids again, and from between them the rest.
    expect(source.read(begin).readings).toEqual(readings);
    expect(source.read(position).readings).toEqual(readings.slice(1));
    expect(source.read(next)).toEqual({ readings: [], next });
    // A journal that ends before a place, after a restore: from its end on.
    expect(source.read(next + 1000)).toEqual({ readings: [], next });
    // Of another service they have other names.
    const other = new JournalEvents(
      diskFileLayer,
      resolveDataPaths(dataDir).journal,
      "tr-2",
      () => next,
    );
    const others = other.read(begin).readings.flatMap(({ events }) => events.map(({ id }) => id));
    expect(others).not.toContain(readings[0]!.events[0]!.id);
    other.close();
  } finally {
    source.close();
    await ledger.close();
  }
});
