// The published package, in projects that have nothing else: type-checked as a user's compiler
// would, run against the real service in Node, in a browser and in Deno, and its command started.
import { execFileSync, spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { TrustRankClient } from "../../src/client/client.ts";
import { browser } from "../_chromium.ts";
import { runInBrowser } from "./_browser.ts";
import { type LiveService, startLiveService } from "./_live.ts";
import { linkCommand, type Packed, packTree, ROOT, run, TSC } from "./_package.ts";

let service: LiveService;
let packed: Packed;
let project: string;
let installed: string;

beforeAll(async () => {
  [service, packed] = await Promise.all([startLiveService(), packTree()]);
  project = await packed.install("project");
  installed = path.join(project, "node_modules/trustrank");
});
afterAll(async () => {
  await service?.stop();
  await packed?.remove();
});

const PROGRAM = `
import {
  generateSigningKey,
  type OutcomeSigner,
  TrustGateError,
  TrustGateway,
  TrustRankClient,
  withTrustRank,
} from "trustrank/client";
import { aiSdkApproval } from "trustrank/client/ai-sdk";

const client = new TrustRankClient({
  baseUrl: process.env["BASE_URL"] ?? "",
  apiKey: process.env["API_KEY"] ?? "",
  timeoutMs: 60_000,
});
const pay = withTrustRank(async (to: string, amount: number) => to + amount, {
  agentId: (to) => to,
  stakes: (_to, amount) => amount,
  client,
});
const paid: string = await pay("agent://test/connect", 5);
let refused: readonly string[] = [];
try {
  await pay("agent://test/refuse", 5);
} catch (error) {
  if (error instanceof TrustGateError) refused = error.reasons;
}
const gateway = new TrustGateway({ client });
const answer = await gateway.authorize({
  agentId: "agent://test/refuse",
  action: "payments.transfer",
  toolLevel: "L3",
});
const approval = typeof aiSdkApproval;
export async function enrol(): Promise<OutcomeSigner> {
  const { keyPair, jwk } = await generateSigningKey();
  const kept: string = jwk.d;
  return client.registerKey({ keyPair, agentId: "agent://acme/" + kept.length });
}
console.log(JSON.stringify({ paid, refused: refused.length, word: answer.word, approval }));
`;

/** Everything a user's page or program does, in plain JavaScript; gives `result`. */
const TOUR = `
import * as trustrank from "trustrank/client";
const { TrustGateError, TrustGateway, TrustRankClient, TrustRankError } = trustrank;
const [connect, refuse] = ["agent://test/connect", "agent://test/refuse"];
const me = { agentId: "agent://acme/" + where, timeoutMs: 60_000, baseUrl, apiKey };
const client = new TrustRankClient(me);
const codeOf = (promise) => promise.then(() => "none", (error) => error.code ?? error.name);
const verdict = await client.verify({ agent_id: refuse, action: "a.b", tool_level: "L3" });
const check = await client.check(connect, { stakes: 5 });
const both = await client.handshake(connect, refuse, { stakes: 5 });
const gate = await codeOf(client.require(refuse, { stakes: 5 }));
const gateway = new TrustGateway({ client });
const answer = await gateway.authorize({ agentId: connect, action: "a.b", toolLevel: "L2" });
const { keyPair } = await trustrank.generateSigningKey();
const signer = await client.registerKey({ keyPair });
const reporter = new TrustRankClient({ ...me, signer });
const outcome = { reporter: me.agentId, outcome: 1, stakes: 5, grade: "counterparty" };
const [first, second] = await reporter.reportOutcomes([
  { ...outcome, subject: "agent://shop/seller" },
  { ...outcome, subject: me.agentId },
]);
await client.recordProvenance({
  agent_id: connect, action: "a.b", content: "\\u00fc", cited_sources: [],
});
const away = new TrustRankClient({ ...me, baseUrl: "http://127.0.0.1:9", timeoutMs: 2000 });
const result = {
  verdict: verdict.policy_action.verdict, allowed: check.allowed, decision: both.decision, gate,
  word: answer.word, signature: first.receipt.signature, second: second.error.code,
  outage: await codeOf(away.check(connect, { stakes: 5 })),
};
`;
const TOUR_RESULT = {
  verdict: "BLOCK",
  allowed: true,
  decision: "refuse",
  gate: "TrustGateError",
  word: "ALLOW",
  signature: "reporter",
  second: "self_report",
  outage: "unreachable",
};

/** The same program for a runtime that has arguments of its own to say where the service is. */
const tourFor = (where: string, baseUrl: string) =>
  `const where = "${where}";\nconst baseUrl = ${baseUrl};\nconst apiKey = "${service.apiKey}";\n` +
  TOUR;

it("runs in a project of its own, without any other package", async () => {
  const program = path.join(project, "program.mts");
  await writeFile(program, PROGRAM);
  const { version } = process;
  expect(version).toMatch(/^v2[2-9]/);
  const env = { PATH: process.env["PATH"], BASE_URL: service.baseUrl, API_KEY: service.apiKey };
  const args = ["--disable-warning=ExperimentalWarning", program];
  const { stdout } = await run(process.execPath, args, { cwd: project, env });
  expect(JSON.parse(stdout)).toEqual({
    paid: "agent://test/connect5",
    refused: 1,
    word: "BLOCK",
    approval: "function",
  });
});

it("does all it does in Node", async () => {
  const text = tourFor("node", JSON.stringify(service.baseUrl));
  await writeFile(path.join(project, "tour.mjs"), `${text}console.log(JSON.stringify(result));`);
  const { stdout } = await run(process.execPath, ["tour.mjs"], { cwd: project });
  expect(JSON.parse(stdout)).toEqual(TOUR_RESULT);
});

// Skipped without a browser: install the Debian package `chromium`.
it.skipIf(browser === undefined)("does all it does in a browser (chromium)", async () => {
  const entry = "/node_modules/trustrank/build/client/client/entry.js";
  const result = await runInBrowser({
    project,
    imports: { "trustrank/client": entry },
    // Another origin would need the service to allow it; pages talk to a gateway of their own.
    program: `${tourFor("browser", "location.origin")}finish(result);`,
    service: service.baseUrl,
  });
  expect(result).toEqual(TOUR_RESULT);
});

const hasDeno = (() => {
  try {
    execFileSync("deno", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

// Skipped without it: install Deno 2.
it.skipIf(!hasDeno)("does all it does in Deno", async () => {
  const text = tourFor("deno", JSON.stringify(service.baseUrl));
  await writeFile(path.join(project, "tour.mjs"), `${text}console.log(JSON.stringify(result));`);
  const args = ["run", "--allow-net", "--allow-read", "--node-modules-dir=manual", "tour.mjs"];
  const { stdout } = await run("deno", args, { cwd: project });
  expect(JSON.parse(stdout)).toEqual(TOUR_RESULT);
});

it.each([
  ["Node's types", { types: ["node"], typeRoots: [path.join(ROOT, "node_modules/@types")] }],
  ["a browser's types", { types: [], lib: ["es2024", "dom"] }],
  [
    "a bundler's resolution",
    { types: [], lib: ["es2024", "dom"], module: "esnext", moduleResolution: "bundler" },
  ],
])("type-checks with %s and nothing skipped", async (name, options) => {
  const isNode = name.startsWith("Node");
  const text = isNode ? PROGRAM : PROGRAM.replaceAll(/process\.env\["(\w+)"\] \?\? ""/g, '"$1"');
  await writeFile(path.join(project, "typed.mts"), `${text}\nexport const wrong: number = paid;`);
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    ...options,
  };
  const config = JSON.stringify({ compilerOptions, files: ["typed.mts"] });
  await writeFile(path.join(project, "tsconfig.json"), config);
  const { stdout } = await run(TSC, ["-p", "."], { cwd: project }).catch(
    (error: { stdout: string }) => error,
  );
  // Node's own types need not be sound together with every library: ours must be.
  const found = stdout.split("\n").filter((line) => /trustrank|typed\.mts/.test(line));
  // The one line that is wrong on purpose shows that the compiler looked.
  expect(found.map((line) => line.replace(/\(.*?\)/, ""))).toEqual([
    "typed.mts: error TS2322: Type 'string' is not assignable to type 'number'.",
  ]);
});

it("reaches for nothing that a browser or an edge worker lacks", async () => {
  const folder = path.join(installed, "build/client/client");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  expect(names).toContain("entry.js");
  for (const name of names) {
    const text = await readFile(path.join(folder, name), "utf8");
    const code = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
    expect([name, code.match(/node:|\bBuffer\b|\bprocess\b/)]).toEqual([name, null]);
    const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, target]) => target!);
    expect(imported.filter((target) => !target.startsWith("."))).toEqual([]);
  }
});

describe("the command", () => {
  // The command's first line asks for `node`, and this is the one that it is to find.
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin` };
  let folder: string;
  let command: string;
  beforeAll(async () => {
    folder = await packed.install("command");
    command = await linkCommand(folder);
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
    expect([await ended, said]).toEqual([0, "SIGTERM: draining\n"]);
    const { stdout: checked } = await run(command, ["doctor", "--data-dir", "data"], {
      cwd: folder,
      env,
    });
    expect(checked).toMatch(/journal/);
  });

  it("says its version, and tells a Node that is too old", async () => {
    const { stdout } = await run(command, ["--version"], { cwd: folder, env });
    expect(stdout.trim()).toBe(manifest.version);
    const bin = path.join(folder, "node_modules/trustrank/build/package/src/cli/bin.js");
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
