// Memory of the vault under churn: what was replaced or revoked is used again, and never while a
// reader may be looking at it.
import { describe, expect, it } from "vitest";

import { Catalogue, createCatalogueMemory } from "../../src/vault/sources/catalogue.ts";
import {
  CitationCache,
  createCitationCacheMemory,
} from "../../src/vault/assessment/citation-memory.ts";
import { createEpochMemory, EpochGuard, EpochReclaimer } from "../../src/vault/sources/epochs.ts";
import { createThresholdMemory, TenantThresholds } from "../../src/vault/calibration/thresholds.ts";
import { ACME, BRIDGE, itemOf, openVault } from "./_setup.ts";

/** Texts of many sizes, each version different from the one before. */
function textOf(version: number): string {
  const sentences = Array.from({ length: 20 + ((version * 37) % 400) }, (_, at) => {
    const word = String.fromCharCode(97 + ((at * 7 + version) % 26)).repeat(3 + (at % 5));
    return `Item ${at * version} concerns ${word}${version} and nothing else.`;
  });
  return sentences.join(" ");
}

describe("churn", () => {
  it("stays bounded: megabytes of new versions take the place of the old", async () => {
    const { vault, assessor } = openVault();
    let bytes = 0;
    let after = 0;
    for (let version = 1; version <= 240; version++) {
      const text = textOf(version);
      bytes += text.length;
      await vault.register([itemOf(`page-${version % 4}`, text)], ACME);
      if (version === 80) after = vault.indexBytes;
    }
    expect(bytes).toBeGreaterThan(2_000_000);
    // Two thirds of the versions came after: without reuse the indexes would have tripled.
    expect(vault.indexBytes).toBeLessThan(after * 1.2);
    const content = "Item 238 concerns zzz239.";
    const { data } = assessor.assess({ content, cited_sources: ["page-3"] }, "acme");
    expect(data.sources).toEqual([{ id: "page-3", status: "SOURCE_VERIFIED" }]);
  });

  it("gives the index of a revoked source back, and takes it again with the text", async () => {
    const { vault, assessor } = openVault();
    const context = { content: "It collapsed in 1963 at Wollongong.", cited_sources: ["bridge"] };
    for (let round = 0; round < 50; round++) {
      await vault.register([itemOf("bridge", BRIDGE)], ACME);
      expect(assessor.assess(context, "acme").data.sources![0]!.status).not.toBe("SOURCE_REVOKED");
      const revoked = await vault.revoke("bridge", ACME);
      expect(revoked.has_text).toBe(false);
      expect(assessor.assess(context, "acme").reasonCode).toBe("SOURCE_REVOKED");
    }
    // One index, and its successor while the first one waited.
    const [once] = [openVault()];
    await once.vault.register([itemOf("bridge", BRIDGE)], ACME);
    expect(vault.indexBytes).toBeLessThanOrEqual(once.vault.indexBytes * 2);
  });

  it("uses entries of the catalogue again, but never those of tainted content", () => {
    const catalogue = new Catalogue(createCatalogueMemory());
    const entry = (version: number, state: "active" | "recorded_false") => ({
      tenant: "acme",
      sourceId: "page",
      sha256: version.toString(16).padStart(64, "0"),
      state,
      document: -1,
      isStructured: false,
      registeredAtSec: version,
    });
    let number = catalogue.add(entry(0, "active"));
    for (let version = 1; version < 1000; version++) {
      const next = catalogue.add(entry(version, version === 500 ? "recorded_false" : "active"));
      catalogue.releaseEntry(number);
      number = next;
    }
    expect(catalogue.size).toBe(3);
    expect(catalogue.readRegisteredAtSec(catalogue.find("acme", "page"))).toBe(999);
    expect(catalogue.find("rival", "page")).toBe(-1);
    expect(catalogue.findContentState("acme", entry(500, "active").sha256)).toBe("recorded_false");
    expect(catalogue.findContentState("rival", entry(500, "active").sha256)).toBeUndefined();
  });
});

describe("pins", () => {
  it("release nothing that a pinned reader could still see, and all of it afterwards", () => {
    const memory = createEpochMemory();
    const [early, late] = [new EpochGuard(memory), new EpochGuard(memory)];
    const retirement = new EpochReclaimer(memory);
    const released: string[] = [];
    const release = (name: string) => () => released.push(name) > 0;
    early.enter();
    retirement.retire(release("seen by early"));
    late.enter();
    retirement.retire(release("seen by both"));
    expect(released).toEqual([]);
    early.leave();
    retirement.runDueReleases();
    expect(released).toEqual(["seen by early"]);
    late.leave();
    retirement.runDueReleases();
    expect(released).toEqual(["seen by early", "seen by both"]);
    expect(retirement.waitingCount).toBe(0);
  });

  it("ask again for what could not be given back yet", () => {
    const retirement = new EpochReclaimer(createEpochMemory());
    let isTaken = true;
    retirement.retire(() => !isTaken);
    expect(retirement.waitingCount).toBe(1);
    isTaken = false;
    retirement.runDueReleases();
    expect(retirement.waitingCount).toBe(0);
  });
});

describe("what is remembered of contents", () => {
  const digest = (at: number) => at.toString(16).padStart(8, "0").repeat(8);

  it("is one table of one mebibyte, however much is asked", () => {
    const memory = createCitationCacheMemory();
    const citations = new CitationCache(memory);
    for (let at = 1; at < 200_000; at++)
      citations.recordCitation("acme", digest(at), [`s${at % 9}`], at);
    expect(memory.byteLength).toBe(1 << 20);
  });

  it("knows a change of sources on any thread, not their order, and since when", () => {
    const memory = createCitationCacheMemory();
    const [one, other] = [new CitationCache(memory), new CitationCache(memory)];
    const first = one.recordCitation("acme", digest(7), ["a", "b"], 100);
    expect(first).toEqual({ isChanged: false, since: undefined });
    const again = other.recordCitation("acme", digest(7), ["b", "a"], 200);
    expect(again).toEqual({ isChanged: false, since: 100 });
    expect(other.recordCitation("acme", digest(7), ["a", "c"], 300).isChanged).toBe(true);
    expect(one.recordCitation("rival", digest(7), ["z"], 400).isChanged).toBe(false);
  });
});

describe("thresholds of tenants", () => {
  it("are each tenant's own, seen by every reader, and can be taken back", () => {
    const memory = createThresholdMemory();
    const [writer, reader] = [new TenantThresholds(memory), new TenantThresholds(memory)];
    expect(reader.findThresholds("acme", "qa")).toBeUndefined();
    writer.writeThresholds("acme", "qa", { tau_lo: -5, tau_hi: 700 });
    writer.writeThresholds("rival", "claim", { tau_lo: 1, tau_hi: 2 });
    expect(reader.findThresholds("acme", "qa")).toEqual({ tau_lo: -5, tau_hi: 700 });
    expect(reader.findThresholds("acme", "claim")).toBeUndefined();
    expect(reader.findThresholds("rival", "claim")).toEqual({ tau_lo: 1, tau_hi: 2 });
    writer.writeThresholds("acme", "qa", undefined);
    expect(reader.findThresholds("acme", "qa")).toBeUndefined();
  });
});
