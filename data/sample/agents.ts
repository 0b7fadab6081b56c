// Agents and reporters of the sample history: one agent for each story that a page of the console or of
// the docs tells, fleets of ordinary ones, and a ring that praises itself. Read by generate.ts.

/** Days that the history spans. */
export const DAYS = 120;

/** Behavior of an agent; days are counted back from the newest moment. */
export interface AgentPlan {
  readonly id: string;
  readonly outcomeCount: number;
  /** Probability of failure as a function of days before the newest moment. */
  readonly failureRate: (daysAgo: number) => number;
  /** First day on which it is seen; `DAYS` when it was there from the start. */
  readonly sinceDaysAgo: number;
  /** Last day on which it is seen; 0 where it is left out. */
  readonly untilDaysAgo?: number;
  readonly actions: readonly string[];
  /** Median stakes; single stakes spread log-normally around it, within 1 and 5,000. */
  readonly stakesMedian: number;
}

/** Counterparties of one company that report outcomes, alike in quality. */
export interface ReporterPlan {
  readonly company: string;
  readonly role: string;
  readonly count: number;
  /** Probability that a report says the opposite of what happened. */
  readonly errorRate: number;
  readonly grade: string;
}

const OFFICE_ACTIONS = ["crm.read", "email.send", "report.write"];

function createSteadyAgent(
  id: string,
  outcomeCount: number,
  rate: number,
  stakesMedian = 40,
): AgentPlan {
  const span = { sinceDaysAgo: DAYS, actions: OFFICE_ACTIONS };
  return { id, outcomeCount, failureRate: () => rate, ...span, stakesMedian };
}

