// `npm run check:frameworks`: every adapter of the packed client on the versions of its framework that npm gives
// users, under Node 20, under Node 22 and the newest, and on the lowest of its peer range. Needs the npm registry and a Node 20 as the system's (or
// `NODE_20`). `--only TEXT` runs the adapters whose name holds it, `--json` prints the cells. Exits 1 on a violation.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import setup from "../cli/_build-command.ts";
import { startLiveService } from "../client/_live.ts";
import { CLIENT, pack, ROOT } from "../client/_package.ts";
import { ADAPTERS, type AdapterCase } from "./_adapters.ts";
import { type Bench, type Cell, type Column, runCell } from "./_cell.ts";
import { startModelServer } from "./_model-server.ts";
import { formatTable } from "./_table.ts";

const run = promisify(execFile);

/** npm's script: it runs under every Node of the matrix, and picks versions by that Node. */
async function findNpm(): Promise<string> {
  const { stdout } = await run("npm", ["root", "--global"]);
  return path.join(stdout.trim(), "npm/bin/npm-cli.js");
}

async function findNode(major: number, scratch: string): Promise<string> {
  const own = path.join(ROOT, "node_modules/node/bin/node");
  const candidates = [process.env[`NODE_${major}`], "/usr/bin/node", "/usr/local/bin/node", own];
  for (const node of candidates) {
    if (node === undefined || !existsSync(node)) continue;
    const { stdout } = await run(node, ["--version"]);
    if (stdout.startsWith(`v${major}.`)) return realpath(node);
  }
  // The registry has Node's programs as packages; the script of the package puts the right one in place.
  const folder = path.join(scratch, `node-${major}`);
  const flags = ["--no-audit", "--no-fund", "--prefix", folder];
  await run("npm", ["install", ...flags, `node@${major}`], { maxBuffer: 1e7 });
  return path.join(folder, "node_modules/node/bin/node");
}

async function listColumns(adapters: readonly AdapterCase[], scratch: string): Promise<Column[][]> {
  const [npm, node20, node22] = [
    await findNpm(),
    await findNode(20, scratch),
    await findNode(22, scratch),
  ];
  const newer = new Map<number, string>();
  for (const { newestNode: major } of adapters)
    if (major !== undefined) newer.set(major, await findNode(major, scratch));
  return adapters.map(({ newestNode, oldest }) => [
    { name: "default on Node 20", node: node20, npm, version: "" },
    { name: "default on Node 22", node: node22, npm, version: "" },
    { name: "newest", node: newer.get(newestNode ?? 0) ?? node22, npm, version: "@latest" },
    ...(oldest === undefined
      ? []
      : [{ name: "oldest", node: node22, npm, version: "oldest" as const }]),
  ]);
}

async function runMatrix(adapters: readonly AdapterCase[], bench: Bench, scratch: string) {
  const columns = await listColumns(adapters, scratch);
  const cells: Cell[] = [];
  for (const [at, adapter] of adapters.entries()) {
    let last: { cell: Cell; node: string } | undefined;
    for (const column of columns[at]!) {
      // The newest version is often what npm picked by itself under the same Node.
      const isSame =
        column.version === "@latest" &&
        last?.node === column.node &&
        last.cell.version === (await findLatest(adapter));
      const cell = isSame
        ? { ...last!.cell, column: column.name }
        : await runCell(adapter, column, bench);
      cells.push(cell);
      last = { cell, node: column.node };
      process.stderr.write(`${cell.adapter}, ${cell.column}: ${cell.version} ${cell.result}\n`);
    }
  }
  return cells;
}

async function findLatest({ framework }: AdapterCase): Promise<string> {
  return (await run("npm", ["view", `${framework}@latest`, "version"])).stdout.trim();
}

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, json: { type: "boolean", default: false } },
});
setup();
const scratch = await mkdtemp(path.join(tmpdir(), "trustrank-frameworks-"));
const [packed, service, model] = await Promise.all([
  pack(CLIENT),
  startLiveService(),
  startModelServer(),
]);
try {
  const adapters = ADAPTERS.filter(({ name }) => name.includes(values.only));
  const bench = { packed, service, modelUrl: model.baseUrl };
  const cells = await runMatrix(adapters, bench, scratch);
  process.stdout.write(values.json ? `${JSON.stringify(cells)}\n` : formatTable(cells));
  if (cells.some(({ result }) => result === "fails")) process.exitCode = 1;
} finally {
  await Promise.all([service.stop(), model.stop(), packed.remove()]);
  await rm(scratch, { recursive: true, force: true });
}
