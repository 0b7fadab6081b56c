// A start leaves texts to be indexed later: every answer is the one that a vault gives that has
// indexed them all, whoever makes the index and whatever happens to the source meanwhile.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { EVIDENCE_STATES } from "../../../src/contract/vocabulary.ts";
import { VaultAssessor } from "../../../src/vault/assessment/assessor.ts";
import { DeferringAssessor } from "../../../src/vault/assessment/deferring-assessor.ts";
import {
  decodeSourceEvent,
  decodeSourceEventWithoutText,
  encodeSourceEvent,
} from "../../../src/vault/sources/events.ts";
import type { SourceEvent } from "../../../src/vault/sources/events.ts";
import { BacklogIndexer } from "../../../src/vault/grounding/backlog-indexer.ts";
import type { TextRecordReader } from "../../../src/vault/grounding/backlog-indexer.ts";
import type { TextLocation } from "../../../src/vault/grounding/index-backlog.ts";
import { EpochGuard } from "../../../src/vault/sources/epochs.ts";
import { ACME, BRIDGE, itemOf, NOW, openVault } from "../_setup.ts";

const TRUE_CLAIM = "The engineer John Bradfield led the project.";
const STRANGE = "Chloroplasts of green leaves convert carbon dioxide into glucose.";
const LEAVES = `${STRANGE} They do so in the light of the sun, and give off oxygen all day long.`;
const SHOP = JSON.stringify({ name: "Blue Door", wifi: false, parking: "street", rating: 4 });

/** What a journal holds after some life: replaced, revoked, tainted, structured, digests alone. */
async function writeHistory(): Promise<Uint8Array[]> {
  const { vault, payloads } = openVault();
  await vault.register([itemOf("bridge", BRIDGE), itemOf("leaves", LEAVES)], ACME);
  await vault.register([itemOf("replaced", LEAVES)], ACME);
  await vault.register([itemOf("replaced", BRIDGE)], ACME);
  await vault.register([itemOf("gone", BRIDGE)], ACME);
  await vault.revoke("gone", ACME);
  await vault.register([itemOf("again", BRIDGE)], ACME);
  await vault.revoke("again", ACME);
  await vault.register([itemOf("again", BRIDGE)], ACME);
  await vault.register([itemOf("false", LEAVES, { state: "recorded_false" })], ACME);
  await vault.register([itemOf("shop", SHOP, { kind: "application/json" })], ACME);
  await vault.register([itemOf("page", `<p>${BRIDGE}</p>`, { kind: "text/html" })], ACME);
  const { text: _text, ...digest } = itemOf("digest", BRIDGE);
  await vault.register([{ ...digest, sha256: `sha256:${"ab".repeat(32)}` }], ACME);
  return payloads;
}

const placeOf = (at: number): TextLocation => ({ segment: 1, offset: at });

function replayed(payloads: readonly Uint8Array[], isLater: boolean, read?: TextRecordReader) {
  const opened = openVault();
  for (const [at, payload] of payloads.entries()) {
    opened.vault.replay(payload, isLater ? placeOf(at) : undefined);
  }
  const { memory } = opened.vault;
  return { ...opened, assessor: new VaultAssessor(memory, () => NOW, undefined, read) };
}

const readerOf =
  (payloads: readonly Uint8Array[]): TextRecordReader =>
  ({ offset }) =>
    payloads[offset]!;

const IDS = ["bridge", "leaves", "replaced", "gone", "again", "false", "shop", "page", "digest"];
const CONTEXTS = IDS.flatMap((id) =>
  [TRUE_CLAIM, STRANGE, "It has wifi and parking on the street."].map((content) => ({
    content,
    cited_sources: [id],
  })),
);

