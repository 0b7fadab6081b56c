// Every bench and evaluation in smoke mode: they cannot rot, and their last line stays one JSON
// object with the members that people and regression bars read.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { needs, needsThat } from "../_needs.ts";

const run = promisify(execFile);

async function lastLine(script: string, ...args: string[]): Promise<Record<string, unknown>> {
  const flags = ["--disable-warning=ExperimentalWarning", script, ...args];
  // A machine that is busy with other tests makes queues of its own.
  const env = { ...process.env, TRUSTRANK_QUEUE_MS_MAX: "0" };
  const { stdout } = await run(process.execPath, flags, { maxBuffer: 1e7, env });
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!) as Record<string, unknown>;
}

/** A small market with a seed: honest sellers, and one in ten who fails most of the time. */
function writeRatings(): string {
  let state = 12_345;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
  const lines: string[] = [];
  for (let i = 0; i < 3000; i++) {
    const target = Math.floor(random() * 60);
    const source = 100 + Math.floor(random() * 200);
    const fails = random() < (target % 10 === 0 ? 0.7 : 0.04);
    const rating = (fails ? -1 : 1) * (1 + Math.floor(random() * 10));
    lines.push(`${source},${target},${rating},${1_600_000_000 + i * 3600}`);
  }
  const file = path.join(mkdtempSync(path.join(tmpdir(), "trustrank-eval-")), "ratings.csv");
  writeFileSync(file, lines.join("\n"));
  return file;
}

test.concurrent("eval:trust learns a small market better than the constant and Beta baselines", async () => {
  const report = await lastLine("bench/eval-trust.ts", "--file", writeRatings());
  expect(report).toMatchObject({ rows: 3000, test_rows: 600, agents: 260 });
  const check = report["check"] as { auc: number; log_loss: number; fpr_refused: number };
  const baselines = report["baselines"] as { constant_log_loss: number };
  expect(check.auc).toBeGreaterThan(0.75);
  expect(check.log_loss).toBeLessThan(baselines.constant_log_loss);
});

test.concurrent("eval:trust --robust: with credibility invented agents buy little", async () => {
  const file = writeRatings();
  const report = await lastLine("bench/eval-trust.ts", "--file", file, "--robust");
  const lifts = report["sybil"] as Record<string, number>;
  expect(lifts["20x5_lift_points"]).toBeLessThan(30);
  expect(lifts["200x20_lift_points"]).toBeLessThan(35);
  const check = report["check"] as { auc: number };
  expect(check.auc).toBeGreaterThan(0.7);
});

test.concurrent("eval:trust --voices: vouched signers predict as an import does, tenants of one rater otherwise", async () => {
  const file = writeRatings();
  const [unsigned, vouched, tenants] = (await Promise.all(
    ["import", "vouched", "tenants"].map((voices) =>
      lastLine("bench/eval-trust.ts", "--file", file, "--voices", voices),
    ),
  )) as { voices: string; check: { auc: number }; handshake: { auc: number } }[];
  expect(tenants!.voices).toBe("tenants");
  for (const side of ["check", "handshake"] as const) {
    expect(vouched![side].auc).toBeGreaterThan(unsigned![side].auc - 0.002);
    expect(tenants![side].auc).not.toBe(unsigned![side].auc);
  }
});

test.concurrent("eval:trust refuses voices that it does not know, and those beside --robust", async () => {
  const file = writeRatings();
  for (const flags of [
    ["--voices", "nobody"],
    ["--voices", "vouched", "--robust"],
  ]) {
    const started = lastLine("bench/eval-trust.ts", "--file", file, ...flags);
    await expect(started).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^usage: eval:trust /),
    });
  }
});

const CLONE = existsSync(".git") ? needs("git") : needsThat(false, "this is no clone of git");

test.concurrent("bench:compare: a revision and this tree, figure by figure", CLONE, async () => {
  const flags = ["HEAD", "--suite", "kernel", "--rounds", "6", "--", "--smoke"];
  const { figures, above } = await lastLine("bench/compare.ts", ...flags);
  expect(above).toEqual([]);
  const [comparison] = Object.values(figures as Record<string, Record<string, number>>);
  expect(comparison!["low"]).toBeGreaterThan(0);
  expect(comparison!["high"]).toBeGreaterThanOrEqual(comparison!["low"]!);
});

test.concurrent("bench:path: steps of the echo, and parts of the service", async () => {
  const { steps, parts } = (await lastLine("bench/path.ts", "--smoke")) as {
    steps: Record<string, { ratio: { median: number } }>;
    parts: Record<string, Record<string, number>>;
  };
  expect(steps["echo"]!.ratio.median).toBe(1);
  expect(steps["verify, denied"]!.ratio.median).toBeGreaterThan(0);
  expect(parts["denied"]!["policy and verdict"]).toBeGreaterThan(0);
});

test.concurrent("bench:seals: what a seal costs, by the length of a message", async () => {
  const { rows } = await lastLine("bench/seals.ts", "--smoke", "--bytes", "300,75000");
  const long = (rows as Record<string, { read_us: { median: number } }>)["75000"];
  expect(long?.read_us.median).toBeGreaterThan(0);
});

