// Replacement of a file: on disk with its name before it counts, by the operations that the kernel sees.
import * as fs from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import {
  diskFileLayer,
  moveDurably,
  replaceFile,
  replaceFileAsync,
} from "../../src/platform/files.ts";
import { SegmentCopies } from "../../src/store/decisions/node-copies.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";

afterEach(() => vi.restoreAllMocks());

/** Paths in the order in which they are synced without blocking the thread. */
async function recordSyncs(directory: string): Promise<string[]> {
  const handle = await open(directory, "r");
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const synced: string[] = [];
  for (const method of ["sync", "datasync"] as const) {
    const real = prototype[method];
    vi.spyOn(prototype, method).mockImplementation(function (this: typeof handle) {
      synced.push(fs.readlinkSync(`/proc/self/fd/${this.fd}`));
      return real.call(this);
    });
  }
  return synced;
}

test("a replaced file is synced, then its directory", async () => {
  const directory = temporaryDirectory();
  const path = join(directory, "keys.json");
  fs.writeFileSync(`${path}.tmp`, "left by an interrupted attempt", { mode: 0o644 });
  const synced = await recordSyncs(directory);
  await replaceFileAsync(path, "new");
  expect(synced).toEqual([`${path}.tmp`, directory]);
  expect(fs.readFileSync(path, "utf8")).toBe("new");
  expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(directory)).toEqual(["keys.json"]);
});

test("the place of copied decisions is synced, then its directory", async () => {
  const directory = temporaryDirectory();
  const copies = new SegmentCopies(directory);
  await copies.open();
  const synced = await recordSyncs(directory);
  await copies.keepPlace("decisions", 7);
  const place = join(directory, "nodes", "place.json");
  expect(synced).toEqual([`${place}.tmp`, join(directory, "nodes")]);
});

test("a moved file is synced, then renamed, then its directory is synced", () => {
  const directory = temporaryDirectory();
  const [from, to] = [join(directory, "a.partial"), join(directory, "a")];
  fs.writeFileSync(from, "whole");
  const steps: string[] = [];
  for (const step of ["syncData", "rename", "syncDirectory"] as const) {
    const real = diskFileLayer[step] as (...parameters: unknown[]) => void;
    vi.spyOn(diskFileLayer, step).mockImplementation((...parameters: unknown[]) => {
      steps.push(step);
      real(...parameters);
    });
  }
  moveDurably(from, to);
  expect(steps).toEqual(["syncData", "rename", "syncDirectory"]);
  expect(fs.readFileSync(to, "utf8")).toBe("whole");
  steps.length = 0;
  replaceFile(diskFileLayer, directory, "a", Buffer.from("newer"));
  expect(steps).toEqual(["syncData", "rename", "syncDirectory"]);
  expect(fs.readFileSync(to, "utf8")).toBe("newer");
});
