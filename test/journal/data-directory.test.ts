// One owner per data directory, across processes; and the way to a running server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadBureauKey, verifyWithRawKey } from "../../src/journal/signing-key.ts";
import {
  claimDataDirectory,
  DataDirectoryInUse,
  dataPaths,
  findServer,
  publishServer,
  withdrawServer,
} from "../../src/journal/data-directory.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";

const MODULE = new URL("../../src/journal/data-directory.ts", import.meta.url).href;

/** A process that claims the directory, says so, and stays. */
async function holder(directory: string) {
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { claimDataDirectory } = await import(${JSON.stringify(MODULE)});
       try { await claimDataDirectory(${JSON.stringify(directory)}); process.stdout.write("held"); }
       catch (error) { process.stdout.write(error.name + " " + error.pid); process.exit(); }
       setInterval(() => undefined, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return { child, said: said.toString() };
}

test("another process is refused, by name of the holder, until the holder is gone", async () => {
  const directory = temporaryDirectory();
  const { child, said } = await holder(directory);
  expect(said).toBe("held");
  await expect(claimDataDirectory(directory)).rejects.toThrow(DataDirectoryInUse);
  await expect(claimDataDirectory(directory)).rejects.toMatchObject({ pid: child.pid });
  // By another path too: the lock is on the directory, not on its name.
  const alias = join(temporaryDirectory(), "alias");
  fs.symlinkSync(directory, alias);
  await expect(claimDataDirectory(alias)).rejects.toThrow(DataDirectoryInUse);
  child.kill("SIGKILL");
  await once(child, "close");
  const claim = await claimDataDirectory(directory);
  expect(claim.epoch).toBe(2);
  const { said: refused } = await holder(directory);
  expect(refused).toBe(`DataDirectoryInUse ${process.pid}`);
  await claim.release();
});

test("the owner file alone refuses too, as in another network namespace", async () => {
  const directory = temporaryDirectory();
  const { child } = await holder(directory);
  const copy = temporaryDirectory();
  fs.copyFileSync(join(directory, "owner.json"), join(copy, "owner.json"));
  await expect(claimDataDirectory(copy)).rejects.toMatchObject({ pid: child.pid });
  child.kill("SIGKILL");
  await once(child, "close");
  const claim = await claimDataDirectory(copy);
  await claim.release();
});

test("parts of one process share the claim; the epoch rises with each owner", async () => {
  const directory = temporaryDirectory();
  const [first, second] = await Promise.all([
    claimDataDirectory(directory),
    claimDataDirectory(directory),
  ]);
  expect(second.epoch).toBe(first.epoch);
  await first.release();
  await first.release();
  const third = await claimDataDirectory(directory);
  expect(third.epoch).toBe(1);
  await second.release();
  await third.release();
  const later = await claimDataDirectory(directory);
  expect(later.epoch).toBe(2);
  await later.release();
  expect(fs.existsSync(later.paths.owner)).toBe(false);
});

test("a directory is made with all that is missing above it, private", async () => {
  const root = join(temporaryDirectory(), "a", "b", "c");
  const claim = await claimDataDirectory(root);
  expect(fs.statSync(root).mode & 0o777).toBe(0o700);
  await claim.release();
});

test("a command finds the server that runs, not one that is gone", () => {
  const directory = temporaryDirectory();
  const paths = dataPaths(directory);
  expect(findServer(directory)).toBeUndefined();
  publishServer(paths, { url: "http://127.0.0.1:8080", pid: process.pid });
  expect(findServer(directory)).toEqual({ url: "http://127.0.0.1:8080", pid: process.pid });
  publishServer(paths, { url: "http://127.0.0.1:8080", pid: 2 ** 22 + 1 });
  expect(findServer(directory)).toBeUndefined();
  withdrawServer(paths);
  expect(fs.existsSync(paths.server)).toBe(false);
});

test("the bureau key is made once, private, and signs verifiably", () => {
  const path = join(temporaryDirectory(), "bureau.key");
  const key = loadBureauKey(path);
  expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  const again = loadBureauKey(path);
  expect(again.publicKey).toEqual(key.publicKey);
  const message = Buffer.from("chain");
  expect(verifyWithRawKey(key.publicKey, message, again.sign(message))).toBe(true);
  expect(verifyWithRawKey(key.publicKey, Buffer.from("chaim"), key.sign(message))).toBe(false);
  expect(verifyWithRawKey(Buffer.alloc(3), message, key.sign(message))).toBe(false);
  fs.writeFileSync(path, "not a key");
  expect(() => loadBureauKey(path)).toThrow(/unsupported|DECODER|PEM/i);
});
