// The published package: built, packed, unpacked into a project that has nothing else, type-checked
// there as a user's compiler would and run against the real service.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startTestService } from "./_service.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = path.join(ROOT, "node_modules/.bin/tsc");

let service: Service;
let project: string;
let installed: string;

beforeAll(async () => {
  service = await startTestService();
  project = await mkdtemp(path.join(tmpdir(), "trustrank-package-"));
  installed = path.join(project, "node_modules/trustrank");
  await mkdir(installed, { recursive: true });
  await run(TSC, ["-p", "src/client/tsconfig.build.json"], { cwd: ROOT });
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", project];
  await run("npm", pack, { cwd: ROOT, maxBuffer: 1e7 });
  const tarball = (await readdir(project)).find((name) => name.endsWith(".tgz"))!;
  const unpack = ["-xzf", path.join(project, tarball), "--strip-components=1", "-C", installed];
  await run("tar", unpack);
  await writeFile(path.join(project, "package.json"), '{"type":"module","private":true}');
}, 120_000);
afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true, force: true });
});

const PROGRAM = `
import { TrustGateError, TrustGateway, TrustRankClient, withTrustRank } from "trustrank/client";
import { aiSdkApproval } from "trustrank/client/ai-sdk";

const client = new TrustRankClient({
  baseUrl: process.env["BASE_URL"] ?? "",
  apiKey: process.env["API_KEY"] ?? "",
  timeoutMs: 5000,
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
console.log(JSON.stringify({ paid, refused: refused.length, word: answer.word, approval }));
`;

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

it.each([
  ["Node's types", { types: ["node"], typeRoots: [path.join(ROOT, "node_modules/@types")] }],
  ["a browser's types", { types: [], lib: ["es2024", "dom"] }],
])(
  "type-checks with %s and nothing skipped",
  async (name, options) => {
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
  },
  120_000,
);

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
