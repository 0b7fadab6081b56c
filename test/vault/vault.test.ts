// The vault: registration, revocation, who sees what, the chain and its proofs, and a replay that
// rebuilds everything from what the journal kept.
import fc from "fast-check";
import { calculateJwkThumbprint, compactVerify, importJWK } from "jose";
import { describe, expect, it } from "vitest";

import { ServiceFault } from "../../src/contract/faults.ts";
import { IndexBuilder } from "../../src/vault/grounding/grounding.ts";
import { prepareText } from "../../src/vault/grounding/indexing.ts";
import { isIncluded, computeLeafHash, MerkleTree } from "../../src/vault/sources/merkle.ts";
import { createVaultMemory } from "../../src/vault/memory.ts";
import { ACME, ADMIN, BRIDGE, itemOf, NOW, openVault, RIVAL } from "./_setup.ts";

const bytesOf = (name: string) => Buffer.from(name.slice("sha256:".length), "hex");

describe("the vault", () => {
  it("registers a source once; a repeat changes nothing, another text is a version", async () => {
    const { vault, payloads } = openVault();
    const [first] = await vault.register([itemOf("report-1", "one two three")], ACME);
    const [repeat] = await vault.register([itemOf("report-1", "one two three")], ACME);
    const [second] = await vault.register([itemOf("report-1", "one two four")], ACME);
    expect(first!.isNew).toBe(true);
    expect(repeat).toEqual({ record: first!.record, isNew: false });
    expect(second!.isNew).toBe(false);
    expect(second!.record).toMatchObject({ index: 1, prev_hash: first!.record.chain_hash });
    expect(payloads).toHaveLength(2);
  });

  it("refuses a digest that is not that of the text", async () => {
    const { vault } = openVault();
    const item = itemOf("report-1", "text", { sha256: `sha256:${"0".repeat(64)}` });
    await expect(vault.register([item], ACME)).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("keeps tenants apart, and lets only administrators speak for everyone", async () => {
    const { vault } = openVault();
    await vault.register([itemOf("report-1", "ours")], ACME);
    const open = itemOf("law-1", "for all", { visibility: "public" });
    await expect(vault.register([open], ACME)).rejects.toMatchObject({
      code: "insufficient_scope",
    });
    await vault.register([open], ADMIN);
    expect(() => vault.read("report-1", RIVAL.tenant)).toThrow(/no such source/);
    expect(vault.read("law-1", RIVAL.tenant).visibility).toBe("public");
    expect(vault.list(RIVAL.tenant).records.map((each) => each.source_id)).toEqual(["law-1"]);
    await expect(vault.revoke("law-1", RIVAL)).rejects.toMatchObject({
      code: "insufficient_scope",
    });
  });

  it("gives pages of any size without gap or repeat, found by the beginning of id or title", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.nat(20), async (limit, count) => {
        const { vault } = openVault();
        const items = Array.from({ length: count }, (_, at) =>
          itemOf(`s-${at}`, `text ${at}`, at % 3 === 0 ? { title: "Tide Table" } : {}),
        );
        if (items.length > 0) await vault.register(items, ACME);
        const wanted = vault.list("acme", { prefix: "tide t" }).records;
        expect(wanted).toHaveLength(Math.ceil(count / 3));
        const found = [];
        let before: number | undefined;
        do {
          const question = { prefix: "TIDE", limit, ...(before === undefined ? {} : { before }) };
          const page = vault.list("acme", question);
          expect(page.records.length).toBeLessThanOrEqual(limit);
          found.push(...page.records);
          before = page.next_before;
        } while (before !== undefined);
        expect(found).toEqual(wanted);
      }),
      { numRuns: 30 },
    ));

  it("tells what a leaf is the hash of, and lists by state", async () => {
    const { vault } = openVault();
    await vault.register([itemOf("one", "text"), itemOf("zwei", "größer")], ACME);
    await vault.revoke("one", ACME);
    const { merkle, prev_hash, sha256 } = vault.read("zwei", "acme");
    expect(computeLeafHash(Buffer.from(merkle.leaf_text))).toEqual(bytesOf(merkle.leaf));
    const members = JSON.parse(merkle.leaf_text) as unknown[];
    expect(members.slice(0, 2)).toEqual(["zwei", sha256.slice("sha256:".length)]);
    expect(members.at(-1)).toBe(prev_hash.slice("sha256:".length));
    const revoked = vault.list("acme", { state: "revoked" }).records;
    expect(revoked.map((each) => each.source_id)).toEqual(["one"]);
  });

  it("lists each source once, the newest first, a thousand at most", async () => {
    const { vault } = openVault();
    const item = (at: number, text = "one") => itemOf(`source-${at}`, `${text} ${at}`);
    const items = Array.from({ length: 1003 }, (_, at) => item(at));
    await vault.register(items, ACME);
    await vault.register([item(3, "another"), item(1)], ACME);
    await vault.register([itemOf("theirs", "a text")], RIVAL);
    const ids = vault.list("acme").records.map((each) => each.source_id);
    expect(ids.slice(0, 2)).toEqual(["source-3", "source-1002"]);
    expect([ids.length, new Set(ids).size, ids.at(-1)]).toEqual([1000, 1000, "source-4"]);
    expect(vault.list("rival").records.map((each) => each.source_id)).toEqual(["theirs"]);
  });

  it("never gives a text back", async () => {
    const { vault } = openVault();
    await vault.register([itemOf("report-1", BRIDGE)], ACME);
    expect(JSON.stringify([vault.read("report-1", "acme"), vault.list("acme")])).not.toContain(
      "Bradfield",
    );
  });

  it("rebuilds records, chain, states and indexes from the journal", async () => {
    const { vault, payloads, assessor } = openVault();
    await vault.register([itemOf("a", BRIDGE), itemOf("b", "short")], ACME);
    await vault.register([itemOf("c", "all", { visibility: "public" })], ADMIN);
    await vault.revoke("b", ACME);
    const other = openVault();
    for (const payload of payloads) other.vault.replay(payload);
    expect(other.vault.list("acme")).toEqual(vault.list("acme"));
    const context = { content: "The bridge cost 7 pounds.", cited_sources: ["a", "b", "c"] };
    expect(other.assessor.assess(context, "acme")).toEqual(assessor.assess(context, "acme"));
  });

  it("signs its root so that the bureau's public key checks it, proof and all", async () => {
    let now = NOW;
    const { vault } = openVault({ clock: () => now });
    await vault.register([itemOf("a", BRIDGE), itemOf("b", "short")], ACME);
    const { root, tree_size, jws, jwk } = vault.readSignedRoot();
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(jwk, "EdDSA"));
    expect(protectedHeader).toMatchObject({ typ: "vault-root+jws", alg: "EdDSA", kid: jwk.kid });
    expect(await calculateJwkThumbprint(jwk)).toBe(jwk.kid);
    const signed = JSON.parse(Buffer.from(payload).toString()) as unknown;
    expect(signed).toMatchObject({ root, tree_size: 2, iat: NOW / 1000 });
    // The proof of a record carries the same head: one answer convinces on its own.
    const { merkle } = vault.read("a", "acme");
    expect(merkle).toMatchObject({ root, tree_size, jws });
    await vault.register([itemOf("c", "more")], ACME);
    expect(vault.readSignedRoot()).toMatchObject({ tree_size: 3 });
    expect(vault.readSignedRoot().jws).not.toBe(jws);
    now += 59 * 60_000;
    const same = vault.readSignedRoot();
    now += 2 * 60_000;
    const renewed = vault.readSignedRoot();
    expect([renewed.root, renewed.tree_size]).toEqual([same.root, same.tree_size]);
    expect(Date.parse(renewed.signed_at) - Date.parse(same.signed_at)).toBe(61 * 60_000);
    const forged = openVault().vault.readSignedRoot().jwk;
    await expect(compactVerify(jws, await importJWK(forged, "EdDSA"))).rejects.toThrow(/signature/);
  });

  it("makes large texts ready elsewhere, small ones in place, with the same result", async () => {
    const pages = Array.from({ length: 40 }, (_, at) => `${BRIDGE} This is page ${at}.`);
    const large = itemOf("large", pages.join("\n"));
    const later: number[] = [];
    const memory = createVaultMemory();
    const elsewhere = openVault({
      memory,
      indexLater: (texts) => {
        // As the pool does: an instance and a scratch of its own over the same memory.
        const builder = new IndexBuilder(memory.grounding);
        later.push(texts.length);
        return Promise.resolve(
          texts.map((text) => prepareText(text, (flat, leaves) => builder.build(flat, leaves))),
        );
      },
    });
    const inPlace = openVault();
    for (const { vault } of [elsewhere, inPlace]) {
      await vault.register([itemOf("small", BRIDGE)], ACME);
      await vault.register([large, itemOf("other", "A short page."), large], ACME);
      await vault.register([large], ACME);
    }
    expect(later).toEqual([3]);
    for (const content of ["John Bradfield led it.", "Page 39 says 7,777 and Wollongong."]) {
      const context = { content, cited_sources: ["small", "large", "other"] };
      const assessed = elsewhere.assessor.assess(context, "acme");
      expect(assessed).toEqual(inPlace.assessor.assess(context, "acme"));
    }
    expect(elsewhere.vault.list("acme")).toEqual(inPlace.vault.list("acme"));
  });

  it("registers nothing when a text cannot be made ready or kept", async () => {
    const busy = new ServiceFault("overloaded", "busy");
    const { vault, payloads } = openVault({ indexLater: () => Promise.reject(busy) });
    const large = itemOf("large", BRIDGE.repeat(60));
    await expect(vault.register([large], ACME)).rejects.toBe(busy);
    const lost = new Error("the disk is gone");
    const broken = openVault({ journal: { appendSource: () => Promise.reject(lost) } });
    for (let tries = 0; tries < 30; tries++) {
      await expect(broken.vault.register([itemOf("a", BRIDGE)], ACME)).rejects.toBe(lost);
    }
    expect([vault.size, broken.vault.size, payloads.length]).toEqual([0, 0, 0]);
    // What was made ready for nothing is used again.
    const once = openVault();
    await once.vault.register([itemOf("a", BRIDGE)], ACME);
    expect(broken.vault.indexBytes).toBe(once.vault.indexBytes);
  });

  it("proves that the root holds a record", async () => {
    const { vault } = openVault();
    const items = Array.from({ length: 13 }, (_, at) => itemOf(`source-${at}`, `text ${at}`));
    await vault.register(items, ACME);
    for (const { source_id } of items) {
      const { merkle, index } = vault.read(source_id, "acme");
      const path = merkle.path.map(bytesOf);
      const given = [{ index, size: merkle.tree_size, path }, bytesOf(merkle.root)] as const;
      expect(isIncluded(bytesOf(merkle.leaf), ...given)).toBe(true);
      expect(isIncluded(computeLeafHash(Buffer.from("other")), ...given)).toBe(false);
    }
  });
});

