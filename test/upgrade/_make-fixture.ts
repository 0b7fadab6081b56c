// Makes a data directory as an earlier commit of this repository writes it, small enough to keep:
//
//   node test/upgrade/_make-fixture.ts COMMIT
//
// builds that commit in a worktree of its own, serves with it, makes two API keys and revokes one,
// reports the outcomes of _reports.ts, registers a source, ends, and keeps the files that cannot be made
// again in test/upgrade/fixtures/COMMIT, with what the service said of the agents in told.json. Run by
// hand when a release is cut. Outcomes are taken for a week: set SETTLED_MS anew, and the others with it.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SETTLED_MS, REPORTS, SOURCE } from "./_reports.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ADMIN = "upgrade-fixture-admin-key-0123456789abcdefgh";
const KEPT = ["journal", "bureau.key", "keys.json", "service-id"];

const [commit = "HEAD"] = process.argv.slice(2);
const short = execFileSync("git", ["rev-parse", "--short=8", commit], {
  cwd: ROOT,
  encoding: "utf8",
}).trim();
const folder = mkdtempSync(join(tmpdir(), "trustrank-fixture-"));
const tree = join(folder, "tree");
const dataDir = join(folder, "data");

async function main(): Promise<void> {
  execFileSync("git", ["worktree", "add", "--detach", tree, commit], {
    cwd: ROOT,
    stdio: "ignore",
  });
  try {
    symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
    execFileSync("npm", ["run", "--silent", "build"], { cwd: tree, stdio: "inherit" });
    const told = await played();
    const target = join(ROOT, "test/upgrade/fixtures", short);
    rmSync(target, { recursive: true, force: true });
    for (const name of KEPT) {
      if (existsSync(join(dataDir, name)))
        cpSync(join(dataDir, name), join(target, name), { recursive: true });
    }
    // Zeros that keep room on the disk.
    rmSync(join(target, "journal/ballast"), { force: true });
    writeFileSync(join(target, "told.json"), `${JSON.stringify(told, null, 2)}\n`);
    process.stdout.write(`${target}\n`);
  } finally {
    execFileSync("git", ["worktree", "remove", "--force", tree], { cwd: ROOT });
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Serves with the old tree and does everything; resolves with what it said of every agent. */
async function played() {
  const parameters = [
    "src/cli/trustrank.ts",
    "serve",
    "--port",
    "0",
    "--json",
    "--no-sample",
    "--data-dir",
    dataDir,
  ];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...parameters], {
    cwd: tree,
    env: { PATH: process.env["PATH"] ?? "", TRUSTRANK_ADMIN_KEY: ADMIN },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece: Buffer) => {
      text += piece.toString();
      const [line, rest] = text.split("\n", 2);
      if (rest !== undefined) resolve((JSON.parse(line!) as { url: string }).url);
    });
    child.once("exit", () => reject(new Error(`it ended: ${text}`)));
  });
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Record<string, never>;
  };
  const { key_id: revoked } = await ask("POST", "/v1/keys", {
    tenant: "acme",
    scopes: ["score:read"],
  });
  await ask("POST", "/v1/keys", { tenant: "acme", scopes: ["score:read"], label: "kept" });
  await ask("DELETE", `/v1/keys/${String(revoked)}`);
  for (const report of REPORTS) await ask("POST", "/v1/outcomes", report);
  await ask("PUT", `/v1/evidence/${encodeURIComponent(SOURCE.id)}`, SOURCE.body);
  const agents: Record<string, unknown> = {};
  for (const subject of new Set(REPORTS.map((report) => report.subject))) {
    const { evidence } = await ask("GET", `/v1/agents/${encodeURIComponent(subject)}`);
    agents[subject] = evidence;
  }
  const { version } = await ask("GET", "/healthz");
  child.kill("SIGTERM");
  await ended;
  return { commit: short, version, settled_ms: SETTLED_MS, agents };
}

await main();
