// Pages about a running service against one that runs: its metrics and the files that it keeps.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endAll, startCommand } from "../cli/_process.ts";
import { promtool } from "../deploy/_promtool.ts";
import { readPage } from "./_generated.ts";
import { namesUnder, plain, rowsUnder } from "./_tables.ts";
import { needs } from "../_needs.ts";

const KEY = "reference-pages-admin-key-0123456789abcdefgh";
const root = mkdtempSync(join(tmpdir(), "trustrank-docs-"));
const dataDir = join(root, "data");
let url = "";
let text = "";

function listFiles(): string[] {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true, encoding: "utf8" }).map(
    (entry) => {
      const path = join(entry.parentPath, entry.name).slice(dataDir.length + 1);
      return entry.isDirectory() ? `${path}/` : path;
    },
  );
}

async function ask(path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const post = { method: "POST", headers, body: JSON.stringify(body) };
  return fetch(`${url}${path}`, body === undefined ? { headers } : post);
}

beforeAll(async () => {
  const own = { TRUSTRANK_ADMIN_KEY: KEY, TRUSTRANK_DISK_RESERVE_MB: "1" };
  const at = ["--port", "0", "--metrics-listen", "127.0.0.1:0", "--data-dir", dataDir];
  const started = startCommand(["serve", "--json", "--no-sample", ...at], own);
  const facts = JSON.parse(await started.firstLine) as { url: string; metrics_url: string };
  ({ url } = facts);
  await ask("/v1/check", { subject: "agent://a/b", stakes: 1 });
  await ask("/v1/keys", { tenant: "acme", scopes: ["score:read"] });
  const parties = { subject: "agent://a/b", reporter: "agent://a/c" };
  await ask("/v1/outcomes", { ...parties, outcome: 1, stakes: 1, grade: "escrow" });
  await ask("/v1/kaizen/run", {});
  await ask("/v1/policy/backtest", {});
  await ask("/v1/query", { sql: "SELECT 1" });
  await ask("/v1/webhooks", { url: "https://hooks.invalid/" });
  text = await (await fetch(`${facts.metrics_url}/metrics`)).text();
}, 60_000);

afterAll(async () => {
  await endAll();
  rmSync(root, { recursive: true, force: true });
});

test("every metric stands on its page, with its type and labels, and no other", () => {
  const page = readPage("docs/reference/metrics.md");
  const stated = rowsUnder(page, "## Metrics").map(
    ([name, type, labels]) => [plain(name!), type!, labels!.replaceAll("`", "")] as const,
  );
  const types = [...text.matchAll(/^# TYPE (trustrank_\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  expect(types).toEqual(stated.map(([name, type]) => `${name} ${type}`));
  for (const [name, , labels] of stated) {
    const sample = new RegExp(`^${name}(?:\\{(.*)\\})? `, "m").exec(text);
    if (sample === null) continue;
    const found = [...(sample[1] ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
    expect(found.join(", "), name).toBe(labels);
  }
});

test("the process and its event loop are measured too", () => {
  for (const name of ["process_cpu_seconds_total", "nodejs_eventloop_lag_p99_seconds"]) {
    expect(text).toMatch(new RegExp(`^${name} [0-9.e-]+$`, "m"));
  }
  expect(text).toContain("# TYPE nodejs_gc_duration_seconds histogram\n");
});

test("promtool finds nothing wrong", needs("promtool"), () => {
  expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, output: "" });
});

test("every file of the data directory stands on its page", async () => {
  const paths = namesUnder(readPage("docs/reference/data-directory.md"), "# The data directory");
  const patterns = paths.map(
    (path) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("<n>", "[0-9a-f]+")}$`),
  );
  const isListed = (file: string) => patterns.some((pattern) => pattern.test(file));
  expect(listFiles().filter((file) => !isListed(file) && !file.endsWith(".tmp"))).toEqual([]);
  const rare =
    /quarantine|bureau-keys|\/nodes\/|dead\.json|quotas|broken|restoring|snap-|\.spool|\.parquet|watches\/k|\.wal$|state\.json/;
  // Some are made beside the first answers.
  const missing = () => {
    const files = listFiles();
    const isFound = (index: number) => files.some((file) => patterns[index]!.test(file));
    return paths.filter((path, index) => !rare.test(path) && !isFound(index));
  };
  await expect.poll(missing).toEqual([]);
});
