// Rotation of the bureau's key in a real directory: stopped before each of its writes, syncs, renames
// and removals, either the former key is in force or the next one, and everything verifies.
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { type FileLayer, diskFileLayer } from "../../../src/platform/files.ts";
import {
  encodePublicKey,
  isVouchedFor,
  readKeySet,
  writeKeySet,
} from "../../../src/journal/signing/key-set.ts";
import { buildPublishedKeySet, computeThumbprint } from "../../../src/journal/signing/key-set.ts";
import {
  assertJournalSigner,
  findForeignSigner,
  readJournalSigner,
} from "../../../src/journal/signing/signer.ts";
import { FileUnusable } from "../../../src/journal/faults.ts";
import { replaceLostBureauKey } from "../../../src/ledger/signing/replace-lost-key.ts";
import { type BureauKey, loadBureauKey } from "../../../src/journal/signing-key.ts";
import { verifyJournal } from "../../../src/journal/verify.ts";
import { rotateBureauKeyOffline } from "../../../src/ledger/signing/rotate-in-files.ts";
import { readOrDeriveTableSeed } from "../../../src/ledger/snapshot/format.ts";
import { NOW_MS, openCore, recordOf, runOf } from "../_fixtures.ts";

const ROTATED_MS = Date.UTC(2026, 2, 1);
let root: string;
const claim = () => ({ paths: resolveDataPaths(root), epoch: 1, owner: { id: "test" } as never });
const current = () => loadBureauKey(resolveDataPaths(root).bureauKey, false);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "trustrank-rekey-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

class Stopped extends Error {}

/** Does nothing from the `limit`th change on, as a process that was killed before it. */
function stoppingAt(limit: number): FileLayer {
  let count = 0;
  const step = () => {
    count++;
    if (count > limit) throw new Stopped();
  };
  const files = diskFileLayer;
  return {
    ...files,
    open(path, mode) {
      if (mode === "create") step();
      return files.open(path, mode);
    },
    write(descriptor, parts, position) {
      step();
      return files.write(descriptor, parts, position);
    },
    truncate(descriptor, length) {
      step();
      files.truncate(descriptor, length);
    },
    syncData(descriptor) {
      step();
      files.syncData(descriptor);
    },
    syncDirectory(directory) {
      step();
      files.syncDirectory(directory);
    },
    rename(from, to) {
      step();
      files.rename(from, to);
    },
    remove(path) {
      step();
      files.remove(path);
    },
  };
}

/** Adds outcomes as the service would, with the key that is in force. */
function report(count: number, from = 0): void {
  const { core } = openCore(resolveDataPaths(root).journal, current());
  const records = Array.from({ length: count }, (_, index) => recordOf(from + index));
  const results = core.commit([runOf(records)], NOW_MS);
  expect(results).toHaveLength(count);
  core.close();
}

