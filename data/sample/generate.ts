// Makes the files that a first start loads: outcomes.ndjson, about 5,000 outcomes over 120 days between
// agents of a few companies, and requests.ndjson, what was asked in the last week. Seeded, so the same program always writes the same bytes;
// times count back from a fixed newest moment and are shifted to now when the files are loaded.
// Run: node data/sample/generate.ts
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type AgentPlan,
  DAYS,
  DECOY_COMPANY,
  DECOY_DAYS,
  DECOY_OUTCOMES,
  DECOYS_SINCE,
  FLEET_ACTIONS,
  FLEETS,
  type ReporterPlan,
  REPORTERS,
  RING_BROKER,
  RING_COMPANY,
  RING_SIZE,
  STORIES_KEPT_WHOLE,
  STORY_AGENTS,
  STORY_OUTCOMES_MAX,
} from "./agents.ts";
import { listSampleRequests } from "./requests.ts";

const SEED = 20_260_101;
const FLEET_SEED = 44;
export const NEWEST_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

/** Median outcomes of a fleet's agent; log-odds of its failures, their spread, and what a failure adds. */
const FLEET = { outcomes: 60, logOdds: -2.6, spread: 1.3, stickiness: 1.2, stakesMedian: 60 };
/** Share of a fleet's outcomes that a desk reports; another fleet's agent reports the others. */
const DESK_SHARE = 0.3;
const RING_OUTCOMES = 18;

interface Reporter extends ReporterPlan {
  readonly id: string;
}

interface Row {
  readonly settledAtMs: number;
  readonly line: string;
}

const DESKS: readonly Reporter[] = REPORTERS.flatMap((plan) =>
  Array.from({ length: plan.count }, (_, i) => {
    const number = String(i + 1).padStart(2, "0");
    return Object.assign({ id: `agent://${plan.company}/${plan.role}-${number}` }, plan);
  }),
);

type Random = () => number;

/** mulberry32: small, seeded, good enough to draw a plausible history. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** By Box-Muller. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Rounded to cents. */
function drawStakes(random: Random, median: number): number {
  const stakes = median * Math.exp(drawNormal(random));
  return Math.round(Math.min(Math.max(stakes, 1), 5000) * 100) / 100;
}

function drawOne<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!;
}

const findCompany = (id: string) => id.split("/")[2]!;

/** A company does not report on its own agents. */
function drawDesk(random: Random, subject: string): Reporter {
  const company = findCompany(subject);
  return drawOne(
    random,
    DESKS.filter((desk) => desk.company !== company),
  );
}

interface Outcome {
  readonly subject: string;
  readonly reporter: string;
  readonly hasFailed: boolean;
  readonly stakes: number;
  readonly grade: string;
  readonly daysAgo: number;
  readonly action: string;
}

function formatRow({ subject, reporter, hasFailed, daysAgo, action, ...rest }: Outcome): Row {
  const settledAtMs = Math.round(NEWEST_MS - daysAgo * DAY_MS);
  const { stakes, grade } = rest;
  const outcome = {
    subject,
    reporter,
    outcome: hasFailed ? 0 : 1,
    stakes,
    grade,
    settled_at: new Date(settledAtMs).toISOString(),
    action,
  };
  return { settledAtMs, line: JSON.stringify(outcome) };
}

/** Every outcome is drawn, also one that is left out: what others draw does not depend on it. */
function drawStory(random: Random, agent: AgentPlan): Row[] {
  const { id: subject, untilDaysAgo: until = 0 } = agent;
  const rows = Array.from({ length: agent.outcomeCount }, () => {
    const daysAgo = until + random() * (agent.sinceDaysAgo - until);
    const reporter = drawDesk(random, subject);
    const isFailure = random() < agent.failureRate(daysAgo);
    const isMisreported = random() < reporter.errorRate;
    return formatRow({
      subject,
      reporter: reporter.id,
      hasFailed: isFailure !== isMisreported,
      stakes: drawStakes(random, agent.stakesMedian),
      grade: reporter.grade,
      daysAgo,
      action: drawOne(random, agent.actions),
    });
  });
  return STORIES_KEPT_WHOLE.has(subject) ? rows : rows.slice(0, STORY_OUTCOMES_MAX);
}

