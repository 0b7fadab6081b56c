// Attack scripts of gate G9: what invented agents say of a fraud or of an honest agent, and what a
// cheat does with a record of its own. Played through the real engine on a private copy of the
// table; at every step the victims' legs are put on a tape, which any weights can judge afterwards:
// weights do not change state.
import { DAY_MS } from "../../../contract/units.ts";
import type { FoldOutcome, LoggedInputs } from "../../../engine/reading.ts";

const COUNTERPARTY_GRADE_INDEX = 3;
const BUREAU_SIGNATURE_INDEX = 1;
const FAKE_STAKES = 10;
/** Prefix of the identifiers of invented agents. */
export const INVENTED_AGENT_PREFIX = "agent://attack/";
/** Stakes at which every step is asked; 0: verify without stakes. The others lie where decisions change. */
export const ATTACK_STAKES = [0, 10, 100, 1000] as const;

/** Logged legs of both scorecards: victim by victim, for each of ATTACK_STAKES. */
export type AttackLegs = Record<"check" | "handshake", LoggedInputs[]>;

/** Engine access of a script. The caller owns the memory, which is spoilt afterwards. */
export interface AttackEngine {
  fold(outcome: FoldOutcome): void;
  /**
   * Recomputes credibility over everything folded so far, attack and all, as the service does every
   * hour. Does nothing without seeds: reporters are then indistinguishable.
   */
  refresh(): void;
  /** Appends the legs on `subject` at `nowMs`, one for each of ATTACK_STAKES and scorecard. */
  read(legs: AttackLegs, subject: string, nowMs: number): void;
}

/** Credibility during the scripts; weights play no part in it. */
export interface AttackCredibility {
  isInForce: boolean;
  /** Invented agents that came to have more credibility than a stranger. */
  believed: number;
}

/** Agents that the scripts use. */
export interface AttackAgents {
  /** Agents with a bad record. */
  frauds: readonly string[];
  /** Agents with a good record. */
  honest: readonly string[];
  /** Time after the last outcome, epoch ms. */
  nowMs: number;
}

/** One script as it went. */
export interface AttackRecording {
  /** What the attacker had spent at each step: reports, days, trades or failures. */
  spent: readonly number[];
  /** The victims before the attack. */
  before: AttackLegs;
  /** The victims after each step. */
  asked: readonly AttackLegs[];
}

/** Steps at which each script is asked, and what they count. */
export const ATTACK_SCRIPTS = {
  sybil_20x5: {
    unit: "invented reports",
    spent: [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 100, 200],
  },
  sybil_200x20: {
    unit: "invented reports",
    spent: [50, 100, 200, 400, 800, 1600, 2400, 4000],
  },
  whitewash: { unit: "invented reports", spent: [1, 2, 3, 4, 5] },
  on_off: { unit: "honest days", spent: [0, 1, 2, 3, 5, 7, 10, 13] },
  bad_mouthing: {
    unit: "invented reports",
    spent: [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 100, 200],
  },
  cheap_trades: { unit: "trades at 0.01", spent: [5, 10, 20, 40, 70, 100, 200, 400, 700, 1000] },
  streak: { unit: "failures after 400 successes", spent: [1, 2, 3, 4, 5, 6, 7, 8] },
} as const;
export type AttackScript = keyof typeof ATTACK_SCRIPTS;
export const ATTACK_NAMES = Object.keys(ATTACK_SCRIPTS) as readonly AttackScript[];
export type AttackRecordings = Record<AttackScript, AttackRecording>;

/** Agents of the scripts that need no victim. */
const CHEAT_COUNT = 10;
const CHEAP_STAKES = 0.01;
const STREAK_SUCCESSES = 400;

function createAttackOutcome(
  subject: string,
  reporter: string,
  outcome: 0 | 1,
  atMs: number,
): FoldOutcome {
  return {
    subject,
    reporter,
    outcome,
    stakes: FAKE_STAKES,
    gradeIndex: COUNTERPARTY_GRADE_INDEX,
    signatureIndex: BUREAU_SIGNATURE_INDEX,
    settledAtMs: atMs,
  };
}

/** A tape under way: asks the engine whenever a step's price has been paid. */
class AttackRecorder {
  readonly tape: AttackRecording;
  readonly #stage: AttackEngine;
  readonly #nowMs: number;