describe("a rotation of the bureau's key", () => {
  let first: BureauKey;

  beforeEach(() => {
    first = loadBureauKey(resolveDataPaths(root).bureauKey);
    report(3);
  });

  it("lets another key sign, announced and vouched for by the former", () => {
    const seed = readOrDeriveTableSeed(root, first);
    const second = rotateBureauKeyOffline(claim(), ROTATED_MS)!;
    report(3, 3);
    const third = rotateBureauKeyOffline(claim(), ROTATED_MS + 5000)!;
    report(3, 6);
    const keys = [first, second, third];
    const verified = verifyJournal(diskFileLayer, resolveDataPaths(root).journal);
    expect(verified).toMatchObject({ damage: undefined, unannounced: [] });
    expect(verified.records).toBe(11);
    expect(verified.publicKeys).toEqual(keys.map((key) => key.publicKey.toString("hex")));
    const set = readKeySet(root, third.publicKey)!;
    const [x1, x2, x3] = keys.map((key) => encodePublicKey(key.publicKey)) as [
      string,
      string,
      string,
    ];
    expect([isVouchedFor(set.links[0]!, x1), isVouchedFor(set.links[1]!, x2)]).toEqual([
      true,
      true,
    ]);
    expect(isVouchedFor(set.links[1]!, x1)).toBe(false);
    expect(isVouchedFor({ ...set.links[1]!, x: x1 }, x2)).toBe(false);
    expect(readOrDeriveTableSeed(root, third)).toBe(seed);
    expect(buildPublishedKeySet(set, x3).keys).toMatchObject([
      { x: x3, valid_from: "2026-03-01T00:00:05.000Z", valid_until: null },
      { x: x2, valid_from: "2026-03-01T00:00:00.000Z", valid_until: "2026-03-01T00:00:05.000Z" },
      {
        x: x1,
        kid: computeThumbprint(x1),
        valid_from: null,
        valid_until: "2026-03-01T00:00:00.000Z",
      },
    ]);
    for (const name of ["bureau.key", "bureau-keys.json"]) {
      expect(statSync(join(root, name)).mode & 0o777).toBe(0o600);
    }
  });

  it("is done or has not happened, wherever it is stopped", () => {
    let limit = 0;
    let isDone = false;
    const outcomesSeen = new Set<string>();
    for (; !isDone && limit < 60; limit++) {
      const before = current();
      const seed = readOrDeriveTableSeed(root, before);
      try {
        rotateBureauKeyOffline(claim(), ROTATED_MS, stoppingAt(limit));
        isDone = true;
      } catch (error) {
        if (
          !(error instanceof Stopped) &&
          !(((error as Error).cause as Error) instanceof Stopped)
        ) {
          throw error;
        }
      }
      const after = current();
      outcomesSeen.add(after.publicKey.equals(before.publicKey) ? "former" : "next");
      expect(statSync(resolveDataPaths(root).bureauKey).mode & 0o777).toBe(0o600);
      expect(readOrDeriveTableSeed(root, after)).toBe(seed);
      const x = encodePublicKey(after.publicKey);
      const { keys } = buildPublishedKeySet(readKeySet(root, after.publicKey), x);
      expect(keys[0]).toMatchObject({ x, valid_until: null });
      report(1, 100 + limit);
      expect(verifyJournal(diskFileLayer, resolveDataPaths(root).journal)).toMatchObject({
        damage: undefined,
        unannounced: [],
      });
      for (const [index, key] of keys.entries()) {
        const former = keys[index + 1];
        if (former === undefined) continue;
        expect(isVouchedFor({ x: key.x, fromMs: 0, vouchedBy: key.vouched_by! }, former.x)).toBe(
          true,
        );
      }
    }
    expect(isDone).toBe(true);
    expect(limit).toBeGreaterThan(8);
    expect(outcomesSeen).toEqual(new Set(["former", "next"]));
  });

  it("is told from a key that somebody put there", () => {
    rmSync(resolveDataPaths(root).bureauKey);
    loadBureauKey(resolveDataPaths(root).bureauKey);
    report(1, 50);
    expect(verifyJournal(diskFileLayer, resolveDataPaths(root).journal)).toMatchObject({
      damage: undefined,
      unannounced: [expect.stringMatching(/^seg-/)],
    });
    const { publicKey } = current();
    expect(
      buildPublishedKeySet(readKeySet(root, publicKey), encodePublicKey(publicKey)).keys,
    ).toHaveLength(1);
    rotateBureauKeyOffline(claim(), ROTATED_MS);
    report(1, 60);
    expect(verifyJournal(diskFileLayer, resolveDataPaths(root).journal).unannounced).toHaveLength(
      1,
    );
  });

  it("refuses a key set that is none, and needs a key to begin with", () => {
    rotateBureauKeyOffline(claim(), ROTATED_MS);
    const file = join(root, "bureau-keys.json");
    const text = readFileSync(file, "utf8");
    for (const wrong of ["", "{}", text.replace('"format": 1', '"format": 2'), text.slice(0, 99)]) {
      writeFileSync(file, wrong);
      expect(() => readKeySet(root, current().publicKey)).toThrow(/bureau-keys\.json/);
    }
    const empty = { ...claim(), paths: resolveDataPaths(join(root, "none")) };
    expect(rotateBureauKeyOffline(empty, ROTATED_MS)).toBeUndefined();
  });
});

