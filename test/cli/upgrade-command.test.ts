// `trustrank upgrade --check` over directories of the real service: one of its own, beside it while it
// runs, and ones that a newer release has written to, on which a start says what it cannot read and
// changes no byte.
import { readdirSync, readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  FRAME_HEAD_BYTES,
  FRAME_KIND_MAX,
  SEGMENT_HEADER_BYTES,
} from "../../src/journal/format.ts";
import { FRAME_KINDS, writeFrameHead, sealFrame } from "../../src/journal/format.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { openCore, recordOf, runOf, NOW_MS } from "../ledger/_fixtures.ts";
import { endAll, runCommand, startCommand } from "./_process.ts";

const KEY = "upgrade-suite-admin-key-0123456789abcdefghijk";
const folder = mkdtempSync(join(tmpdir(), "trustrank-upgrade-command-"));

interface Part {
  part: string;
  found: string;
  outlook: string;
  detail: string;
}

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function check(dataDir: string, environment: Record<string, string> = {}) {
  const parameters = ["upgrade", "--check", "--json", "--data-dir", dataDir];
  const { code, stdout, stderr } = await runCommand(parameters, environment);
  const { ok, parts } = JSON.parse(stdout === "" ? "{}" : stdout) as { ok: boolean; parts: Part[] };
  const part = (name: string) => parts.find((each) => each.part === name)!;
  return { code, stderr, ok, part };
}

it("looks at a directory while its service runs, and after", async () => {
  const dataDir = join(folder, "own");
  const server = startCommand(["serve", "--port", "0", "--json", "--data-dir", dataDir], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  await server.firstLine;
  const beside = await check(dataDir);
  expect([beside.code, beside.ok]).toEqual([0, true]);
  expect(beside.part("store").found).toBe("held by a service that runs");
  server.process.kill("SIGTERM");
  await server.ended;
  const after = await check(dataDir);
  expect([after.code, after.stderr]).toEqual([0, ""]);
  expect(after.part("store")).toMatchObject({ outlook: "reads", found: expect.any(String) });
  expect(after.part("journal").found).toContain("outcome");
  const table = await runCommand(["upgrade", "--check", "--data-dir", dataDir]);
  expect(table.stdout).toMatch(/^journal +version 1; .* reads +goes on behind its last record$/m);

  const wrong = await check(dataDir, { TRUSTRANK_PORT: "many" });
  expect([wrong.code, wrong.part("settings").outlook]).toEqual([1, "refuses"]);
  writeFileSync(join(dataDir, "keys.json"), '{"format":2,"keys":[]}');
  const newer = await check(dataDir);
  expect([newer.code, newer.stderr]).toEqual([1, expect.stringContaining("API keys")]);
});

it("names agents that no request may bear any more", async () => {
  const dataDir = mkdtempSync(join(folder, "names-"));
  const { core } = openCore(join(dataDir, "journal"), loadBureauKey(join(dataDir, "bureau.key")));
  const names = ["agent://shop/../seller", "plain:AGENT://shop/seller", "plain:bot", "agent://a/b"];
  core.commit([runOf(names.map((subject, index) => recordOf(index, { subject })))], NOW_MS);
  core.close();
  const { code, part } = await check(dataDir);
  expect([code, part("agent names").outlook]).toEqual([0, "reads"]);
  expect(part("agent names").found).toBe("2 that are refused now");
  expect(part("agent names").detail).toContain('"agent://shop/../seller", "AGENT://shop/seller"');
});

it("asks for --check and for a directory", async () => {
  expect((await runCommand(["upgrade", "--data-dir", folder])).code).toBe(2);
  const none = await runCommand(["upgrade", "--check", "--data-dir", join(folder, "none")]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("does not exist")]);
});

describe("what a newer release has written", () => {
  const KIND = FRAME_KIND_MAX + 1;
  let segment: string;

  /** A journal of three outcomes, and the bytes of its one segment. */
  function journalAt(dataDir: string): Buffer {
    const key = loadBureauKey(join(dataDir, "bureau.key"));
    const { core } = openCore(join(dataDir, "journal"), key);
    core.commit([runOf([0, 1, 2].map((index) => recordOf(index)))], NOW_MS);
    core.close();
    const name = readdirSync(join(dataDir, "journal")).find((each) => each.endsWith(".log"));
    segment = join(dataDir, "journal", name!);
    return readFileSync(segment);
  }

  const directories: Record<string, (bytes: Buffer) => Buffer> = {
    "a record of a kind that is not known": (bytes) => {
      const frame = Buffer.alloc(FRAME_HEAD_BYTES + 5);
      writeFrameHead(frame, 0, FRAME_KINDS.audit, 5);
      frame[FRAME_HEAD_BYTES - 1] = KIND;
      sealFrame(frame, 0, 4, NOW_MS * 1000);
      return Buffer.concat([bytes, frame]);
    },
    "a segment of another version": (bytes) => {
      bytes.writeUInt32LE(2, 8);
      bytes.writeUInt32LE(0, 12);
      bytes.writeUInt32LE(crc32(bytes.subarray(0, SEGMENT_HEADER_BYTES)), 12);
      return bytes;
    },
  };

  describe.each(Object.keys(directories))("%s", (name) => {
    const dataDir = mkdtempSync(join(folder, "newer-"));
    let bytes: Buffer;

    beforeAll(() => {
      bytes = directories[name]!(journalAt(dataDir));
      writeFileSync(segment, bytes);
    });

    it.each([
      ["serve", ["--port", "0", "--json"]],
      ["doctor", []],
      ["doctor", ["--repair"]],
      ["keys", ["rotate-signing"]],
    ])("is not touched by %s %j, which says what it is", async (command, more) => {
      const ended = await runCommand([command, ...more, "--data-dir", dataDir], {
        TRUSTRANK_ADMIN_KEY: KEY,
      });
      expect([ended.code, ended.stdout + ended.stderr]).toEqual([
        65,
        expect.stringMatching(/kind \d+|of version 2 of the journal/),
      ]);
      expect(readFileSync(segment).equals(bytes)).toBe(true);
    });

    it("is told by the check", async () => {
      const { code, part } = await check(dataDir);
      expect([code, part("journal")]).toEqual([
        1,
        expect.objectContaining({
          outlook: "refuses",
          detail: expect.stringMatching(/cannot read (records of kind \d+|segments of version 2)/),
        }),
      ]);
    });
  });
});