  constructor(
    stage: AttackEngine,
    script: AttackScript,
    victims: readonly string[],
    nowMs: number,
  ) {
    this.#stage = stage;
    this.#nowMs = nowMs;
    const { spent } = ATTACK_SCRIPTS[script];
    const asked = spent.map(() => ({ check: [], handshake: [] }));
    this.tape = { spent, before: { check: [], handshake: [] }, asked };
    for (const victim of victims) stage.read(this.tape.before, victim, nowMs);
  }

  /** Asks about the victim when `spent` is a step. Victims come in the same order at every step. */
  ask(victim: string, spent: number, nowMs = this.#nowMs): void {
    const legs = this.tape.asked[this.tape.spent.indexOf(spent)];
    if (legs !== undefined) this.#stage.read(legs, victim, nowMs);
  }
}

interface SybilWave {
  name: string;
  victims: readonly string[];
  /** Invented agents for each victim, and the reports of each on it. */
  count: number;
  each: number;
  outcome: 0 | 1;
  fromMs: number;
  /** Reports that an earlier wave has told about each victim. */
  already?: number;
}

/** `count` invented agents give `each` reports on every victim, and praise one another. */
function playSybilWave(stage: AttackEngine, recorder: AttackRecorder, crowded: SybilWave): void {
  const { name, victims, count, each, outcome, fromMs } = crowded;
  victims.forEach((victim, v) => {
    const member = (i: number) => `${INVENTED_AGENT_PREFIX}${name}-${v}-${i % count}`;
    let told = crowded.already ?? 0;
    const last = told + count * each;
    for (let k = 0; k < each; k++) {
      const atMs = fromMs + Math.floor((k * DAY_MS) / each);
      for (let i = 0; i < count; i++) {
        stage.fold(createAttackOutcome(victim, member(i), outcome, atMs));
        told++;
        if (told < last) recorder.ask(victim, told);
      }
    }
    for (let i = 0; i < count; i++) {
      stage.fold(createAttackOutcome(member(i + 1), member(i), 1, fromMs));
      stage.fold(createAttackOutcome(member(i + 2), member(i), 1, fromMs));
    }
    recorder.ask(victim, last);
  });
}

/** Agents that play a script, and those that report on them. */
interface ScriptCast {
  readonly agents: readonly string[];
  readonly reporters: readonly string[];
  readonly endMs: number;
}

/** The agent is honest for a month at low stakes, fails five times, and is honest again. */
function playOnOffScript(
  stage: AttackEngine,
  recorder: AttackRecorder,
  { agents, reporters, endMs }: ScriptCast,
): void {
  const at = (day: number) => Math.floor(endMs - (45 - day) * DAY_MS);
  agents.forEach((agent, a) => {
    const by = (i: number) => reporters[(i + 3 * a) % reporters.length]!;
    // Some are busier than others, or all would cross a border at the same step.
    const daily = 1 + (a % 3);
    for (let i = 0; i < 30 * daily; i++)
      stage.fold(createAttackOutcome(agent, by(i), 1, at(i / daily)));
    for (let i = 0; i < 5; i++) stage.fold(createAttackOutcome(agent, by(i), 0, at(31)));
    recorder.ask(agent, 0, at(31) + DAY_MS / 2);
    for (let day = 32; day < 45; day++) {
      stage.fold(createAttackOutcome(agent, by(day), 1, at(day)));
      recorder.ask(agent, day - 31, at(day) + DAY_MS / 2);
    }
  });
}

/** A thousand trades at next to nothing within ten to 55 days: what do they buy for a large one? */
function playCheapTradesScript(
  stage: AttackEngine,
  recorder: AttackRecorder,
  { agents, reporters, endMs }: ScriptCast,
): void {
  const trades = ATTACK_SCRIPTS.cheap_trades.spent.at(-1)!;
  agents.forEach((agent, a) => {
    const spanMs = (10 + 5 * a) * DAY_MS;
    for (let i = 0; i < trades; i++) {
      const atMs = endMs - spanMs + Math.floor((i * spanMs) / trades);
      const by = reporters[(i + 3 * a) % reporters.length]!;
      stage.fold({ ...createAttackOutcome(agent, by, 1, atMs), stakes: CHEAP_STAKES });
      recorder.ask(agent, i + 1, atMs);
    }
  });
}

