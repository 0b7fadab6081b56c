// Torn reads: a writer folds and grows the table as fast as it can while threads read; every reading
// must be one of the states that the agent really went through, and never an earlier one than before.
// The states are known beforehand: the same log gives the same table.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import type { FoldOutcome, AgentScore } from "../../src/engine/reading.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";

const READER = new URL("torn-reads-thread.ts", import.meta.url);
export const NOW_MS = Date.UTC(2026, 5, 1);
export const WATCHED = "agent://torn/watched";
const SEED = 42n;
/** Folds about agents never heard of between two about the watched one: the table grows meanwhile. */
const STRANGERS = 20;
const EXAMPLES_MAX = 5;
/** What may change without the row: the base rate, and what time alone does. */
const STILL = { base_variance: 0, subject_tau_days: 1e9 };

/** Counts over all readers and passes. */
export interface TornReads {
  readonly readers: number;
  readonly passes: number;
  readonly folds: number;
  readonly readings: number;
  /** Different states that a reader met, the most of any: few mean that it hardly ran beside. */
  readonly states_seen: number;
  readonly torn: number;
  readonly backwards: number;
  /** Of torn readings. */
  readonly examples: readonly string[];
}

/** All of a reading but its config, as text: two halves of two states make a third. */
export function stateOf(reading: AgentScore): string {
  return [
    reading.isKnown,
    reading.failureProbability,
    reading.failureOptimistic,
    reading.failurePessimistic,
    reading.scoreInternal,
    reading.scoreEffective,
    reading.stakesLogit,
    reading.stakesUntested,
    reading.stakesReach,
    reading.regimeIndex,
  ].join(" ");
}

/** Holds readings against the states in their order. */
export class StateWatch {
  readonly #lastOf: ReadonlyMap<string, number>;
  readonly #firstOf: Map<string, number>;
  readonly #seen = new Set<string>();
  #reached = 0;
  readings = 0;
  torn = 0;
  backwards = 0;
  /** The first readings that no state explains. */
  readonly examples: string[] = [];

  constructor(states: readonly string[]) {
    this.#lastOf = new Map(states.map((state, at) => [state, at]));
    this.#firstOf = new Map();
    for (const [at, state] of states.entries()) {
      if (!this.#firstOf.has(state)) this.#firstOf.set(state, at);
    }
  }

  see(state: string): void {
    this.readings++;
    const last = this.#lastOf.get(state);
    if (last === undefined) {
      this.torn++;
      if (this.examples.length < EXAMPLES_MAX) {
        this.examples.push(`${state} (after state ${this.#reached})`);
      }
      return;
    }
    this.#seen.add(state);
    if (last < this.#reached) this.backwards++;
    // Of a state that comes again, the earliest that is still possible.
    this.#reached = Math.max(this.#reached, this.#firstOf.get(state)!);
  }

  get statesSeen(): number {
    return this.#seen.size;
  }
}

function outcomeOf(fold: number): FoldOutcome {
  const isAboutWatched = fold % (STRANGERS + 1) === 0;
  return {
    subject: isAboutWatched ? WATCHED : `agent://torn/${fold}`,
    reporter: `agent://torn/voice/${fold % 997}`,
    outcome: fold % 7 === 0 ? 0 : 1,
    stakes: 1 + (fold % 300),
    gradeIndex: 3,
    signatureIndex: 2,
    settledAtMs: NOW_MS - 86_400_000 + fold,
  };
}

function openTable() {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, { ...loadDefaultConfig(), ...STILL }, SEED);
  return { memory, writer };
}

/** The states that the watched agent goes through, in order. */
function statesAfter(folds: number): string[] {
  const { memory, writer } = openTable();
  const reader = openEngineReader(memory, 1);
  const states = [stateOf(reader.check(WATCHED, 10, NOW_MS))];
  for (let fold = 0; fold < folds; fold++) {
    const outcome = outcomeOf(fold);
    writer.fold(outcome);
    if (outcome.subject === WATCHED) states.push(stateOf(reader.check(WATCHED, 10, NOW_MS)));
  }
  return states;
}

type Answer = Pick<StateWatch, "readings" | "torn" | "backwards" | "statesSeen" | "examples">;

async function pass(folds: number, readers: number, states: readonly string[]): Promise<Answer[]> {
  const { memory, writer } = openTable();
  const workers = Array.from(
    { length: readers },
    (_, at) => new Worker(READER, { workerData: { memory, slot: at + 1, states } }),
  );
  try {
    await Promise.all(workers.map((worker) => once(worker, "message")));
    for (let fold = 0; fold < folds; fold++) writer.fold(outcomeOf(fold));
    const answers = workers.map(async (worker): Promise<Answer> => {
      const answer = once(worker, "message");
      worker.postMessage("stop");
      return ((await answer) as [Answer])[0];
    });
    return await Promise.all(answers);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** Passes over a fresh table each, until `seconds` are over; at least one. `readers` are 1 to 15. */
export async function tornReads(
  readers: number,
  seconds: number,
  folds: number,
): Promise<TornReads> {
  const states = statesAfter(folds);
  const until = performance.now() + seconds * 1000;
  const answers: Answer[] = [];
  let passes = 0;
  do {
    answers.push(...(await pass(folds, readers, states)));
    passes++;
  } while (performance.now() < until);
  const sum = (pick: (answer: Answer) => number) =>
    answers.reduce((total, answer) => total + pick(answer), 0);
  return {
    readers,
    passes,
    folds: passes * folds,
    readings: sum(({ readings }) => readings),
    states_seen: Math.max(...answers.map(({ statesSeen }) => statesSeen)),
    torn: sum(({ torn }) => torn),
    backwards: sum(({ backwards }) => backwards),
    examples: answers.flatMap(({ examples }) => examples).slice(0, EXAMPLES_MAX),
  };
}
