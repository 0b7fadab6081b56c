// Address of the server on a data directory: whom it leads to, and that it leads nobody astray.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claimDataDirectory, resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { writeOwner } from "../../../src/journal/ownership/owner.ts";
import {
  findServer,
  writeServerAddress,
  removeOwnServerAddress,
} from "../../../src/journal/ownership/server-address.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";

const URL = "http://127.0.0.1:8080";

function rewrite(path: string, changes: object): void {
  const old = JSON.parse(fs.readFileSync(path, "utf8")) as object;
  fs.writeFileSync(path, JSON.stringify({ ...old, ...changes }));
}

test("a command finds the server that holds the directory, and no other", async () => {
  const directory = temporaryDirectory();
  expect(findServer(directory)).toBeUndefined();
  const claim = await claimDataDirectory(directory);
  const { paths, owner } = claim;
  expect(findServer(directory)).toBeUndefined();
  writeServerAddress(directory, owner, URL);
  expect(findServer(directory)).toMatchObject({ url: URL, pid: process.pid, isReachable: true });

  // A copy has both files, and the server does not hold it.
  const copy = join(temporaryDirectory(), "copy");
  fs.cpSync(directory, copy, { recursive: true });
  expect(findServer(copy)).toBeUndefined();
  // Not even with the lock's file in common, as `cp -al` makes one.
  fs.rmSync(resolveDataPaths(copy).lock);
  fs.linkSync(paths.lock, resolveDataPaths(copy).lock);
  expect(findServer(copy)).toBeUndefined();

  // A unit with `ProcSubset=pid` sees no name of the boot.
  rewrite(paths.server, { boot: "" });
  expect(findServer(directory)).toMatchObject({ isReachable: true });
  // On another machine, and in another network namespace, the address is that of another host.
  rewrite(paths.server, { networkNamespace: "net:[1]" });
  expect(findServer(directory)).toMatchObject({ isReachable: false });
  rewrite(paths.server, { networkNamespace: owner.networkNamespace, boot: "another" });
  expect(findServer(directory)).toMatchObject({ isReachable: false });
  // The owner has changed: this address is a former one's.
  rewrite(paths.server, { owner: "another" });
  expect(findServer(directory)).toBeUndefined();
  removeOwnServerAddress(directory, owner);
  expect(fs.existsSync(paths.server)).toBe(true);
  writeServerAddress(directory, owner, URL);
  // Its process is dying, and holds the lock a little longer.
  writeOwner(directory, { ...owner, pid: 2 ** 22 + 1 });
  expect(findServer(directory)).toBeUndefined();
  writeOwner(directory, owner);
  expect(findServer(directory)).toBeDefined();
  await claim.release();
  // As a killed server leaves it.
  expect(fs.existsSync(paths.server)).toBe(true);
  expect(findServer(directory)).toBeUndefined();
  const next = await claimDataDirectory(directory);
  expect(fs.existsSync(paths.server)).toBe(false);
  writeServerAddress(directory, next.owner, URL);
  removeOwnServerAddress(directory, next.owner);
  expect(fs.existsSync(paths.server)).toBe(false);
  await next.release();
});
