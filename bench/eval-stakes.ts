// eval:stakes: the decision at stakes on a stream of ratings, in money: a simulation. The ratings have no
// stakes that were known before, so they are drawn (drawn-stakes.ts), several times by seed; outcomes are
// folded with them, and each of the last fifth is decided by the shipped policy from the history strictly
// before it. Outcomes are known at once (lag0) and after seven days (lag7; with --late failures only those
// are late). One JSON object on the last line of stdout: medians over the seeds.
import { parsed } from "./load/parsed.ts";
import { decideConnection, createConnection } from "../src/policy/connection.ts";
import { DEFAULT_POLICY, MINIMUM_SCORES_DEFAULT } from "../src/contract/policy.ts";
import { DECISION, VERDICT } from "../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { AgentScore } from "../src/engine/reading.ts";
import { createActivePolicy } from "../src/policy/active-policy.ts";
import { fillRuleInputs } from "../src/policy/policy-query.ts";
import type { PolicyQuery } from "../src/policy/policy-query.ts";
import { applyPolicyRules, isReviewRequired } from "../src/policy/rules.ts";
import { createRuleInputs } from "../src/policy/rule-inputs.ts";
import { drawStakes } from "./drawn-stakes.ts";
import { flagEstablished } from "./established.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { ALL_AT_ONCE, walkStream } from "./replay.ts";
import type { Delay } from "./replay.ts";
import { computeMedians, StakesTally } from "./stakes-tally.ts";
import type { StakesFigures } from "./stakes-tally.ts";

const PARTS = { test: [0.8, 1], validation: [0.6, 0.8] } as const;
const LAG_DAYS = 7;
const LATE = ["all", "failures"] as const;
type Question = "check" | "handshake" | "verify_l2" | "verify_l3";
type Figures = Record<Question, StakesFigures>;

const active = createActivePolicy(DEFAULT_POLICY);
const connection = createConnection(active);
const rules = createRuleInputs();

/** Decision of check, or of the leg about the subject in a handshake. */
function decideConnect(reading: AgentScore, stakes: number): number {
  return decideConnection({ active, reading, stakes }, connection).decisionIndex;
}

/** What verify makes of the deal, as a decision: ALLOW connects, a review waits for a person. */
function decideVerify(query: PolicyQuery, level: "L2" | "L3"): number {
  const inputs = fillRuleInputs(query, level);
  const ruling = applyPolicyRules(inputs);
  if (ruling.verdictIndex === VERDICT.ALLOW) return DECISION.connect;
  if (ruling.verdictIndex === VERDICT.BLOCK) return DECISION.refuse;
  const isHeld = isReviewRequired(ruling, inputs);
  return isHeld ? DECISION.escalate : DECISION.connect_with_verification;
}

/** When outcomes become known, and who is established by what is known then. */
interface Lag {
  readonly delay: Delay;
  readonly established: Uint8Array;
}

/** Figures of one draw of stakes at one lag, by question. */
function simulate(
  outcomes: readonly RatedOutcome[],
  { delay, established }: Lag,
  [from, to]: readonly [number, number],
): Figures {
  const tallies = {
    check: new StakesTally(),
    handshake: new StakesTally(),
    verify_l2: new StakesTally(),
    verify_l3: new StakesTally(),
  };
  const walk = { config: loadDefaultConfig(), delay, from };
  walkStream(outcomes.slice(0, to), walk, (reader, row) => {
    const { reporter, subject, timeMs, stakes, failure } = outcomes[row]!;
    const about = { stakes, isBad: failure === 1, isEstablished: established[row] === 1 };
    // A reader's readings are reused: each is judged before the next is made.
    const [reading] = reader.handshake(reporter, subject, stakes, timeMs);
    tallies.handshake.add({ ...about, decision: decideConnect(reading, stakes) });
    const own = reader.check(subject, stakes, timeMs);
    tallies.check.add({ ...about, decision: decideConnect(own, stakes) });
    const query: PolicyQuery = {
      active,
      reading: own,
      agentId: subject,
      nowMs: timeMs,
      stakes,
      minimumScores: MINIMUM_SCORES_DEFAULT,
      rules,
    };
    const atL2 = decideVerify(query, "L2");
    const atL3 = decideVerify(query, "L3");
    if (atL3 < atL2) throw new Error(`row ${row + 1}: verify is looser at L3 than at L2`);
    tallies.verify_l2.add({ ...about, decision: atL2 });
    tallies.verify_l3.add({ ...about, decision: atL3 });
  });
  return {
    check: tallies.check.buildFigures(),
    handshake: tallies.handshake.buildFigures(),
    verify_l2: tallies.verify_l2.buildFigures(),
    verify_l3: tallies.verify_l3.buildFigures(),
  };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      seeds: { type: "string", default: "9" },
      bad: { type: "string", default: "1" },
      late: { type: "string", default: "all" },
      part: { type: "string", default: "test" },
    },
  });
  const seeds = Number(values.seeds);
  const failureFactor = Number(values.bad);
  const late = LATE.find((each) => each === values.late);
  const part = PARTS[values.part as keyof typeof PARTS];
  const isAsked = Number.isInteger(seeds) && seeds > 0 && failureFactor > 0;
  if (values.file === undefined || part === undefined || late === undefined || !isAsked) {
    process.stderr.write(
      "usage: eval:stakes -- --file F [--seeds N] [--bad X] [--late all|failures] " +
        "[--part test|validation]\n",
    );
    process.exit(2);
  }
  const outcomes = readRatings(values.file, "eval");
  const range = part.map((share) => Math.floor(outcomes.length * share)) as [number, number];
  const buildLag = (delay: Delay): Lag => ({
    delay,
    established: flagEstablished(outcomes, delay),
  });
  const atOnce = buildLag(ALL_AT_ONCE);
  const after = buildLag({ days: LAG_DAYS, of: late });
  const runs = { atOnce: [] as Figures[], after: [] as Figures[] };
  for (let seed = 1; seed <= seeds; seed++) {
    process.stderr.write(`seed ${seed} of ${seeds}: ${outcomes.length} outcomes, two lags\n`);
    const drawn = drawStakes(outcomes, seed, failureFactor);
    runs.atOnce.push(simulate(drawn, atOnce, range));
    runs.after.push(simulate(drawn, after, range));
  }
  const report = { seeds, lag0: computeMedians(runs.atOnce), lag7: computeMedians(runs.after) };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
