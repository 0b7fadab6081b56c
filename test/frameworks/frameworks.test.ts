// The matrix of `npm run check:frameworks` in small: its programs from the packed client against the MCP packages that
// this tree has installed, under this Node, and what it makes of a framework that ignores the gate.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLiveService } from "../client/_live.ts";
import { CLIENT, pack, ROOT, run } from "../client/_package.ts";
import { ADAPTERS } from "./_adapters.ts";
import { type Bench, examine } from "./_cell.ts";
import { type ModelServer, startModelServer } from "./_model-server.ts";
import { formatTable } from "./_table.ts";

let bench: Bench;
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
  const [packed, service] = await Promise.all([pack(CLIENT), startLiveService()]);
  bench = { packed, service, modelUrl: model.baseUrl };
});
afterAll(async () => {
  await Promise.all([bench?.service.stop(), bench?.packed.remove(), model?.stop()]);
});

/** A project with the client as npm installs it, and packages of this tree beside it. */
async function prepare(name: string, packages: readonly string[]): Promise<string> {
  const project = await bench.packed.project(name);
  const flags = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await run("npm", ["install", ...flags, bench.packed.tarball], { cwd: project });
  await mkdir(path.join(project, "node_modules/@modelcontextprotocol"), { recursive: true });
  for (const each of packages) {
    const own = path.join("node_modules", each);
    await symlink(path.join(ROOT, own), path.join(project, own));
  }
  return project;
}

const MCP = ADAPTERS.filter(({ program }) => program.startsWith("mcp-"));

it.each(MCP)("$name obeys and is graded", async (adapter) => {
  const project = await prepare(adapter.program, [adapter.framework, ...adapter.others]);
  const detail = "1 success at stakes 40, grade counterparty";
  expect(await examine(adapter, process.execPath, project, bench)).toEqual({
    result: "obeys",
    detail,
  });
});

describe("a violation", () => {
  const [adapter] = MCP;
  /** Examines a program of the test's own in place of the adapter's. */
  async function examineProgram(name: string, text: string, conflict?: string) {
    const project = await prepare(name, []);
    await writeFile(path.join(project, "own.mjs"), text);
    return examine({ ...adapter!, program: "own" }, process.execPath, project, bench, conflict);
  }
  const print = (found: object) => `console.log(${JSON.stringify(JSON.stringify(found))})`;
  const none = { ran: [], sent: 0, dropped: [] };

  it("is a refused tool that ran, an outcome that is missing, a program that ends early", async () => {
    const connect = { ...none, ran: ["a"] };
    const found = { connect, refuse: connect, escalate: none };
    const silent = await examineProgram("silent-gate", print(found));
    expect(silent.result).toBe("fails");
    expect(silent.detail).toContain("the refused tool ran; on record: nothing");
    const ended = await examineProgram("ends-early", 'throw new Error("no such export")');
    expect(ended).toMatchObject({ result: "fails" });
    expect(ended.detail).toContain("no such export");
  });

  it("is a tool that ran after npm had warned of the version, and a refusal is none", async () => {
    const ran = { connect: none, refuse: { ...none, ran: ["a"] }, escalate: none };
    const conflict = 'npm: peerOptional x@"^2.0.0" from @trustrank/client@0.1.0';
    expect((await examineProgram("warned", print(ran), conflict)).result).toBe("fails");
    const sentence = `\`hooks\` needs ${adapter!.framework} ^2.4.0, but 1.0.0 is installed: no`;
    const text = `throw new TypeError(${JSON.stringify(sentence)})`;
    const refused = { result: "refuses", detail: sentence };
    expect(await examineProgram("refused", text)).toEqual(refused);
  });
});

it("has a model that calls the tool once, whole and streamed", async () => {
  const ask = async (messages: object[], stream: boolean) => {
    const body = JSON.stringify({ messages, stream });
    return (await fetch(`${model.baseUrl}/chat/completions`, { method: "POST", body })).text();
  };
  const prompt = { role: "user", content: "pay agent://test/refuse" };
  for (const stream of [false, true]) {
    expect(await ask([prompt], stream)).toContain("tool_calls");
    expect(await ask([prompt, { role: "tool", content: "sent" }], stream)).toContain('"done"');
  }
});

it("prints a table, and below it why a cell does not obey", () => {
  const cell = { adapter: "A", column: "newest", version: "1.0.0" };
  const other = {
    ...cell,
    column: "default on Node 20",
    result: "refuses",
    detail: "too old",
  } as const;
  expect(formatTable([other, { ...cell, result: "obeys", detail: "" }])).toBe(
    `| adapter | default on Node 20 | newest |
|---|---|---|
| A | 1.0.0, refuses | 1.0.0, obeys |

- A, default on Node 20: too old
`,
  );
});