test.concurrent("bench -- pool: an item in place and on the pool, alone and in batches", async () => {
  const { rows } = await lastLine("bench/pool.ts", "--smoke", "--items", "1,16");
  expect(Object.keys(rows as object)).toHaveLength(5);
});

test.concurrent("bench -- decision-counts: counts, weights and joins agree with the answers", async () => {
  const report = await lastLine("bench/decision-counts.ts", "--smoke");
  expect(report).toMatchObject({
    are_counts_equal: true,
    kept_of_reported: 30,
    found_by_outcomes: 30,
  });
  expect(report["share_by_weight"]).toBeCloseTo(report["share_allowed"] as number, 6);
});

test.concurrent("bench -- suspend: every thread denies at once, every gateway soon", async () => {
  const report = await lastLine("bench/suspend.ts", "--smoke");
  expect(report).toMatchObject({ allowed_after_answer: 0, asked_after_answer: 160 });
  const { denied_by_gateways_ms: denied, seen_by_followers_ms: seen } = report as Record<
    string,
    { p50: number }
  >;
  expect(denied!.p50).toBeGreaterThan(0);
  expect(seen!.p50).toBeGreaterThan(0);
});

test.concurrent("bench:overload: every request is answered or turned away", async () => {
  const { before, over } = await lastLine("bench/overload.ts", "--smoke");
  expect(before).toMatchObject({ failed: 0 });
  expect(over).toMatchObject({ failed: 0 });
  expect((over as { answered: number }).answered).toBeGreaterThan(0);
});

test("bench -- console: verdicts beside an open page", needs("chromium"), async () => {
  const report = await lastLine("bench/console.ts", "--smoke");
  expect(report).toMatchObject({ rounds: 1 });
  expect((report["first_page_ms"] as { median: number }).median).toBeGreaterThan(0);
});

