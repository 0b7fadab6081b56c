// Sockets of the file system: one owner, the mode as asked from the first moment, and nothing removed
// that is not a dead process's.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  claimSocketFile,
  SOCKET_PATH_BYTES_MAX,
  type SocketFile,
  findSocketPathError,
} from "../../src/platform/socket-file.ts";
import { needsThat } from "../_needs.ts";

const ACCESS = { mode: 0o660, groupId: undefined };
let folder: string;
let path: string;
const servers: net.Server[] = [];

beforeEach(() => {
  folder = fs.mkdtempSync("/tmp/trustrank-socket-");
  path = join(folder, "s.sock");
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

function listenAt(at: string): Promise<void> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined).end("hello");
  });
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(at, resolve);
  });
}

function hears(at: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = net.connect(at).on("error", reject);
    socket.on("data", (piece) => (text += String(piece))).on("end", () => resolve(text));
  });
}

const modeOf = (at: string) => fs.statSync(at).mode & 0o7777;

describe("a socket file", () => {
  test("has its mode, is made where nobody else can reach it, and is removed", async () => {
    const file = await claimSocketFile(path, ACCESS);
    let made = "";
    await file.open(async (at) => {
      made = at;
      await listenAt(at);
      expect(modeOf(join(at, ".."))).toBe(0o700);
      expect(fs.existsSync(path)).toBe(false);
    });
    expect([modeOf(path), fs.existsSync(made)]).toEqual([0o660, false]);
    expect(await hears(path)).toBe("hello");
    expect(fs.readdirSync(folder).toSorted()).toEqual(["s.sock", "s.sock.lock"]);
    file.release();
    expect(fs.readdirSync(folder)).toEqual(["s.sock.lock"]);
  });

  const ROOT_ONLY = needsThat(process.getuid?.() === 0, "only as root");
  test("is of the group that was asked for", ROOT_ONLY, async () => {
    const file = await claimSocketFile(path, { mode: 0o620, groupId: 12_345 });
    await file.open(listenAt);
    const { gid, uid } = fs.statSync(path);
    expect([gid, uid, modeOf(path)]).toEqual([12_345, process.getuid?.(), 0o620]);
    file.release();
  });

  test("has one owner, until that one lets go", async () => {
    const first = await claimSocketFile(path, ACCESS);
    await expect(claimSocketFile(path, ACCESS)).rejects.toThrow(
      `cannot listen on \`unix:${path}\`: another process does`,
    );
    first.release();
    (await claimSocketFile(path, ACCESS)).release();
  });

  test("is not taken from a stranger who listens without a lock", async () => {
    await listenAt(path);
    await expect(claimSocketFile(path, ACCESS)).rejects.toThrow("another process does");
    expect(await hears(path)).toBe("hello");
  });

  test("replaces what a killed process left, its lock included", async () => {
    const program = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
    const child = spawn(process.execPath, ["-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const gone = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await gone;
    expect(fs.lstatSync(path).isSocket()).toBe(true);
    const file = await claimSocketFile(path, ACCESS);
    expect(fs.existsSync(path)).toBe(false);
    await file.open(listenAt);
    expect(await hears(path)).toBe("hello");
    file.release();
  });

  test("never replaces a file that is no socket, nor a link to one", async () => {
    fs.writeFileSync(path, "precious");
    await expect(claimSocketFile(path, ACCESS)).rejects.toThrow(
      "a file lies there that is no socket",
    );
    expect(fs.readFileSync(path, "utf8")).toBe("precious");
    fs.renameSync(path, join(folder, "kept"));
    fs.symlinkSync(join(folder, "kept"), path);
    await expect(claimSocketFile(path, ACCESS)).rejects.toThrow(
      "a file lies there that is no socket",
    );
  });

  test("does not remove another's socket that has taken its place", async () => {
    const file = await claimSocketFile(path, ACCESS);
    await file.open(listenAt);
    fs.rmSync(path);
    await listenAt(path);
    file.release();
    expect(await hears(path)).toBe("hello");
  });

  test("names the directory that does not let it", async () => {
    const missing = join(folder, "missing", "s.sock");
    await expect(claimSocketFile(missing, ACCESS)).rejects.toThrow(
      /s\.sock\.lock` cannot be taken \(ENOENT\)/,
    );
  });

  test("leaves nothing behind when it cannot be bound", async () => {
    const file = await claimSocketFile(path, ACCESS);
    await expect(file.open(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    file.release();
    expect(fs.readdirSync(folder)).toEqual(["s.sock.lock"]);
  });
});

describe("a path", () => {
  const lengthened = (bytes: number) => `/${"a".repeat(bytes - 1)}`;

  test("may be as long as the kernel's address, and not a byte longer", () => {
    expect(findSocketPathError(lengthened(SOCKET_PATH_BYTES_MAX))).toBe(undefined);
    expect(findSocketPathError(lengthened(SOCKET_PATH_BYTES_MAX + 1))).toMatch(
      /^is 1 bytes too long/,
    );
    expect(findSocketPathError("relative.sock")).toBe("is no absolute path");
    expect(findSocketPathError("/run/")).toBe("is no path of a file");
  });

  test("that is said to be good can be bound (property)", async () => {
    const name = fc.string({
      minLength: 1,
      maxLength: 60,
      unit: fc.constantFrom("a", "é", "日", " ", "%"),
    });
    await fc.assert(
      fc.asyncProperty(name, fc.integer({ min: 0, max: 60 }), async (text, padding) => {
        const directory = join(folder, "d".repeat(padding + 1));
        const at = join(directory, `${text.trim()}x`);
        if (findSocketPathError(at) !== undefined) return;
        fs.mkdirSync(directory, { recursive: true });
        let file: SocketFile | undefined;
        try {
          file = await claimSocketFile(at, ACCESS);
          await file.open(listenAt);
          expect(await hears(at)).toBe("hello");
        } finally {
          file?.release();
          for (const server of servers.splice(0)) server.close();
        }
      }),
      { numRuns: 40 },
    );
  });
});
