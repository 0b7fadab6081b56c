// Generated market as the service sees it: its history for a batch, and the verdicts of a table that has
// folded it.
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import { REASON_CODES, VERDICTS } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineReader } from "../../../src/engine/reader.ts";
import type { StandingsPart } from "../../../src/engine/reading.ts";
import { openEngineWriter } from "../../../src/engine/writer.ts";
import type { StandingHistory } from "../../../src/kaizen/credibility/standings.ts";
import { applyPolicyRules } from "../../../src/policy/rules.ts";
import { createRuleInputs } from "../../../src/policy/rule-inputs.ts";
import { MARKET_NOW_MS, type Market } from "./_market.ts";

const CONFIG = loadDefaultConfig();

export function buildHistory({ outcomes }: Market): StandingHistory {
  const numbers = new Map<string, number>();
  const assignNumber = (id: string) => {
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    return number;
  };
  const reporters = Uint32Array.from(outcomes, ({ reporter }) => assignNumber(reporter));
  const subjects = Uint32Array.from(outcomes, ({ subject }) => assignNumber(subject));
  return {
    ids: [...numbers.keys()],
    edges: {
      agents: numbers.size,
      reporters,
      subjects,
      failures: Uint8Array.from(outcomes, ({ outcome }) => 1 - outcome),
      weights: Float32Array.from(outcomes, ({ gradeIndex }) => CONFIG.grade_weights[gradeIndex]!),
      count: outcomes.length,
    },
    stakes: Float32Array.from(outcomes, ({ stakes }) => stakes),
    keyHolders: new Map(),
    written: new Map(),
    stakesHigh: 0,
    isInForce: false,
  };
}

export interface JudgedAgent {
  verdict: string;
  codes: string[];
}

/** Folds the market, under standings or with standings that come after it, and asks at L3. */
export function judgeMarket(
  { outcomes }: Market,
  standings: { before?: StandingsPart; after?: StandingsPart } = {},
): (agent: string) => JudgedAgent {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, CONFIG, 1n);
  const reader = openEngineReader(memory, 1);
  if (standings.before !== undefined) writer.applyStandings(standings.before);
  for (const outcome of outcomes) writer.fold(outcome);
  if (standings.after !== undefined) writer.applyStandings(standings.after);
  return (agent) => {
    const score = reader.check(agent, 1, MARKET_NOW_MS);
    const ruling = applyPolicyRules(createRuleInputs("L3", DEFAULT_POLICY.levels.L3, score));
    const codes = [...score.reasonIndexes.subarray(0, score.reasonCount)];
    return {
      verdict: VERDICTS[ruling.verdictIndex]!,
      codes: codes.map((index) => REASON_CODES[index]!),
    };
  };
}
