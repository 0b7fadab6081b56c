// The attack suite: plays bounded attacks against the real service on loopback. A table on stderr, one
// JSON object on the last line of stdout: {"tried": n, "held": n, "skipped": [...],
// "broken": [...], "figures": {...}, "seconds": n}.
// Exit status 1 when something did not hold.
import { parseArgs } from "node:util";
import type { Attack, Outcome } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";
import { SharedServices } from "./shared.ts";
import { AttackStage } from "./stage.ts";
import { machine } from "../../bench/server-process.ts";

const USAGE = `npm run --silent attack -- [--only NAME[,NAME]] [--minutes N] [--seed N] [--short]

  --only NAME   only these attacks, by name
  --minutes N   how long an attack without an end of its own lasts (default 1)
  --seed N      for attacks that draw (default 1)
  --short       seconds instead of minutes, as the tests play them

Attacks:
${ATTACKS.map(({ name, what }) => `  ${name.padEnd(18)} ${what}`).join("\n")}
`;

async function playOne(attack: Attack, stage: AttackStage): Promise<Outcome> {
  try {
    return await attack.play(stage);
  } catch (error) {
    return { broken: [error instanceof Error ? error.message : String(error)], figures: {} };
  } finally {
    await stage.close();
  }
}

function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 100) / 10;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      minutes: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      short: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const wanted = values.only?.split(",");
  const unknown = wanted?.filter((name) => !ATTACKS.some((attack) => attack.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no such attack: ${unknown.join(", ")}; see --help`);
  const shared = new SharedServices();
  const options = {
    isShort: values.short,
    minutes: Number(values.minutes),
    seed: Number(values.seed),
    shared,
  };
  const broken: { attack: string; why: readonly string[] }[] = [];
  const skipped: string[] = [];
  const figures: Record<string, Outcome["figures"]> = {};
  const played = ATTACKS.filter(({ name }) => wanted?.includes(name) ?? true);
  console.error(machine());
  const begunMs = performance.now();
  for (const attack of played) {
    const startedMs = performance.now();
    const outcome = await playOne(attack, new AttackStage(options));
    figures[attack.name] = outcome.figures;
    if (outcome.broken.length > 0) broken.push({ attack: attack.name, why: outcome.broken });
    if (outcome.skipped !== undefined) {
      skipped.push(attack.name);
      console.error(`skipped ${attack.name}: needs ${outcome.skipped}`);
      continue;
    }
    const verdict = outcome.broken.length === 0 ? "held  " : "BROKEN";
    console.error(`${verdict} ${attack.name.padEnd(32)} ${secondsSince(startedMs)} s`);
    for (const why of outcome.broken) console.error(`       ${why}`);
    for (const [name, value] of Object.entries(outcome.figures)) {
      console.error(`       ${name.padEnd(32)} ${value}`);
    }
  }
  await shared.close();
  const tried = played.length - skipped.length;
  const held = tried - broken.length;
  const seconds = secondsSince(begunMs);
  console.log(JSON.stringify({ tried, held, skipped, broken, figures, seconds }));
  if (broken.length > 0) process.exitCode = 1;
}

await main();
// Connections that attacks have left trying end with this process.
process.exit();