/** Four hundred successes over 45 to 135 days, and then failures within a day. */
function playStreakScript(
  stage: AttackEngine,
  recorder: AttackRecorder,
  { agents, reporters, endMs }: ScriptCast,
): void {
  agents.forEach((agent, a) => {
    const by = (i: number) => reporters[(i + 3 * a) % reporters.length]!;
    const spanMs = (45 + 10 * a) * DAY_MS;
    for (let i = 0; i < STREAK_SUCCESSES; i++) {
      const atMs = endMs - DAY_MS - spanMs + Math.floor((i * spanMs) / STREAK_SUCCESSES);
      stage.fold(createAttackOutcome(agent, by(i), 1, atMs));
    }
    for (const failures of ATTACK_SCRIPTS.streak.spent) {
      const atMs = endMs - DAY_MS + (failures * DAY_MS) / 10;
      stage.fold(createAttackOutcome(agent, by(failures), 0, atMs));
      recorder.ask(agent, failures, atMs);
    }
  });
}

/** Plays all scripts; the table is spoilt afterwards. */
export function playAttacks(stage: AttackEngine, attackAgents: AttackAgents): AttackRecordings {
  const { frauds, honest, nowMs } = attackAgents;
  const thenMs = nowMs + 2 * DAY_MS;
  const half = Math.floor(frauds.length / 2);
  const [few, many] = [frauds.slice(0, half), frauds.slice(half)];
  const slandered = honest.slice(0, Math.ceil(honest.length / 2));
  const invented = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${INVENTED_AGENT_PREFIX}${name}-${i}`);
  const reborn = invented("reborn", frauds.length);
  const [switchers, savers, cheats] = [
    invented("on-off", CHEAT_COUNT),
    invented("saver", CHEAT_COUNT),
    invented("streak", CHEAT_COUNT),
  ];
  const record = (script: AttackScript, victims: readonly string[]) =>
    new AttackRecorder(stage, script, victims, thenMs);
  const recorders: Record<AttackScript, AttackRecorder> = {
    sybil_20x5: record("sybil_20x5", few),
    sybil_200x20: record("sybil_200x20", many),
    // Before, the fraud under its old name.
    whitewash: record("whitewash", frauds),
    on_off: record("on_off", switchers),
    bad_mouthing: record("bad_mouthing", slandered),
    cheap_trades: record("cheap_trades", savers),
    streak: record("streak", cheats),
  };
  const { sybil_20x5, sybil_200x20, whitewash, bad_mouthing } = recorders;
  const cast = { reporters: honest, endMs: nowMs };
  playOnOffScript(stage, recorders.on_off, { ...cast, agents: switchers });
  const wave = { count: 20, each: 5, fromMs: nowMs };
  playSybilWave(stage, sybil_20x5, { ...wave, name: "few", victims: few, outcome: 1 });
  const large = { name: "many", victims: many, count: 200, each: 20, outcome: 1 } as const;
  playSybilWave(stage, sybil_200x20, { ...large, fromMs: nowMs });
  const praise = { name: "wash", victims: reborn, count: 5, each: 1, outcome: 1 } as const;
  playSybilWave(stage, whitewash, { ...praise, fromMs: nowMs });
  playSybilWave(stage, bad_mouthing, { ...wave, name: "slander", victims: slandered, outcome: 0 });
  stage.refresh();
  // The praise counts as it was folded; a second wave meets the standings earned by the first.
  const second = { ...wave, fromMs: nowMs + DAY_MS, already: 100 };
  playSybilWave(stage, sybil_20x5, { ...second, name: "few", victims: few, outcome: 1 });
  playSybilWave(stage, bad_mouthing, {
    ...second,
    name: "slander",
    victims: slandered,
    outcome: 0,
  });
  playCheapTradesScript(stage, recorders.cheap_trades, { ...cast, agents: savers });
  playStreakScript(stage, recorders.streak, { ...cast, agents: cheats });
  const tapes = ATTACK_NAMES.map((script) => [script, recorders[script].tape] as const);
  return Object.fromEntries(tapes) as AttackRecordings;
}