test.concurrent("bench:soak: everything on, nothing breaks", async () => {
  const report = await lastLine("bench/soak.ts", "--smoke");
  expect(report).toMatchObject({ exit_code: 0 });
  // Beside other tests an answer may come too late, and says so.
  const broken = Object.keys(report["broken"] as object);
  expect(broken.filter((what) => !what.includes("deadline_exceeded"))).toEqual([]);
  expect(report["requests"]).toBeGreaterThan(10);
  const parts = Object.keys(report["parts"] as object);
  expect(parts).toEqual(
    expect.arrayContaining([expect.stringMatching(/^heap main#/), "resident anonymous"]),
  );
});

test.concurrent("bench -- eval:attacks: one ordinary key moves nobody far and changes no verdict", async () => {
  const report = await lastLine("bench/attacks-default.ts", "--smoke");
  expect(report["one_key_points_max"]).toBeLessThanOrEqual(10);
  const rows = report["rows"] as { attack: string; agent: string; before: object; after: object }[];
  const byKey = rows.filter(({ attack }) => attack.endsWith("one key"));
  expect(byKey.length).toBeGreaterThan(10);
  const verdicts = (standing: object) => ({ ...standing, score: 0 });
  for (const { attack, agent, before, after } of byKey) {
    expect([attack, agent, verdicts(after)]).toEqual([attack, agent, verdicts(before)]);
  }
  const of = (name: string) => rows.find(({ agent }) => agent.endsWith(`/${name}`))!.before;
  expect(of("thousand"), "one gateway alone").toMatchObject({ l2: "ALLOW", l3: "ALLOW" });
  expect(of("blocked")).toMatchObject({ l2: "BLOCK" });
});

test.concurrent("eval:verdicts and the back-test of the imported file find the same", async () => {
  const file = writeRatings();
  const flags = ["--file", file, "--stakes", "ratings"];
  const { shipped } = (await lastLine("bench/eval-verdicts.ts", ...flags)) as {
    shipped: Record<string, Record<string, number>>;
  };
  const command = "src/cli/trustrank.ts";
  const at = ["--data-dir", mkdtempSync(path.join(tmpdir(), "trustrank-eval-")), "--json"];
  await lastLine(command, "import", file, "--format", "snap-ratings", ...at);
  // The last fifth of 3,000 hourly ratings, as the evaluation judges it.
  const from = new Date((1_600_000_000 + 2400 * 3600) * 1000).toISOString();
  const found = await lastLine(command, "policy", "backtest", "--from", from, ...at);
  const { rows } = found["findings"] as { rows: Record<string, number | string>[] };
  const shareOf = (side: string, level: string, part: string, all: string) => {
    const question = side === "check" ? "verify" : "handshake";
    const row = rows.find((each) => each["question"] === question && each["level"] === level)!;
    return Number(row[part]) / Number(row[all]);
  };
  for (const side of ["check", "handshake"]) {
    const told = shipped[side]!;
    expect([
      side,
      ...["L2", "L3"].map((level) => shareOf(side, level, "good_allowed", "good")),
    ]).toEqual([side, told["l2_good_allowed"], told["l3_good_allowed"]]);
    expect(shareOf(side, "L2", "bad_allowed", "bad")).toBe(told["l2_bad_allowed"]);
    expect(shareOf(side, "L2", "false_alarms", "good")).toBe(told["hard_denied_good"]);
    expect(told["l2_good_allowed"]).toBeGreaterThan(0);
  }
});

test.concurrent("bench -- backtest: looser bounds allow more, of the bad ones too", async () => {
  const report = await lastLine("bench/backtest.ts", "--smoke");
  expect(report).toMatchObject({ state: "done", outcomes: 5000 });
  expect(report["outcomes_per_second"]).toBeGreaterThan(0);
  const [live, given] = report["l2"] as { good_allowed: number; bad_allowed: number }[];
  expect(given!.good_allowed).toBeGreaterThan(live!.good_allowed);
  expect(given!.bad_allowed).toBeGreaterThanOrEqual(live!.bad_allowed);
});

test.concurrent("bench:kernel", async () => {
  const report = await lastLine("bench/kernel.ts", "--smoke");
  for (const member of ["ns_per_check", "ns_per_leg", "ns_per_fold", "reference_js_ns"]) {
    expect(report[member], member).toBeGreaterThan(0);
  }
  expect(report["bytes_per_agent"]).toBeLessThan(240);
});

test.concurrent("bench:http", async () => {
  const asked = "allowed,denied,fastify,fastify+whole";
  const flags = ["--generator", "autocannon", "--sides", asked];
  const { sides } = await lastLine("bench/http.ts", "--smoke", ...flags);
  const rows = sides as Record<string, { errors: number; per_second: { median: number } }>;
  expect(Object.keys(rows)).toEqual(["uws", ...asked.split(",")]);
  for (const [side, row] of Object.entries(rows)) {
    expect(row.errors, side).toBe(0);
    expect(row.per_second.median, side).toBeGreaterThan(0);
  }
});

test.concurrent("bench:ledger", async () => {
  const report = await lastLine("bench/ledger.ts", "--smoke");
  expect(report).toMatchObject({ refused: 0, offered_refused: 0 });
  for (const member of ["outcomes_per_second", "ack_p99_ms", "verify_p99_ms_busy", "fsyncs"]) {
    expect(report[member], member).toBeGreaterThan(0);
  }
});

test.concurrent("bench -- start", async () => {
  const report = await lastLine("bench/start.ts", "--smoke");
  expect(report).toMatchObject({ outcomes: 20_000, same_bytes: true });
  expect(report["start_seconds_snapshot"]).toBeGreaterThan(0);
  expect(report["service_seconds_snapshot"]).toBeGreaterThan(0);
});

test.concurrent("bench -- backup: the same table, and the same chain at a point in time", async () => {
  const report = await lastLine("bench/backup.ts", "--smoke");
  expect(report).toMatchObject({ outcomes: 20_000, same_table: true, same_chain_until: true });
  expect(report["archive_same_table"]).toBe(true);
  expect(report["accepted_beside"]).toBeGreaterThan(0);
  expect(report["until"]).toBeLessThan(report["position"] as number);
});

test.concurrent("bench -- recovery: the unit's command comes back by itself, and loses nothing", async () => {
  const report = await lastLine("bench/recovery.ts", "--smoke");
  expect(report).toMatchObject({ ends: ["SIGSEGV", "SIGKILL"], lost: 0 });
  expect(report["restart_pause_seconds"]).toBeLessThanOrEqual(0.1);
  expect(Number(report["answered"])).toBeGreaterThan(0);
  expect(Number(report["acknowledged"])).toBeGreaterThan(0);
});

test.concurrent("bench -- restart: kill -9 and a start at once; two containers, one owner", async () => {
  const report = await lastLine("bench/restart.ts", "--smoke");
  expect(report).toMatchObject({ kills: 1, hand_overs: 1, failures: [], acknowledged: 40 });
  const { containers } = report;
  // Null for users who may not make namespaces.
  if (containers === null) return;
  expect(containers).toMatchObject({ second: { code: 1 } });
  const { second } = containers as { second: { said: string[] } };
  expect(second.said).toEqual([
    expect.stringContaining("data_directory_waiting"),
    expect.stringMatching(/in use by pid 1 on host `box-a`, started 20\S+Z$/),
  ]);
});

test.concurrent("bench -- store", async () => {
  const report = await lastLine("bench/store-queries.ts", "--smoke");
  expect(report).toMatchObject({ outcomes: 6000, stream: { rows: 6000 } });
  expect(Object.keys(report["queries"] as object).length).toBeGreaterThan(10);
});

test.concurrent("bench -- agents: a page in every order", async () => {
  const { agents, pages } = await lastLine("bench/agents.ts", "--smoke");
  expect(agents).toBe(5000);
  expect(Object.keys(pages as object)).toContain("-last_outcome");
});

test.concurrent("bench -- vault-start", async () => {
  const report = await lastLine("bench/vault-start.ts", "--smoke");
  expect(report).toMatchObject({ sources: 500, is_compared: true });
  expect(report["seconds_to_healthz"]).toBeGreaterThan(0);
});

test.concurrent("bench -- metrics", async () => {
  const report = await lastLine("bench/metrics.ts", "--smoke");
  expect(report["request_ns"]).toBeGreaterThan(0);
});