describe("another key in the place of the journal's", () => {
  const paths = () => resolveDataPaths(root);
  const assertSigner = () => assertJournalSigner(diskFileLayer, paths(), current());
  const published = () => {
    const { publicKey } = current();
    return buildPublishedKeySet(readKeySet(root, publicKey), encodePublicKey(publicKey)).keys;
  };
  const putAnotherKey = () => {
    rmSync(paths().bureauKey);
    return loadBureauKey(paths().bureauKey);
  };

  it("is refused with the way out, and never rotated from", () => {
    loadBureauKey(paths().bureauKey);
    report(1);
    expect(assertSigner).not.toThrow();
    const text = readFileSync(paths().bureauKey);
    const other = putAnotherKey();
    const kid = computeThumbprint(encodePublicKey(other.publicKey));
    expect(assertSigner).toThrow(new RegExp(`${kid}.*keys rotate-signing.*doctor --repair`));
    expect(() => rotateBureauKeyOffline(claim(), ROTATED_MS)).toThrow(FileUnusable);
    writeFileSync(paths().bureauKey, text);
    expect(assertSigner).not.toThrow();
    rotateBureauKeyOffline(claim(), ROTATED_MS);
    rotateBureauKeyOffline(claim(), ROTATED_MS + 1);
    // The journal ends under the first key but one: each key since vouches for the next.
    expect(assertSigner).not.toThrow();
  });

  it("is accepted as the last of several that vouch for each other, and of them alone", () => {
    loadBureauKey(paths().bureauKey);
    report(1);
    const journal = join(root, "before");
    cpSync(paths().journal, journal, { recursive: true });
    rotateBureauKeyOffline(claim(), ROTATED_MS);
    report(1, 10);
    rotateBureauKeyOffline(claim(), ROTATED_MS + 1);
    const check = () => findForeignSigner(diskFileLayer, { ...paths(), journal }, current());
    expect(check()).toBeUndefined();
    const set = readKeySet(root, current().publicKey)!;
    for (const broken of [0, 1]) {
      const links = set.links.map((link, at) =>
        at === broken ? { ...link, vouchedBy: "" } : link,
      );
      writeKeySet(diskFileLayer, root, { ...set, links });
      expect(check()).toEqual(readJournalSigner(diskFileLayer, journal));
    }
    rmSync(join(root, "bureau-keys.json"));
    expect(check()).toBeDefined();
  });

  it("goes on by a repair, and the former stays published, whatever the repair was stopped at", () => {
    const former = loadBureauKey(paths().bureauKey);
    report(1);
    putAnotherKey();
    const isForeign = () => findForeignSigner(diskFileLayer, paths(), current()) !== undefined;
    let stops = 0;
    for (; isForeign(); stops++) {
      try {
        expect(replaceLostBureauKey(claim(), ROTATED_MS, stoppingAt(stops))).toBe(true);
      } catch (error) {
        const { cause = error } = error as Error;
        if (!(cause instanceof Stopped)) throw error;
      }
    }
    expect(stops).toBeGreaterThan(5);
    expect(assertSigner).not.toThrow();
    expect(replaceLostBureauKey(claim(), ROTATED_MS)).toBe(false);
    const [newest, oldest, ...more] = published();
    expect(more).toEqual([]);
    expect(oldest).toMatchObject({ x: encodePublicKey(former.publicKey), vouched_by: null });
    expect(newest).toMatchObject({ vouched_by: null, valid_from: "2026-03-01T00:00:00.000Z" });
    report(1, 20);
    expect(verifyJournal(diskFileLayer, paths().journal).damage).toBeUndefined();
  });
});