describe("the Merkle tree", () => {
  it("gives the roots of RFC 6962's own examples", () => {
    const leaves = ["", "00", "10", "2021", "3031", "40414243"].map((hex) =>
      computeLeafHash(Buffer.from(hex, "hex")),
    );
    const tree = new MerkleTree();
    const roots = leaves.map((leaf) => {
      tree.append(leaf);
      return tree.computeRoot().toString("hex");
    });
    expect(roots[0]).toBe("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    expect(roots[1]).toBe("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    expect(roots[2]).toBe("aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77");
    expect(roots[5]).toBe("76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef");
  });

  it("proves every leaf of trees of any size, and nothing else", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.nat(), (size, place) => {
        const tree = new MerkleTree();
        const leaves = Array.from({ length: size }, (_, at) => computeLeafHash(Buffer.from([at])));
        for (const leaf of leaves) tree.append(leaf);
        const index = place % size;
        const [path, root] = [tree.computeInclusionPath(index), tree.computeRoot()];
        expect(isIncluded(leaves[index]!, { index, size, path }, root)).toBe(true);
        expect(isIncluded(computeLeafHash(Buffer.of(255)), { index, size, path }, root)).toBe(
          false,
        );
        if (size > 1) {
          const other = (index + 1) % size;
          expect(isIncluded(leaves[index]!, { index: other, size, path }, root)).toBe(false);
        }
      }),
    );
  });
});