/** Agents whose outcomes are drawn one by one, independent of each other. */
export const STORY_AGENTS: readonly AgentPlan[] = [
  createSteadyAgent("agent://acme/billing-bot", 330, 0.006, 120),
  createSteadyAgent("agent://acme/support-triage", 300, 0.012),
  createSteadyAgent("agent://acme/ledger-sync", 260, 0.001, 300),
  createSteadyAgent("agent://globex/courier", 250, 0.02),
  createSteadyAgent("agent://globex/inventory", 220, 0.015),
  createSteadyAgent("agent://initech/tps-reports", 200, 0.03),
  createSteadyAgent("agent://initech/mail-sorter", 190, 0.025),
  createSteadyAgent("agent://hooli/search-agent", 210, 0.01),
  createSteadyAgent("agent://hooli/calendar", 180, 0.002),
  createSteadyAgent("agent://stark/procurement", 170, 0.012, 600),
  createSteadyAgent("agent://stark/lab-assistant", 140, 0.04),
  createSteadyAgent("agent://umbrella/records", 120, 0.09),
  createSteadyAgent("agent://umbrella/dispatch", 110, 0.12),
  {
    // Turned bad ten days ago: its long good record is why a plain average would miss it. Its last
    // call succeeded, which is not enough.
    id: "agent://globex/price-scout",
    outcomeCount: 240,
    failureRate: (daysAgo) => {
      if (daysAgo >= 10) return 0.01;
      return daysAgo >= 8.5 ? 0.8 : daysAgo < 0.063 ? 0 : 1;
    },
    sinceDaysAgo: DAYS,
    actions: ["market.quote", "order.place"],
    stakesMedian: 80,
  },
  {
    // A fraudster: fails nearly all counterparties since it appeared.
    id: "agent://quickcash/loan-broker",
    outcomeCount: 130,
    failureRate: (daysAgo) => (daysAgo < 14 ? 1 : 0.95),
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
  {
    // Recovered: failed half of its calls for two weeks, and has worked again for two months.
    id: "agent://vandelay/importer",
    outcomeCount: 110,
    failureRate: (daysAgo) => (daysAgo > 68 && daysAgo < 84 ? 0.55 : 0.01),
    sinceDaysAgo: DAYS,
    actions: ["customs.declare", "order.place"],
    stakesMedian: 150,
  },
  {
    // Turned bad like price-scout, two months earlier, and was taken out of service.
    id: "agent://vandelay/exporter",
    outcomeCount: 120,
    failureRate: (daysAgo) => (daysAgo < 82 ? 0.8 : 0.01),
    sinceDaysAgo: DAYS,
    untilDaysAgo: 71,
    actions: ["customs.declare"],
    stakesMedian: 90,
  },
  {
    // The fraudster of the months before loan-broker.
    id: "agent://fastbuck/invoice-factor",
    outcomeCount: 110,
    failureRate: () => 0.92,
    sinceDaysAgo: 118,
    untilDaysAgo: 84,
    actions: ["invoice.buy", "payment.collect"],
    stakesMedian: 350,
  },
  {
    // Expensive calls alone, all of them good.
    id: "agent://tyrell/wire-desk",
    outcomeCount: 60,
    failureRate: () => 0,
    sinceDaysAgo: 100,
    actions: ["payment.send"],
    stakesMedian: 2500,
  },
  {
    // Good at small amounts: challenged where it asks for more than it has proven.
    id: "agent://initech/expense-filer",
    outcomeCount: 80,
    failureRate: () => 0.05,
    sinceDaysAgo: 90,
    actions: ["expense.file"],
    stakesMedian: 8,
  },
  {
    // Failed for two days a week ago, because of a supplier: its people dispute the denials.
    id: "agent://wonka/taste-tester",
    outcomeCount: 90,
    failureRate: (daysAgo) => (daysAgo > 5 && daysAgo < 8 ? 0.9 : 0.02),
    sinceDaysAgo: DAYS,
    actions: ["sample.order"],
    stakesMedian: 30,
  },
  {
    // Good, and silent for two months.
    id: "agent://soylent/harvest-planner",
    outcomeCount: 50,
    failureRate: () => 0.01,
    sinceDaysAgo: DAYS,
    untilDaysAgo: 60,
    actions: ["field.plan"],
    stakesMedian: 70,
  },
  {
    // A thin file with failures in it.
    id: "agent://tyrell/trainee",
    outcomeCount: 4,
    failureRate: (daysAgo) => (daysAgo < 4 ? 1 : 0),
    sinceDaysAgo: 8,
    actions: ["crm.read"],
    stakesMedian: 15,
  },
];

/** Rows that are kept of each of the agents above, the first drawn; all of those that are named. */
export const STORY_OUTCOMES_MAX = 84;
export const STORIES_KEPT_WHOLE: ReadonlySet<string> = new Set([
  "agent://acme/ledger-sync",
  "agent://globex/price-scout",
  "agent://hooli/search-agent",
]);

/** Agents whose failures follow each other: one that has just failed is likely to fail again. */
export const FLEETS: Readonly<Record<string, readonly string[]>> = {
  acme: ["contract-review", "payroll", "refund-desk", "travel-planner"],
  cyberdyne: ["build-runner", "chip-tester", "patch-bot", "stock-counter", "drone-dispatch"],
  globex: ["fleet-router", "freight-quote", "tender-writer", "yard-planner"],
  hooli: ["ad-buyer", "doc-search", "meeting-notes", "translator"],
  initech: ["cover-sheets", "helpdesk", "ledger-export", "printer-watch"],
  soylent: ["batch-planner", "crop-survey", "menu-writer", "supplier-chat", "recipe-index"],
  tyrell: ["memory-archive", "owl-keeper", "parts-buyer", "voice-desk"],
  umbrella: ["lab-orders", "claim-filer", "shift-planner", "sample-tracker"],
  vandelay: ["import-quotes", "latex-sales", "port-agent", "price-lists"],
  wonka: ["cocoa-buyer", "flavor-notes", "gate-keeper", "tour-guide", "box-packer"],
};
export const FLEET_ACTIONS = ["ticket.close", "order.place", "report.write", "email.send"];

/**
 * Names that one fraudster uses for a few days each: some first calls succeed, the others fail. Days ago
 * of the first one; DECOY_DAYS later the name is given up.
 */
export const DECOY_COMPANY = "fastbuck";
export const DECOYS_SINCE: readonly number[] = [112, 103, 95, 86, 77, 52, 38, 21];
export const DECOY_DAYS = 9;
export const DECOY_OUTCOMES = { good: 3, all: 13 };

/** Agents that praise each other and a broker, and that no other agent praises. */
export const RING_COMPANY = "mirror";
export const RING_SIZE = 4;
export const RING_BROKER = `agent://${RING_COMPANY}/broker`;

export const REPORTERS: readonly ReporterPlan[] = [
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