const FLEET_AGENTS: readonly string[] = Object.entries(FLEETS).flatMap(([company, roles]) =>
  roles.map((role) => `agent://${company}/${role}`),
);

/** Outcomes of one agent in order of time: after a failure the next one is likelier. */
function drawFleetAgent(random: Random, subject: string): Row[] {
  const { outcomes, logOdds, spread, stickiness, stakesMedian } = FLEET;
  const quality = logOdds + spread * drawNormal(random);
  const count = Math.round(outcomes * Math.exp(0.1 * drawNormal(random)));
  const days = Array.from({ length: count }, () => random() * DAYS).toSorted((a, b) => b - a);
  const partners = FLEET_AGENTS.filter((id) => findCompany(id) !== findCompany(subject));
  let hasFailed = false;
  return days.map((daysAgo) => {
    const odds = Math.exp(quality + (hasFailed ? stickiness : 0));
    hasFailed = random() < odds / (1 + odds);
    const desk = random() < DESK_SHARE ? drawDesk(random, subject) : undefined;
    return formatRow({
      subject,
      reporter: desk?.id ?? drawOne(random, partners),
      hasFailed,
      stakes: drawStakes(random, stakesMedian),
      grade: desk?.grade ?? "counterparty",
      daysAgo,
      action: drawOne(random, FLEET_ACTIONS),
    });
  });
}

/** Outcomes of a name that is used for a few days. */
function drawDecoy(random: Random, since: number, number: number): Row[] {
  const subject = `agent://${DECOY_COMPANY}/deal-finder-${number}`;
  return Array.from({ length: DECOY_OUTCOMES.all }, (_, i) => {
    const desk = drawDesk(random, subject);
    return formatRow({
      subject,
      reporter: desk.id,
      hasFailed: i >= DECOY_OUTCOMES.good && random() < 0.95,
      stakes: drawStakes(random, i < DECOY_OUTCOMES.good ? 15 : 250),
      grade: desk.grade,
      daysAgo: since - (DECOY_DAYS * (i + random())) / DECOY_OUTCOMES.all,
      action: "deal.close",
    });
  });
}

/** Agents that praise each other and their broker for a month. */
function drawRing(random: Random): Row[] {
  const members = Array.from({ length: RING_SIZE }, (_, i) => `agent://${RING_COMPANY}/echo-${i + 1}`);
  return [...members, RING_BROKER].flatMap((subject) =>
    Array.from({ length: RING_OUTCOMES }, () =>
      formatRow({
        subject,
        reporter: drawOne(
          random,
          members.filter((id) => id !== subject),
        ),
        hasFailed: false,
        stakes: drawStakes(random, 20),
        grade: "counterparty",
        daysAgo: 2 + random() * 30,
        action: "deal.close",
      }),
    ),
  );
}

/** The whole file: one JSON object per line, oldest first. */
export function sampleText(): string {
  const random = createSeededRandom(SEED);
  const stories = STORY_AGENTS.flatMap((agent) => drawStory(random, agent));
  const others = createSeededRandom(FLEET_SEED);
  const fleets = FLEET_AGENTS.flatMap((id) => drawFleetAgent(others, id));
  const decoys = DECOYS_SINCE.flatMap((since, i) => drawDecoy(others, since, i + 1));
  const rows = [...stories, ...fleets, ...decoys, ...drawRing(others)];
  rows.sort((first, second) => first.settledAtMs - second.settledAtMs);
  return rows.map((row) => `${row.line}\n`).join("");
}

/** The requests of the last week: one JSON object per line, oldest first. */
export function sampleRequestText(): string {
  const lines = listSampleRequests(createSeededRandom).map(({ daysAgo, ...request }) => {
    const at = new Date(Math.round(NEWEST_MS - daysAgo * DAY_MS)).toISOString();
    return `${JSON.stringify({ at, ...request })}\n`;
  });
  return lines.join("");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("./outcomes.ndjson", import.meta.url), sampleText());
  writeFileSync(new URL("./requests.ndjson", import.meta.url), sampleRequestText());
}
