// eval:import: who is let through after an import, as an operator sees it. The service as it ships,
// a stream of ratings by `trustrank import --rebase now`, then verify asked about every agent at
// every level over HTTP. A table on stderr, one JSON object on the last line of stdout.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parsed } from "./load/parsed.ts";
import { TOOL_LEVELS, VERDICTS } from "../src/contract/vocabulary.ts";
import type { ToolLevel, Verdict } from "../src/contract/vocabulary.ts";
import type { VerifyResponse } from "../src/contract/schemas/scores.ts";
import { readRatings } from "./ratings.ts";
import { ADMIN_KEY, machine, startService } from "./server-process.ts";

const COMMAND = fileURLToPath(new URL("../src/cli/trustrank.ts", import.meta.url));
const NAMESPACE = "import";
const BATCH = 1000;
const YEAR_MS = 365 * 86_400_000;
/** A long good record: so many successes and no failure within the last year of the stream. */
const GOOD_SUCCESSES = 20;

type Counts = Record<Verdict, number>;

const none = (): Counts =>
  Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0])) as unknown as Counts;

/** Verdicts of all agents at one level, in their order. */
async function verdictsAt(url: string, agents: readonly string[], level: ToolLevel) {
  const verdicts: Verdict[] = [];
  for (let from = 0; from < agents.length; from += BATCH) {
    const items = agents.slice(from, from + BATCH).map((agent_id) => ({
      agent_id,
      action: "eval.import",
      tool_level: level,
    }));
    const reply = await fetch(`${url}/v1/trust/verify/batch`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ items }),
    });
    const answer = (await reply.json()) as { items: { result: VerifyResponse }[] };
    verdicts.push(...answer.items.map(({ result }) => result.policy_action.verdict));
  }
  return verdicts;
}

/** Subjects with a long good record: no failure in the last year, enough successes before it too. */
function longGood(file: string): Set<string> {
  const outcomes = readRatings(file, NAMESPACE);
  const lastYearMs = outcomes.at(-1)!.timeMs - YEAR_MS;
  const successes = new Map<string, number>();
  const failing = new Set<string>();
  for (const { subject, failure, timeMs } of outcomes) {
    if (failure === 0) successes.set(subject, (successes.get(subject) ?? 0) + 1);
    else if (timeMs >= lastYearMs) failing.add(subject);
  }
  return new Set(
    [...successes]
      .filter(([agent, count]) => count >= GOOD_SUCCESSES && !failing.has(agent))
      .map(([agent]) => agent),
  );
}

async function main(): Promise<void> {
  const { values } = parsed(import.meta.filename, { options: { file: { type: "string" } } });
  if (values.file === undefined) {
    process.stderr.write("usage: eval:import -- --file F (SOURCE,TARGET,RATING,TIME)\n");
    process.exit(2);
  }
  const service = await startService("--no-sample");
  try {
    const flags = ["--format", "snap-ratings", "--namespace", NAMESPACE, "--rebase", "now"];
    await promisify(execFile)(
      process.execPath,
      [COMMAND, "import", values.file, ...flags, "--data-dir", service.dataDir],
      { env: { ...process.env, TRUSTRANK_KEY: ADMIN_KEY }, maxBuffer: 1 << 26 },
    );
    const agents = [...new Set(readRatings(values.file, NAMESPACE).map((o) => o.subject))];
    const good = longGood(values.file);
    const levels: Record<string, { all: Counts; good: Counts }> = {};
    for (const level of TOOL_LEVELS) {
      const counts = { all: none(), good: none() };
      const verdicts = await verdictsAt(service.url, agents, level);
      verdicts.forEach((verdict, i) => {
        counts.all[verdict]++;
        if (good.has(agents[i]!)) counts.good[verdict]++;
      });
      levels[level] = counts;
      const share = (n: number, of: number) => `${((100 * n) / of).toFixed(1)} %`.padStart(8);
      const row = (of: Counts, total: number) =>
        VERDICTS.map((verdict) => `${verdict} ${share(of[verdict], total)}`).join("  ");
      process.stderr.write(`${level} all  ${row(counts.all, agents.length)}\n`);
      process.stderr.write(`${level} good ${row(counts.good, good.size)}\n`);
    }
    const report = { agents: agents.length, good: good.size, levels, machine: machine() };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    await service.stop();
  }
}

await main();
