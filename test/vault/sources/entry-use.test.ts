// Bounds on sources: a quota by tenant, entries of revoked sources used again, the whole vault bounded,
// and slots that move up when one is taken out.
import { describe, expect, it } from "vitest";
import {
  Catalogue,
  createCatalogueMemory,
  NOT_FOUND,
} from "../../../src/vault/sources/catalogue.ts";
import { readMoveCount, removeSlot } from "../../../src/vault/sources/slots.ts";
import { seededRandom } from "../../ledger/_fixtures.ts";
import { ACME, ADMIN, itemOf, openVault, RIVAL } from "../_setup.ts";

const items = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => itemOf(`${name}-${at}`, `Text ${at} of ${name}.`));

describe("sources of a tenant", () => {
  it("are bounded, others' are not touched, and repeats cost nothing", async () => {
    const { vault } = openVault({ sourcesPerTenant: 10 });
    await vault.register(items("a", 10), ACME);
    await expect(vault.register(items("b", 1), ACME)).rejects.toMatchObject({
      code: "source_quota_exceeded",
    });
    await vault.register(items("a", 10), ACME);
    await vault.register(items("b", 10), RIVAL);
    await vault.register([itemOf("p", "Public.", { visibility: "public" })], ADMIN);
    expect(vault.size).toBe(21);
    expect(vault.gauges()).toMatchObject({
      vault_sources: 21,
      vault_tenant_sources_highest: 10,
      vault_sources_refused_total: 1,
    });
  });

  it("are replaced by newer versions at the quota as before it", async () => {
    const { vault } = openVault({ sourcesPerTenant: 3 });
    await vault.register(items("a", 3), ACME);
    for (let at = 0; at < 20; at++) await vault.register([itemOf("a-1", `Version ${at}.`)], ACME);
    expect(vault.gauges().vault_sources).toBe(3);
  });

  it("give way once revoked, the longest revoked first, and cite as unknown then", async () => {
    const { vault, assessor } = openVault({ sourcesPerTenant: 10 });
    await vault.register(items("a", 10), ACME);
    for (const id of ["a-7", "a-3"]) await vault.revoke(id, ACME);
    let asked = 0;
    const states = () =>
      ["a-3", "a-7"].map((id) => {
        asked++;
        const context = { content: `Something else about ${id}, ${asked}.`, cited_sources: [id] };
        return assessor.assess(context, "acme").reasonCode;
      });
    expect(states()).toEqual(["SOURCE_REVOKED", "SOURCE_REVOKED"]);
    await vault.register(items("b", 1), ACME);
    expect(() => vault.read("a-7", "acme")).toThrow("not_found");
    expect(states()[0]).toBe("SOURCE_REVOKED");
    expect(states()[1]).not.toBe("SOURCE_REVOKED");
    await vault.register(items("c", 1), ACME);
    await expect(vault.register(items("d", 1), ACME)).rejects.toMatchObject({
      code: "source_quota_exceeded",
    });
    expect(vault.gauges()).toMatchObject({ vault_sources: 10, vault_sources_revoked: 0 });
  });

  it("come and go for ever: register, revoke, register", async () => {
    const { vault } = openVault({ sourcesPerTenant: 5 });
    for (let at = 0; at < 300; at++) {
      await vault.register([itemOf(`s-${at}`, `Text ${at}.`)], ACME);
      await vault.revoke(`s-${at}`, ACME);
    }
    expect(vault.gauges().vault_sources).toBe(5);
    expect(vault.list("acme").records).toHaveLength(5);
  });

  it("count with the versions whose tainted content stays on record", async () => {
    const { vault } = openVault({ sourcesPerTenant: 5 });
    const version = (at: number) =>
      vault.register([itemOf("page", `Version ${at}.`, { state: "recorded_false" })], ACME);
    for (let at = 0; at < 5; at++) await version(at);
    await expect(version(5)).rejects.toMatchObject({ code: "source_quota_exceeded" });
  });

  it("are promised while they are journaled: two batches at once do not share the last places", async () => {
    const { vault } = openVault({ sourcesPerTenant: 10 });
    const both = await Promise.allSettled([
      vault.register(items("a", 6), ACME),
      vault.register(items("b", 6), ACME),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await vault.register(items("c", 4), ACME);
  });

  it("of the journal are all taken at a start, beyond any quota", async () => {
    const { vault, payloads } = openVault();
    await vault.register(items("a", 20), ACME);
    await vault.revoke("a-1", ACME);
    const next = openVault({ sourcesPerTenant: 5 }).vault;
    for (const payload of payloads) next.replay(payload);
    expect(next.size).toBe(20);
    await expect(next.register(items("b", 1), ACME)).rejects.toMatchObject({
      code: "source_quota_exceeded",
    });
  });
});

describe("the whole vault", () => {
  it("is bounded: any revoked source gives way, and without one 507 says so", async () => {
    const { vault, payloads } = openVault({ sourcesMax: 10 });
    await vault.register(items("a", 5), ACME);
    await vault.register(items("b", 5), RIVAL);
    await expect(vault.register(items("c", 1), RIVAL)).rejects.toMatchObject({
      code: "vault_full",
    });
    await vault.revoke("a-2", ACME);
    await vault.register(items("c", 1), RIVAL);
    expect(() => vault.read("a-2", "acme")).toThrow("not_found");
    const next = openVault({ sourcesMax: 10 }).vault;
    for (const payload of payloads) next.replay(payload);
    expect(next.size).toBe(10);
    expect(next.readSignedRoot().root).toBe(vault.readSignedRoot().root);
  });
});

describe("slots", () => {
  it("find all others after any removal", () => {
    const random = seededRandom(5);
    const header = new Uint32Array(new SharedArrayBuffer(64));
    const size = 64;
    const slots = new Uint32Array(new SharedArrayBuffer(size * 8));
    const held = new Map<number, number>();
    const add = (first: number, number: number) => {
      let at = first & (size - 1);
      while (slots[at * 2 + 1] !== 0) at = (at + 1) & (size - 1);
      slots[at * 2] = first;
      slots[at * 2 + 1] = number + 1;
    };
    const has = (first: number, number: number) => {
      let at = first & (size - 1);
      for (; slots[at * 2 + 1] !== 0; at = (at + 1) & (size - 1)) {
        if (slots[at * 2] === first && slots[at * 2 + 1] === number + 1) return true;
      }
      return false;
    };
    for (let number = 0; number < 3000; number++) {
      // Few homes, so that the chains are long and go around the end.
      const first = 60 + Math.floor(random() * 8) + size * number;
      add(first, number);
      held.set(number, first);
      while (held.size > 40) {
        const [victim, itsFirst] = [...held][Math.floor(random() * held.size)]!;
        removeSlot(header, slots, itsFirst, victim);
        held.delete(victim);
        expect(has(itsFirst, victim)).toBe(false);
      }
      expect([...held].every(([each, itsFirst]) => has(itsFirst, each))).toBe(true);
    }
    expect(readMoveCount(header) % 2).toBe(0);
  });

  it("of the catalogue: a forgotten source is unknown, its content no longer listed", () => {
    const catalogue = new Catalogue(createCatalogueMemory());
    const entry = (at: number) => ({
      tenant: "acme",
      sourceId: `page-${at}`,
      sha256: at.toString(16).padStart(64, "0"),
      state: "recorded_false" as const,
      document: -1,
      isStructured: false,
      registeredAtSec: at,
    });
    const numbers = Array.from({ length: 50 }, (_, at) => catalogue.add(entry(at)));
    catalogue.removeNames(numbers[7]!);
    catalogue.releaseEntry(numbers[7]!);
    expect(catalogue.find("acme", "page-7")).toBe(NOT_FOUND);
    expect(catalogue.findContentState("acme", entry(7).sha256)).toBeUndefined();
    for (let at = 8; at < 50; at++) {
      expect(catalogue.find("acme", `page-${at}`)).toBe(numbers[at]);
      expect(catalogue.findContentState("acme", entry(at).sha256)).toBe("recorded_false");
    }
    expect(catalogue.add(entry(99))).toBe(numbers[7]);
    expect(catalogue.find("acme", "page-99")).toBe(numbers[7]);
  });
});
