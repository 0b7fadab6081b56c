// The service's package as npm makes it: what is in it, and its command started from a project that
// has nothing else.
import { spawn } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { TrustRankClient } from "../../src/client/client.ts";
import { CLIENT, danglingMaps, faultsIn, pack, type Packed, ROOT, run } from "./_package.ts";

let packed: Packed;
let folder: string;
let installed: string;

beforeAll(async () => {
  packed = await pack(ROOT);
  folder = await packed.project("command");
  installed = await packed.unpack(folder);
});
afterAll(async () => {
  await packed?.remove();
});

it("holds the command, the client and the gateways' examples, and no source or test", async () => {
  const names = [...packed.files.keys()];
  const tops = new Set(names.map((name) => name.split("/").slice(0, 2).join("/")));
  expect([...tops].toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "build/package",
    "clients/typescript",
    "examples/gateways",
    "package.json",
  ]);
  const strangers = names.filter(
    (name) => /\.test\.|(^|\/)(test|bench|node_modules)\//.test(name) || /(?<!\.d)\.ts$/.test(name),
  );
  expect(strangers).toEqual([]);
  const { exports, bin } = manifest;
  const named = [...JSON.stringify([exports, bin]).matchAll(/"(?:\.\/)?([\w./-]+\.[jt]s)"/g)];
  expect(named.map(([, name]) => name!).filter((name) => !packed.files.has(name))).toEqual([]);
  expect(names.filter((name) => name.endsWith(".wasm"))).toHaveLength(3);
  expect(await danglingMaps(packed, installed)).toEqual([]);
  // Half of it is the sample history and the words of the grounding.
  expect(packed.size).toBeLessThan(1_750_000);
});

it("is what publint and arethetypeswrong ask for", async () => {
  expect(await faultsIn(packed)).toEqual([]);
});

it("may be published, under the client's version and with the client's entries", async () => {
  const client = JSON.parse(await readFile(path.join(CLIENT, "package.json"), "utf8"));
  expect(packed).toMatchObject({ name: "trustrank", version: client.version });
  expect(manifest).not.toHaveProperty("private");
  expect(manifest.publishConfig).toEqual({ access: "public", provenance: true });
  const entries = Object.keys(manifest.exports).filter((name) => name.startsWith("./client"));
  const others = Object.keys(client.exports).filter((name) => name !== "./package.json");
  expect(entries).toEqual(others.map((name) => name.replace(".", "./client")));
  expect(client.dependencies).toBeUndefined();
});

it("gives the client to who imports and to who requires it", async () => {
  const text = `import * as imported from "trustrank/client/mcp";
    import { createRequire } from "node:module";
    const required = createRequire(import.meta.url)("trustrank/client");
    console.log(typeof imported.mcpTool, typeof required.withTrustRank);`;
  const args = ["--input-type=module", "--eval", text];
  const { stdout } = await run(process.execPath, args, { cwd: folder });
  expect(stdout).toBe("function function\n");
});

describe("the command", () => {
  // The command's first line asks for `node`, and this is the one that it is to find.
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, TRUSTRANK_DRAIN_MS: "0" };
  let command: string;
  beforeAll(async () => {
    command = await linkCommand();
  });

  it("serves from within node_modules, with the sample history, and ends in order", async () => {
    const args = ["serve", "--port", "0", "--data-dir", "data", "--json"];
    const server = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise((resolve) => server.once("close", resolve));
    let said = "";
    server.stderr.on("data", (piece: Buffer) => (said += piece.toString()));
    const line = await new Promise<string>((resolve, reject) => {
      server.stdout.once("data", (piece: Buffer) => resolve(piece.toString()));
      server.once("close", () => reject(new Error(said)));
    });
    const { url: baseUrl, adapter, sample, admin_key: apiKey } = JSON.parse(line);
    expect(adapter).toBe("uws");
    expect(sample).toBeGreaterThan(1000);
    const client = new TrustRankClient({ baseUrl, apiKey, timeoutMs: 60_000 });
    const agentId = "agent://acme/ledger-sync";
    expect(await client.check(agentId, { stakes: 5 })).toMatchObject({ allowed: true });
    const items = Array.from({ length: 500 }, () => ({
      agent_id: agentId,
      action: "a.b",
      tool_level: "L1" as const,
    }));
    // Large batches are scored on the pool, whose threads are files of the package too.
    expect(await client.verifyBatch(items, { timeoutMs: 60_000 })).toHaveLength(500);
    const sql = "SELECT count(*) AS n FROM outcomes";
    const query = ["query", sql, "--data-dir", "data", "--key", apiKey, "--json"];
    // The store follows the journal: its rows may come a moment after the port.
    const counted = async () => (await run(command, query, { cwd: folder, env })).stdout;
    await expect.poll(counted, { interval: 100 }).toContain(String(sample));
    server.kill("SIGTERM");
    expect(await ended).toBe(0);
    const events = said
      .trim()
      .split("\n")
      .map((each) => JSON.parse(each).message);
    // Among them stand the trial run of kaizen over the sample, which an end cuts short, and its credibility.
    const ofService = events.filter((event) => !["kaizen_run", "credibility"].includes(event));
    expect(ofService).toEqual(["service_starting", "service_listening", "service_ending"]);
    const { stdout: checked } = await run(command, ["doctor", "--data-dir", "data"], {
      cwd: folder,
      env,
    });
    expect(checked).toMatch(/journal/);
  });

  it("says its version, and tells a Node that is too old", async () => {
    const { stdout } = await run(command, ["--version"], { cwd: folder, env });
    expect(stdout.trim()).toBe(manifest.version);
    const bin = path.join(installed, manifest.bin.trustrank);
    const old = `Object.defineProperty(process.versions, "node", { value: "22.13.1" });`;
    const preload = `data:text/javascript,${encodeURIComponent(old)}`;
    const ended = await run(process.execPath, ["--import", preload, bin, "--version"]).catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(ended).toMatchObject({
      code: 1,
      stderr: "trustrank: needs Node 22.14 or later, this is 22.13.1\n",
    });
  });
});

/**
 * Does the rest of what `npm install` does, without a registry: puts the dependencies beside the
 * package, and its command where `npx` looks; the command's path.
 */
async function linkCommand(): Promise<string> {
  const modules = path.join(folder, "node_modules");
  for (const name of Object.keys(manifest.dependencies)) {
    const link = path.join(modules, name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(ROOT, "node_modules", name), link);
  }
  await mkdir(path.join(modules, ".bin"));
  const command = path.join(modules, ".bin/trustrank");
  await symlink(path.join("../trustrank", manifest.bin.trustrank), command);
  return command;
}
