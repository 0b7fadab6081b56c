// The command line over real processes: first start, commands through the server, an orderly end,
// commands on the files, a second start.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { endAll, runCommand, startCommand } from "./_process.ts";
import type { Started } from "./_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-serve-"));
const dataDir = join(folder, "data");
const at = ["--data-dir", dataDir];

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const sample = new URL("../../data/sample/outcomes.ndjson", import.meta.url);
const SAMPLE_COUNT = readFileSync(sample, "utf8").trim().split("\n").length;

interface Facts {
  url: string;
  admin_key: string | null;
  sample: number;
  replayed: number;
  agents: number;
}

async function startServer(...more: string[]): Promise<{ server: Started; facts: Facts }> {
  const server = startCommand(["serve", "--json", "--port", "0", ...at, ...more]);
  return { server, facts: JSON.parse(await server.firstLine) as Facts };
}

async function verdictOf(facts: Facts, key: string, agentId: string): Promise<string> {
  const response = await fetch(`${facts.url}/v1/trust/verify`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ agent_id: agentId, action: "a.b", tool_level: "L2", context: {} }),
  });
  if (!response.ok) return `status ${response.status}`;
  const body = (await response.json()) as { policy_action: { verdict: string } };
  return body.policy_action.verdict;
}

const ROWS = [5, 6].map((stakes) =>
  JSON.stringify({
    subject: "agent://a/x",
    reporter: "agent://b/y",
    outcome: 1,
    stakes,
    grade: "counterparty",
    settled_at: "2020-01-01T00:00:00Z",
  }),
);

