// The client's package in a project that has nothing else, run against the real service in Node, in a
// browser and in Deno.
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { needs } from "../_needs.ts";
import { runInBrowser } from "./_browser.ts";
import { type LiveService, startLiveService } from "./_live.ts";
import { CLIENT, pack, type Packed, run } from "./_package.ts";
import { PRINTED, PROGRAM } from "./_program.ts";

let service: LiveService;
let packed: Packed;
let project: string;
let installed: string;

beforeAll(async () => {
  [service, packed] = await Promise.all([startLiveService(), pack(CLIENT)]);
  project = await packed.project("project");
  installed = await packed.unpack(project);
});
afterAll(async () => {
  await service?.stop();
  await packed?.remove();
});

/** Everything a user's page or program does, in plain JavaScript; gives `result`. */
const TOUR = `
import * as trustrank from "@trustrank/client";
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
  expect(JSON.parse(stdout)).toEqual(PRINTED);
});

it("does all it does in Node", async () => {
  const text = tourFor("node", JSON.stringify(service.baseUrl));
  await writeFile(path.join(project, "tour.mjs"), `${text}console.log(JSON.stringify(result));`);
  const { stdout } = await run(process.execPath, ["tour.mjs"], { cwd: project });
  expect(JSON.parse(stdout)).toEqual(TOUR_RESULT);
});

it("does all it does in a browser", needs("chromium"), async () => {
  const entry = "/node_modules/@trustrank/client/build/esm/client/entry.js";
  const result = await runInBrowser({
    project,
    imports: { "@trustrank/client": entry },
    // Another origin would need the service to allow it; pages talk to a gateway of their own.
    program: `${tourFor("browser", "location.origin")}finish(result);`,
    service: service.baseUrl,
  });
  expect(result).toEqual(TOUR_RESULT);
});

it("does all it does in Deno", needs("deno"), async () => {
  const text = tourFor("deno", JSON.stringify(service.baseUrl));
  await writeFile(path.join(project, "tour.mjs"), `${text}console.log(JSON.stringify(result));`);
  const args = ["run", "--allow-net", "--allow-read", "--node-modules-dir=manual", "tour.mjs"];
  const { stdout } = await run("deno", args, { cwd: project });
  expect(JSON.parse(stdout)).toEqual(TOUR_RESULT);
});

/** What other runtimes lack; a look whether it is there, by an optional chain from `globalThis`, is none. */
const LACKING = /(?<!getBuiltinModule\?\.\(")node:|\bBuffer\b|\bprocess\b(?!\?\.| \} = globalThis)/;

it("reaches for nothing that a browser or an edge worker lacks", async () => {
  const folder = path.join(installed, "build/esm");
  const names = (await readdir(folder, { recursive: true })).filter(
    (name) =>
      name.endsWith(".js") &&
      !name.startsWith("client/conformance/") &&
      // An entry of its own, for callers on the machine of the service.
      name !== "client/socket-fetch.js",
  );
  expect(names).toContain("client/entry.js");
  for (const name of names) {
    const text = await readFile(path.join(folder, name), "utf8");
    const code = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
    expect([name, LACKING.exec(code)?.[0]]).toEqual([name, undefined]);
    const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, target]) => target!);
    expect(imported.filter((target) => !target.startsWith("."))).toEqual([]);
  }
});
