// Effect of attacks on a service with default settings. The real service on loopback and real API keys: a
// first-party one for the honest gateway, an ordinary one for each attacker. A table on stderr, one JSON object on
// the last line of stdout; `--smoke` posts little.
import { parsed } from "./load/parsed.ts";
import { playBaseRate } from "./attacks-base-rate.ts";
import { series, Stage } from "./attack-stage.ts";
import type { Row } from "./attack-stage.ts";
import { machine, startService } from "./server-process.ts";

/** Agents that the honest gateway has reported on, alone (one by thirty buyers), for 60 days. */
async function buildHistory(stage: Stage): Promise<void> {
  const agents: [name: string, count: number, fails: (i: number) => boolean][] = [
    ["hundred", 100, (i) => i === 40],
    ["flawless", 100, () => false],
    ["regular", 260, (i) => i % 87 === 50],
    ["failing", 100, () => true],
    ["poor", 100, (i) => i >= 60 || i % 4 === 0],
    ["builder", 300, () => false],
    ["thousand", 1000, () => false],
  ];
  for (const [name, count, fails] of agents) {
    await stage.import(series(`agent://eval/${name}`, count, { days: 60, fails }));
  }
  const buyers = (i: number) => `agent://market/buyer-${i % 30}`;
  const blocked = { days: 60, fails: () => true, reporter: buyers };
  await stage.import(series("agent://eval/blocked", 300, blocked));
  const other = await stage.makeKey("other");
  await stage.post(other, series("agent://eval/strangers-only", 100, { days: 6 }));
}

/** Slander and praise from one ordinary key, each report in another name. */
async function playNames(stage: Stage, posts: number): Promise<void> {
  const names = (i: number) => `agent://invented/r${i}`;
  const flood = (agent: string, isPraise: boolean) => async () => {
    const key = await stage.makeKey("attacker");
    const fails = () => !isPraise;
    await stage.post(key, series(agent, posts, { days: 6, fails, reporter: names }));
  };
  const victims = ["hundred", "flawless", "regular", "thousand", "strangers-only", "unknown-a"];
  for (const name of victims) {
    const agent = `agent://eval/${name}`;
    await stage.play("slander, one key", agent, flood(agent, false));
  }
  for (const name of ["blocked", "failing", "poor", "hundred", "strangers-only", "unknown-b"]) {
    const agent = `agent://eval/${name}`;
    await stage.play("praise, one key", agent, flood(agent, true));
  }
}

async function playTexts(stage: Stage, count: number): Promise<void> {
  const key = await stage.makeKey("asker");
  for (const agent of ["agent://eval/regular", "agent://eval/unknown-d"]) {
    await stage.play("invented texts, one key", agent, () => stage.askTexts(agent, count, key));
    await stage.play("failed texts, the gateway", agent, () => stage.askTexts(agent, count));
  }
}

async function playCheats(stage: Stage): Promise<void> {
  for (const name of ["blocked", "failing", "unknown-c"]) {
    const agent = `agent://eval/${name}`;
    await stage.play("signed ring of 20, 5 each", agent, () => stage.ring(agent, 5));
  }
  const builder = "agent://eval/builder";
  const cheat = (from: number, count: number) => () =>
    stage.report(series(builder, count, { days: 0.1, agoDays: from, fails: () => true }));
  await stage.play("300 good, then 3 failures", builder, cheat(0.9, 3));
  await stage.play("and 7 more", builder, cheat(0.7, 7));
  await stage.play("and 20 more", builder, cheat(0.5, 20));
  const steady = "agent://eval/steady";
  await stage.import(series(steady, 400, { days: 60, agoDays: 1 }));
  const run = (from: number, count: number) => () =>
    stage.report(series(steady, count, { days: 0.1, agoDays: from, fails: () => true }));
  await stage.play("400 good, then 3 failures in a row", steady, run(0.7, 3));
  await stage.play("and 5 more", steady, run(0.5, 5));
  await playOnOff(stage);
}

/** A thousand trades at 0.01; returns the stakes up to which check then connects unverified. */
async function playCheapTrades(stage: Stage, count: number): Promise<number> {
  const agent = "agent://eval/cheap";
  const trades = series(agent, count, { days: 60 }).map((trade) => ({ ...trade, stakes: 0.01 }));
  await stage.play(`${count} trades at 0.01`, agent, () => stage.import(trades));
  let most = 0;
  for (const stakes of [0.1, 0.5, 1, 1.01, 2, 10, 183]) {
    if ((await stage.check(agent, stakes)).decision === "connect") most = stakes;
  }
  return most;
}

/** Good and bad phases in turn; each row is an agent whose last phase ends now. */
async function playOnOff(stage: Stage): Promise<void> {
  const phases = [
    { days: 30, count: 150, isGood: true },
    { days: 2, count: 10, isGood: false },
    { days: 13, count: 65, isGood: true },
    { days: 2, count: 10, isGood: false },
    { days: 16, count: 80, isGood: true },
    { days: 2, count: 10, isGood: false },
  ];
  for (let last = 1; last < phases.length; last++) {
    const agent = `agent://eval/on-off-${last}`;
    const play = (index: number) => {
      const { days, count, isGood } = phases[index]!;
      const later = phases.slice(index + 1, last + 1);
      const agoDays = later.reduce((sum, phase) => sum + phase.days, 0);
      return stage.import(series(agent, count, { days, agoDays, fails: () => !isGood }));
    };
    for (let index = 0; index < last; index++) await play(index);
    const { days, count, isGood } = phases[last]!;
    const what = isGood ? "on again" : "off";
    const attack = `on/off: ${what}, ${count} in ${days} days`;
    await stage.play(attack, agent, () => play(last));
  }
}

function print(rows: readonly Row[]): void {
  const lines = rows.map(({ attack, agent, before, after }) => [
    attack,
    agent.slice(agent.lastIndexOf("/") + 1),
    before.score,
    after.score,
    `${before.l2}, ${after.l2}`,
    `${before.l3}, ${after.l3}`,
  ]);
  const head = ["attack", "agent", "score before", "after", "L2 before, after", "L3 before, after"];
  const rule = head.map(() => "---");
  for (const line of [head, rule, ...lines]) process.stderr.write(`| ${line.join(" | ")} |\n`);
}

const { values } = parsed(import.meta.filename, {
  options: { smoke: { type: "boolean", default: false } },
});
const posts = values.smoke ? 40 : 2000;
const service = await startService("--no-sample");
try {
  const stage = new Stage(service);
  await stage.open();
  await buildHistory(stage);
  await playNames(stage, posts);
  await playTexts(stage, posts);
  await playCheats(stage);
  const cheap = await playCheapTrades(stage, values.smoke ? 100 : 1000);
  const baseRate = await playBaseRate(values.smoke ? [5] : [20, 200]);
  print(stage.rows);
  const moved = stage.rows
    .filter(({ attack }) => attack.endsWith("one key"))
    .map(({ before, after }) => Math.abs(after.score - before.score));
  const most = Math.max(...moved);
  const figures = {
    machine: machine(),
    posts,
    one_key_points_max: most,
    cheap_trades_connect: cheap,
    base_rate: baseRate,
    rows: stage.rows,
  };
  console.log(JSON.stringify(figures));
} finally {
  await service.stop();
}