describe("a service", () => {
  const file = join(folder, "rows.ndjson");
  let server: Started;
  let facts: Facts;
  let key: string;

  beforeAll(async () => {
    writeFileSync(file, `${ROWS.join("\n")}\nnot an outcome\n`);
    ({ server, facts } = await startServer());
    key = facts.admin_key!;
  });

  it("starts with the sample history and an admin key", async () => {
    expect(facts).toMatchObject({ sample: SAMPLE_COUNT, agents: expect.any(Number) });
    expect(key).toMatch(/^tr_live_/);
    expect(await verdictOf(facts, key, "agent://globex/price-scout")).toBe("CHALLENGE");
    expect(await verdictOf(facts, key, "agent://acme/ledger-sync")).toBe("ALLOW");
  });

  it("owns its data directory", async () => {
    const second = await runCommand(["serve", "--port", "0", "--owner-wait", "0.1", ...at]);
    expect(second.code).toBe(1);
    const said = second.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const events = ["service_starting", "data_directory_waiting", "service_failed"];
    expect(said.map(({ message }) => message)).toEqual(events);
    expect(said[2].detail).toMatch(/in use by pid \d+ on host `.+`, started 20\S+Z$/);
  });

  it("is not asked by a command on a copy of its directory", async () => {
    const copy = join(folder, "copy");
    cpSync(dataDir, copy, { recursive: true });
    const listed = await runCommand(["keys", "list", "--json", "--data-dir", copy]);
    expect(listed.code).toBe(0);
    expect(listed.stderr).toMatch(/is a copy of a directory that pid \d+ on host .* owned/);
    expect(listed.stderr).not.toContain("the server at");
  });

  it("answers commands, which say that they asked it", async () => {
    const created = await runCommand(["keys", "create", "--tenant", "acme", ...at], {
      TRUSTRANK_KEY: key,
    });
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^tr_live_\S+\n$/) });
    expect(created.stderr).toContain(`the server at ${facts.url} holds the data directory`);
    const made = created.stdout.trim();
    expect(await verdictOf(facts, made, "agent://globex/price-scout")).toBe("CHALLENGE");

    const listed = await runCommand(["keys", "list", "--json", ...at, "--key", key]);
    const keys = JSON.parse(listed.stdout) as { key_id: string; tenant: string }[];
    expect(keys.map((each) => each.tenant)).toEqual(["operator", "acme"]);

    const id = keys[1]!.key_id;
    const revoked = await runCommand(["keys", "revoke", id, "--url", facts.url, "--key", key]);
    expect(revoked).toMatchObject({ code: 0, stdout: `revoked ${id} of acme\n` });
    expect(await verdictOf(facts, made, "agent://a/x")).toBe("status 401");
  });

  it("refuses commands without a key, in one sentence", async () => {
    const keyless = await runCommand(["keys", "list", ...at]);
    expect(keyless.code).toBe(1);
    expect(keyless.stderr).toContain("give --key or set TRUSTRANK_KEY");
    const stranger = await runCommand(["keys", "list", ...at, "--key", "wrong"]);
    expect(stranger.code).toBe(1);
    expect(stranger.stderr).toContain("401 unauthenticated");
  });

  it("takes an import once, whether it or the files are asked", async () => {
    const run = () => runCommand(["import", file, "--json", ...at, "--key", key]);
    const first = JSON.parse((await run()).stdout);
    expect(first).toMatchObject({ source: "import:rows.ndjson", accepted: 2, duplicates: 0 });
    expect(first.rejected).toMatchObject([{ line: 3 }]);
    expect(JSON.parse((await run()).stdout)).toMatchObject({ accepted: 0, duplicates: 2 });
  });

  it("answers SQL in every format", async () => {
    const sql =
      "SELECT subject, sum(stakes) AS total FROM outcomes WHERE subject = 'agent://a/x' GROUP BY 1";
    const ask = (format: string) =>
      runCommand(["query", sql, "--format", format, ...at, "--key", key]);
    await expect
      .poll(async () => (await ask("csv")).stdout)
      .toBe("subject,total\nagent://a/x,11\n");
    expect((await ask("table")).stdout).toMatch(/^subject +total\n-+ +-+\nagent:\/\/a\/x +11\n$/);
    expect(JSON.parse((await ask("json")).stdout)).toEqual([{ subject: "agent://a/x", total: 11 }]);
    expect((await ask("ndjson")).stdout).toBe('{"subject":"agent://a/x","total":11}\n');
    expect((await ask("parquet")).stdout).toMatch(/^PAR1[^]*PAR1$/);
    for (const format of ["table", "ndjson", "parquet"]) {
      const drop = ["query", "DROP TABLE outcomes", "--format", format];
      const bad = await runCommand([...drop, ...at, "--key", key]);
      expect([bad.code, bad.stdout]).toEqual([1, ""]);
      expect(bad.stderr).toContain("query_rejected");
    }
  });

  it("cuts no lines where other forms are cut, and says so of those", async () => {
    const ask = (format: string) =>
      runCommand(["query", "FROM range(10001)", "--format", format, ...at, "--key", key]);
    expect((await ask("ndjson")).stdout.split("\n")).toHaveLength(10_002);
    expect((await ask("parquet")).stderr).toContain("only the first rows");
    expect((await ask("csv")).stderr).toContain("only the first 10000 rows");
  });

  it("writes the same CSV over HTTP and on the command line, NULL apart from no text", async () => {
    const sql = `SELECT NULL AS "none", '' AS empty, 'a, "b"' AS quoted, true AS yes, [1] AS list`;
    const lines = ["none,empty,quoted,yes,list", ',"","a, ""b""",true,[1]', ""];
    const command = await runCommand(["query", sql, "--format", "csv", ...at, "--key", key]);
    expect(command.stdout).toBe(lines.join("\n"));
    const response = await fetch(`${facts.url}/v1/query`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ sql, format: "csv" }),
    });
    expect(await response.text()).toBe(lines.join("\r\n"));
  });

  it("ends in order on SIGTERM", async () => {
    server.process.kill("SIGTERM");
    const ended = await server.ended;
    expect(ended.code).toBe(0);
    expect(readdirSync(dataDir)).not.toContain("server.json");
  });

  it("leaves files that commands can use by themselves", async () => {
    const sql = "SELECT count(*) AS n FROM outcomes";
    const counted = await runCommand(["query", sql, "--format", "json", ...at]);
    expect(JSON.parse(counted.stdout)).toEqual([{ n: SAMPLE_COUNT + 2 }]);
    const lines = await runCommand(["query", sql, "--format", "ndjson", ...at]);
    expect(lines.stdout).toBe(`{"n":${SAMPLE_COUNT + 2}}\n`);
    const parquet = await runCommand(["query", sql, "--format", "parquet", ...at]);
    expect(parquet.stdout).toMatch(/^PAR1[^]*PAR1$/);
    const again = await runCommand(["import", file, "--json", ...at]);
    expect(JSON.parse(again.stdout)).toMatchObject({ accepted: 0, duplicates: 2 });
    const checked = await runCommand(["doctor", "--json", ...at]);
    expect(checked.code).toBe(0);
    expect(JSON.parse(checked.stdout)).toMatchObject({ ok: true });
    const listed = await runCommand(["keys", "list", ...at]);
    expect(listed.stdout).toMatch(/^id +tenant/);
  });

  it("starts again with everything it had, and keeps its key to itself", async () => {
    const second = await startServer();
    expect(second.facts).toMatchObject({ admin_key: null, sample: 0, replayed: SAMPLE_COUNT + 2 });
    expect(second.facts.agents).toBe(facts.agents + 2);
    expect(await verdictOf(second.facts, key, "agent://globex/price-scout")).toBe("CHALLENGE");
    second.server.process.kill("SIGINT");
    second.server.process.kill("SIGTERM");
    expect((await second.server.ended).code).toBe(0);
  });

  it("says at a later start where the key is and how to make another, and no key", async () => {
    const started = startCommand(["serve", "--port", "0", ...at]);
    const url = (await started.firstLine).match(/http:\S+/)![0];
    started.process.kill("SIGTERM");
    const { code, stdout } = await started.ended;
    expect(code).toBe(0);
    expect(stdout).not.toContain("tr_live_");
    expect(stdout).toMatch(/admin key: shown once, when it was made on \d{4}-\d\d-\d\d \(id /);
    expect(stdout).toMatch(/^ {2}node \S+ keys create --scopes admin --first-party --data-dir /m);
    expect(stdout).toContain(`console, opens once within 5 minutes: ${url}/console#login=`);
    expect(stdout).toContain(`"agent_id":"agent://globex/price-scout"`);
  });

  it("takes the operator's own admin key and never prints it", async () => {
    const own = "k".repeat(40);
    const open = ["--metrics-listen", "0.0.0.0:0"];
    const other = [
      "serve",
      "--port",
      "0",
      "--no-sample",
      "--data-dir",
      join(folder, "own"),
      ...open,
    ];
    const started = startCommand(other, { TRUSTRANK_ADMIN_KEY: own });
    const url = (await started.firstLine).match(/http:\S+/)![0];
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${own}` } });
    expect(response.status).toBe(200);
    started.process.kill("SIGTERM");
    const ended = await started.ended;
    expect(ended.stdout + ended.stderr).not.toContain(own);
    expect(ended.stdout).not.toContain("tr_live_");
    expect(ended.stdout).toContain("admin key: the one in TRUSTRANK_ADMIN_KEY\n");
    expect(ended.stdout).toContain(`"agent_id":"agent://test/refuse"`);
    expect(ended.stderr).toMatch(/"metrics_listener_open","address":"0\.0\.0\.0"/);
  });
});
