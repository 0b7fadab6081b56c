// A deciding bureau over the WASM engine for each state of an agent: no server, no files. The table is put back
// before each state, so that no case changes what another one reads.
import { openBureau } from "../../../bureau/open.ts";
import type { Bureau } from "../../../bureau/bureau.ts";
import type { DecisionEntry } from "../../../contract/decisions.ts";
import { GRADES, SIGNATURES } from "../../../contract/vocabulary.ts";
import { DAY_MS } from "../../../contract/units.ts";
import { loadDefaultConfig } from "../../../engine/config.ts";
import { createEngineMemory } from "../../../engine/memory.ts";
import { openEngineReader } from "../../../engine/reader.ts";
import type { EngineReader } from "../../../engine/reading.ts";
import { openTableImage } from "../../../engine/image.ts";
import { openEngineWriter, resumeEngineWriter } from "../../../engine/writer.ts";
import { UuidV7Generator } from "../../../platform/uuid.ts";
import type { PolicySource } from "../../../policy/active-policy.ts";
import type { PolicyCase } from "./case-file.ts";

/** The moment of every request: equal cases give equal answers on every day. */
export const CASE_TIME_MS = Date.UTC(2026, 0, 1);
const CASE_AGENT = "agent://cases/agent";
const CASE_GRADE = GRADES.indexOf("counterparty");
const CASE_SIGNATURE = SIGNATURES.indexOf("bureau");
const TABLE_SEED = 1n;
const TABLE_BYTES_MAX = 64 * 1024 * 1024;
/** One outcome in so many of the population is a failure. */
const POPULATION_OUTCOMES = 41;
const POPULATION_AGENTS = 100;
const POPULATION_MS = 365 * DAY_MS;

interface CaseOutcome {
  readonly outcome: 0 | 1;
  readonly settledAtMs: number;
  readonly stakes: number;
  readonly reporter: string;
}

/** One table, put back to the population before each state. */
export class CaseEngines {
  readonly #memory = createPopulation();
  readonly #writer = resumeEngineWriter(this.#memory, TABLE_SEED, TABLE_BYTES_MAX)!;
  readonly #reader = openEngineReader(this.#memory, 1);
  readonly #population = openTableImage(this.#memory)
    .viewParts()
    .map((part) => part.slice());
  /** The agent and the outcomes that the table has now. */
  #state = "";

  /** A bureau that has seen the case's outcomes and nothing else; `onDecision` gets what it decides. */
  openBureau(
    given: PolicyCase,
    policies: PolicySource,
    onDecision: (entry: DecisionEntry) => void,
  ): { bureau: Bureau; agentId: string } {
    const agentId = given.request?.agent_id ?? CASE_AGENT;
    const bureau = openBureau({
      engine: this.#openTable(agentId, given),
      ledger: NO_LEDGER,
      clock: () => CASE_TIME_MS,
      environment: {
        delay: () => Promise.resolve(),
        outcomeIds: new UuidV7Generator((bytes) => bytes.fill(0)),
        isReservedEnabled: false,
      },
      policies,
      decisions: { admit: () => true, record: onDecision },
    });
    return { bureau, agentId };
  }

  #openTable(agentId: string, { agent, history }: PolicyCase): EngineReader {
    const state = JSON.stringify([agentId, agent, history]);
    if (state === this.#state) return this.#reader;
    this.#state = state;
    const image = openTableImage(this.#memory);
    // What the last state added; the rest is written over.
    for (const [index, view] of image.viewParts().entries()) {
      view.subarray(this.#population[index]!.length).fill(0);
    }
    const views = image.reserve(this.#population.reduce((sum, { length }) => sum + length, 0));
    for (const [index, part] of this.#population.entries()) views[index]!.set(part);
    for (const outcome of listOutcomes(agent, history)) {
      const marks = { gradeIndex: CASE_GRADE, signatureIndex: CASE_SIGNATURE };
      this.#writer.fold({ subject: agentId, ...outcome, ...marks });
    }
    return this.#reader;
  }
}

/**
 * A table with agents that fail now and then: without them the one agent of a case would be the base rate that
 * its own failures are compared with.
 */
function createPopulation(): WebAssembly.Memory {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), TABLE_SEED, TABLE_BYTES_MAX);
  const outcomesTotal = POPULATION_AGENTS * POPULATION_OUTCOMES;
  for (let index = 0; index < outcomesTotal; index += 1) {
    writer.fold({
      subject: `agent://population/a${index % POPULATION_AGENTS}`,
      reporter: nameReporter(index % 10),
      outcome: index % POPULATION_OUTCOMES === 0 ? 0 : 1,
      stakes: 20,
      settledAtMs:
        CASE_TIME_MS - Math.round(((outcomesTotal - index) / outcomesTotal) * POPULATION_MS),
      gradeIndex: CASE_GRADE,
      signatureIndex: CASE_SIGNATURE,
    });
  }
  return memory;
}

/** By time, the oldest first. */
function listOutcomes(agent: PolicyCase["agent"], history: PolicyCase["history"]): CaseOutcome[] {
  if (history !== undefined) {
    const listed = history.flatMap(({ outcome, days_ago: ago, stakes, times, reporter }) =>
      Array.from({ length: times }, (_, index): CaseOutcome => ({
        outcome: outcome === 1 ? 1 : 0,
        settledAtMs: CASE_TIME_MS - Math.round(ago * DAY_MS),
        stakes,
        reporter: reporter ?? nameReporter(index),
      })),
    );
    return listed.toSorted((a, b) => a.settledAtMs - b.settledAtMs);
  }
  if (agent === undefined) return [];
  const { successes, failures, days, stakes, reporters } = agent;
  const total = successes + failures;
  return Array.from({ length: total }, (_, index): CaseOutcome => {
    // Failures at even distances: the count of them before an outcome rises where it is one.
    const isFailure =
      Math.floor(((index + 1) * failures) / total) > Math.floor((index * failures) / total);
    return {
      outcome: isFailure ? 0 : 1,
      settledAtMs: CASE_TIME_MS - Math.round((days * DAY_MS * (total - index)) / total),
      stakes,
      reporter: nameReporter(index % reporters),
    };
  });
}

function nameReporter(index: number): string {
  return `agent://reporters/r${index}`;
}

const NO_LEDGER = {
  append: () => Promise.reject(new Error("cases record no outcomes")),
  appendBatch: () => Promise.reject(new Error("cases record no outcomes")),
  pendingCount: 0,
  close: () => Promise.resolve(),
};