describe("texts that are indexed later", () => {
  it("answers as if all were indexed, and makes but what is asked for", async () => {
    const payloads = await writeHistory();
    const read: number[] = [];
    const eager = replayed(payloads, false);
    const late = replayed(payloads, true, (place) => {
      read.push(place.offset);
      return readerOf(payloads)(place);
    });
    // Of the structured one the text was read at once; of the others the version on show is left.
    expect(late.vault.backlogCount).toBe(5);
    expect(late.vault.list("acme")).toEqual(eager.vault.list("acme"));
    for (const context of CONTEXTS) {
      expect(late.assessor.assess(context, "acme")).toEqual(eager.assessor.assess(context, "acme"));
    }
    const findings = CONTEXTS.map((context) => late.assessor.assess(context, "acme").reasonCode);
    expect(new Set(findings)).toContain("CITATION_MISMATCH");
    expect(read).toHaveLength(5);
    expect(late.vault.backlogCount).toBe(0);
  });

  it("leaves what it cannot make in time to others, and never guesses", async () => {
    const payloads = await writeHistory();
    const { vault } = replayed(payloads, true);
    // A thread that reads no journal.
    const inline = new VaultAssessor(vault.memory, () => NOW);
    const strange = { content: STRANGE, cited_sources: ["bridge"] };
    expect(inline.assess(strange, "acme").reasonCode).toBe("PROVENANCE_NOT_ASSESSED");
    const reading = new VaultAssessor(vault.memory, () => NOW, Infinity, readerOf(payloads));
    const deferring = new DeferringAssessor(inline, (context, tenant) =>
      Promise.resolve(reading.assess(context, tenant)),
    );
    const finding = await deferring.assess(strange, "acme");
    expect(finding.reasonCode).toBe("CITATION_MISMATCH");
    // Made once, seen by all.
    expect(inline.assess(strange, "acme").reasonCode).toBe("CITATION_MISMATCH");
  });

  it("does not index a long text in the callback of an answer", async () => {
    const { vault, payloads } = openVault();
    await vault.register([itemOf("long", `${BRIDGE} `.repeat(200))], ACME);
    const { assessor } = replayed(payloads, true, readerOf(payloads));
    const context = { content: TRUE_CLAIM, cited_sources: ["long"] };
    expect(assessor.assess(context, "acme").reasonCode).toBe("PROVENANCE_NOT_ASSESSED");
  });

  it("never shows the text of a version that was replaced or revoked before its turn", async () => {
    const payloads = await writeHistory();
    const { vault, assessor } = replayed(payloads, true, readerOf(payloads));
    await vault.register([itemOf("bridge", LEAVES)], ACME);
    await vault.revoke("page", ACME);
    expect(vault.backlogCount).toBe(3);
    const indexer = BacklogIndexer.open(vault.memory, readerOf(payloads))!;
    for (
      let range = indexer.backlog.takeRange();
      range !== undefined;
      range = indexer.backlog.takeRange()
    ) {
      for (let number = range.from; number < range.to; number++)
        indexer.buildIfMissing(number, true);
    }
    expect(vault.backlogCount).toBe(0);
    const codeOf = (content: string, id: string) =>
      assessor.assess({ content, cited_sources: [id] }, "acme").reasonCode;
    expect(codeOf(TRUE_CLAIM, "bridge")).toBe("CITATION_MISMATCH");
    expect(codeOf(STRANGE, "again")).toBe("CITATION_MISMATCH");
    expect(codeOf(TRUE_CLAIM, "page")).toBe("SOURCE_REVOKED");
    // Numbers and memory of what was struck are used again.
    await vault.register([itemOf("new", BRIDGE)], ACME);
    expect(codeOf("The bridge cost 6.25 million pounds.", "new")).toBe("");
    expect(codeOf("Oak trees lose brown foliage when October nights grow cold.", "new")).toBe(
      "CITATION_MISMATCH",
    );
  });

  it("keeps the text of a version for as long as a reader may be at it", async () => {
    const payloads = await writeHistory();
    const { vault } = replayed(payloads, true);
    const guard = new EpochGuard(vault.memory.epochs);
    const indexer = BacklogIndexer.open(vault.memory, readerOf(payloads))!;
    const { backlog } = indexer;
    guard.enter();
    // The first source has the first number.
    await vault.register([itemOf("bridge", LEAVES)], ACME);
    expect(backlog.readRecordBytes(0)).toBeGreaterThan(0);
    expect(indexer.buildIfMissing(0)).toBeUndefined();
    expect(backlog.isIndexed(0)).toBe(true);
    guard.leave();
    // Any change looks what can be used again.
    await vault.revoke("digest", ACME);
    expect(backlog.isIndexed(0)).toBe(false);

    guard.enter();
    await vault.register([itemOf("leaves", BRIDGE)], ACME);
    expect(vault.backlogCount).toBe(4);
    guard.leave();
    await vault.revoke("shop", ACME);
    expect(vault.backlogCount).toBe(3);
  });

  it("throws away the second of two indexes of one text, and uses its memory again", async () => {
    const payloads = await writeHistory();
    const { vault, assessor } = replayed(payloads, true, readerOf(payloads));
    const quick = BacklogIndexer.open(vault.memory, readerOf(payloads))!;
    // Another thread is done with the text while this one reads it.
    const slow = BacklogIndexer.open(vault.memory, (place) => {
      quick.buildIfMissing(0);
      return readerOf(payloads)(place);
    })!;
    expect(slow.buildIfMissing(0)).toBeUndefined();
    expect(vault.backlogCount).toBe(4);
    const bytes = vault.indexBytes;
    await vault.register([itemOf("same", BRIDGE)], ACME);
    expect(vault.indexBytes).toBe(bytes);
    const codeOf = (content: string, id: string) =>
      assessor.assess({ content, cited_sources: [id] }, "acme").reasonCode;
    expect(codeOf(TRUE_CLAIM, "bridge")).toBe("");
    expect(codeOf(STRANGE, "same")).toBe("CITATION_MISMATCH");
  });

  it("tells what cannot be read, and holds it against nobody", async () => {
    const payloads = await writeHistory();
    const { vault, assessor } = replayed(payloads, true, () => {
      throw new Error("a sector is gone");
    });
    const context = { content: STRANGE, cited_sources: ["bridge"] };
    expect(assessor.assess(context, "acme").reasonCode).toBe("GROUNDING_NOT_EVALUATED");
    // Somebody else may have more luck: it is still on the list.
    expect(vault.backlogCount).toBe(5);
    const reader = new VaultAssessor(vault.memory, () => NOW, undefined, readerOf(payloads));
    expect(reader.assess(context, "acme").reasonCode).toBe("CITATION_MISMATCH");
    const indexer = BacklogIndexer.open(vault.memory, () => {
      throw new Error("a sector is gone");
    })!;
    const errors = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) =>
      indexer.buildIfMissing(number, true),
    );
    expect(errors.filter((error) => error?.message === "a sector is gone")).toHaveLength(4);
    expect(vault.backlogCount).toBe(0);
  });

  it("stops where it is told to", async () => {
    const { vault } = replayed(await writeHistory(), true);
    const { backlog } = BacklogIndexer.open(vault.memory)!;
    backlog.stop();
    expect(backlog.takeRange()).toBeUndefined();
    expect(vault.backlogCount).toBe(5);
  });
});

it("reads a record without its text as it reads the whole", () => {
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constant(`","text":"x`),
    fc.constant(","),
  );
  const event: fc.Arbitrary<SourceEvent> = fc.record({
    source_id: text,
    sha256: fc.constant("ab".repeat(32)),
    size: fc.nat(),
    kind: text,
    title: text,
    tenant: text,
    visibility: fc.constantFrom("tenant", "public"),
    state: fc.constantFrom(...EVIDENCE_STATES),
    registered_at: fc.nat(),
    registrar: text,
    text,
  });
  fc.assert(
    fc.property(event, (given) => {
      const payload = encodeSourceEvent(given);
      const whole = decodeSourceEvent(payload);
      expect(decodeSourceEventWithoutText(payload)).toEqual({ ...whole, text: "" });
      const { text: _text, ...rest } = given;
      expect(decodeSourceEventWithoutText(encodeSourceEvent(rest))).toBeUndefined();
    }),
  );
});
