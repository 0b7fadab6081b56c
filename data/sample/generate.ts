// Makes data/sample/outcomes.ndjson, the history a first start loads: about 3,000 outcomes over 120
// days between agents of a few companies. Seeded, so the same program always writes the same bytes;
// times count back from a fixed newest moment and are shifted to now when the file is loaded.
// Run: node data/sample/generate.ts
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SEED = 20_260_101;
const NEWEST_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const DAYS = 120;

/** How an agent behaves: its rate of failure as a function of days before the newest moment. */
interface AgentPlan {
  readonly id: string;
  readonly outcomeCount: number;
  readonly failureRate: (daysAgo: number) => number;
  /** First day on which it is seen, counted back; DAYS when it was there from the start. */
  readonly sinceDaysAgo: number;
  readonly actions: readonly string[];
  /** Median stakes; single stakes spread log-normally around it, within 1 and 5,000. */
  readonly stakesMedian: number;
}

/** The counterparties of one company that report outcomes, alike in quality. */
interface ReporterPlan {
  readonly company: string;
  readonly role: string;
  readonly count: number;
  /** How often they report the opposite of what happened. */
  readonly errorRate: number;
  readonly grade: string;
}

function steady(id: string, outcomeCount: number, rate: number, stakesMedian = 40): AgentPlan {
  const actions = ["crm.read", "email.send", "report.write"];
  return { id, outcomeCount, failureRate: () => rate, sinceDaysAgo: DAYS, actions, stakesMedian };
}

const AGENTS: readonly AgentPlan[] = [
  steady("agent://acme/billing-bot", 330, 0.006, 120),
  steady("agent://acme/support-triage", 300, 0.012),
  steady("agent://acme/ledger-sync", 260, 0.001, 300),
  steady("agent://globex/courier", 250, 0.02),
  steady("agent://globex/inventory", 220, 0.015),
  steady("agent://initech/tps-reports", 200, 0.03),
  steady("agent://initech/mail-sorter", 190, 0.025),
  steady("agent://hooli/search-agent", 210, 0.01),
  steady("agent://hooli/calendar", 180, 0.002),
  steady("agent://stark/procurement", 170, 0.012, 600),
  steady("agent://stark/lab-assistant", 140, 0.04),
  steady("agent://umbrella/records", 120, 0.09),
  steady("agent://umbrella/dispatch", 110, 0.12),
  {
    // Turned bad ten days ago: its long good record is why a plain average would miss it.
    id: "agent://globex/price-scout",
    outcomeCount: 240,
    failureRate: (daysAgo) => (daysAgo < 10 ? 0.8 : 0.01),
    sinceDaysAgo: DAYS,
    actions: ["market.quote", "order.place"],
    stakesMedian: 80,
  },
  {
    // A fraudster: fails most counterparties, at growing stakes, since it appeared.
    id: "agent://quickcash/loan-broker",
    outcomeCount: 130,
    failureRate: () => 0.92,
    sinceDaysAgo: 35,
    actions: ["loan.offer", "payment.collect"],
    stakesMedian: 400,
  },
  {
    // A newcomer with a thin file: nothing against it, little for it.
    id: "agent://hooli/new-hire",
    outcomeCount: 3,
    failureRate: () => 0,
    sinceDaysAgo: 6,
    actions: ["crm.read"],
    stakesMedian: 10,
  },
];

const REPORTERS: readonly ReporterPlan[] = [
  { company: "acme", role: "buyer", count: 40, errorRate: 0.001, grade: "counterparty" },
  { company: "globex", role: "carrier", count: 40, errorRate: 0.002, grade: "counterparty" },
  { company: "stark", role: "escrow-desk", count: 30, errorRate: 0, grade: "escrow" },
  { company: "hooli", role: "auditor", count: 30, errorRate: 0.001, grade: "mediator" },
  { company: "initech", role: "clerk", count: 40, errorRate: 0.005, grade: "counterparty" },
  { company: "wonka", role: "supplier", count: 40, errorRate: 0.002, grade: "counterparty" },
  // Careless: their word against a careful reporter's is what credibility is for.
  { company: "umbrella", role: "desk", count: 10, errorRate: 0.05, grade: "counterparty" },
  // Praises and blames almost at random.
  { company: "umbrella", role: "intern", count: 3, errorRate: 0.25, grade: "counterparty" },
];

interface Reporter extends ReporterPlan {
  readonly id: string;
}

const REPORTER_AGENTS: readonly Reporter[] = REPORTERS.flatMap((plan) =>
  Array.from({ length: plan.count }, (_, i) => {
    const number = String(i + 1).padStart(2, "0");
    return Object.assign({ id: `agent://${plan.company}/${plan.role}-${number}` }, plan);
  }),
);

/** mulberry32: small, seeded, good enough to draw a plausible history. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Rounded to cents; normal by Box-Muller. */
function drawStakes(random: () => number, median: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const stakes = median * Math.exp(normal);
  return Math.round(Math.min(Math.max(stakes, 1), 5000) * 100) / 100;
}

function drawReporter(random: () => number, subject: string): Reporter {
  // A company does not report on its own agents.
  const company = subject.split("/")[2];
  const eligible = REPORTER_AGENTS.filter((reporter) => reporter.company !== company);
  return eligible[Math.floor(random() * eligible.length)]!;
}

/** The whole file: one JSON object per line, oldest first. */
export function sampleText(): string {
  const random = seededRandom(SEED);
  const rows: { settledAtMs: number; line: string }[] = [];
  for (const agent of AGENTS) {
    for (let i = 0; i < agent.outcomeCount; i += 1) {
      const daysAgo = random() * agent.sinceDaysAgo;
      const reporter = drawReporter(random, agent.id);
      const hasFailed = random() < agent.failureRate(daysAgo);
      const isMisreported = random() < reporter.errorRate;
      const settledAtMs = Math.round(NEWEST_MS - daysAgo * DAY_MS);
      const outcome = {
        subject: agent.id,
        reporter: reporter.id,
        outcome: hasFailed === isMisreported ? 1 : 0,
        stakes: drawStakes(random, agent.stakesMedian),
        grade: reporter.grade,
        settled_at: new Date(settledAtMs).toISOString(),
        action: agent.actions[Math.floor(random() * agent.actions.length)],
      };
      rows.push({ settledAtMs, line: JSON.stringify(outcome) });
    }
  }
  rows.sort((first, second) => first.settledAtMs - second.settledAtMs);
  return rows.map((row) => `${row.line}\n`).join("");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("./outcomes.ndjson", import.meta.url), sampleText());
}
