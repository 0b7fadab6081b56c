// Makes data/sample/requests.ndjson: what callers asked, people decided and agents noted in the last week
// of the sample history. The service answers these requests itself when it loads them, each at its own
// time; nothing here says what the answers are. Seeded; times as in generate.ts.
import { FLEET_ACTIONS, FLEETS, STORY_AGENTS } from "./agents.ts";

const SEED = 11;
const DAYS = 7;
/** Requests drawn at random; half of them in the last day. */
const DRAWN = { days: DAYS, all: 240, lastDay: 120 };

type Random = () => number;

/** One line of the file, before its time is written as a date. */
export interface SampleRequest {
  readonly daysAgo: number;
  readonly do: "verify" | "check" | "handshake" | "decide" | "dispute" | "source" | "note";
  /** Agent and level of the review that is decided or opened. */
  readonly agent?: string;
  readonly level?: string;
  /** Days that a decision holds. */
  readonly holdsDays?: number;
  readonly body: object;
}

function createVerify(
  daysAgo: number,
  [agent_id, action, tool_level]: readonly [string, string, string],
  stakes?: number,
  context: object = {},
): SampleRequest {
  const amount = stakes === undefined ? {} : { stakes };
  return { daysAgo, do: "verify", body: { agent_id, action, tool_level, ...amount, context } };
}

const HANDBOOK = "handbook:hooli/returns-2025";

/** Sources, one text that cites one, and one that cites nothing registered. */
function listSourceRequests(): SampleRequest[] {
  const register = (source_id: string, title: string, text: string): SampleRequest => ({
    daysAgo: DAYS,
    do: "source",
    body: { source_id, title, text, visibility: "public" },
  });
  const writer = ["agent://hooli/doc-search", "report.write", "L2"] as const;
  const guesser = ["agent://umbrella/claim-filer", "report.write", "L2"] as const;
  const cites = { cited_sources: [HANDBOOK] };
  return [
    register(
      HANDBOOK,
      "Returns handbook 2025",
      "Goods may be returned within 30 days. Refunds are paid within 14 days to the original account.",
    ),
    register(
      "contract:vandelay/latex-2025",
      "Supply contract, Vandelay Industries",
      "Vandelay Industries delivers 400 units a month at a price of 12.50 each until December 2025.",
    ),
    register(
      "price-list:wonka/q4",
      "Price list, fourth quarter",
      "Cocoa powder costs 8.20 a kilogram. Orders above 500 kilograms get a discount of 5 percent.",
    ),
    createVerify(2.4, writer, undefined, {
      ...cites,
      content: "Goods may be returned within 30 days. Refunds are paid within 14 days.",
    }),
    createVerify(1.3, guesser, undefined, { cited_sources: ["handbook:umbrella/unknown"] }),
    {
      daysAgo: 1.2,
      do: "note",
      body: {
        agent_id: "agent://hooli/doc-search",
        action: "report.write",
        content_hash: `sha256:${"5e".repeat(32)}`,
        cited_sources: [HANDBOOK],
      },
    },
    {
      daysAgo: 0.4,
      do: "note",
      body: {
        agent_id: "agent://vandelay/latex-sales",
        action: "order.place",
        content_hash: `sha256:${"a7".repeat(32)}`,
        cited_sources: ["contract:vandelay/latex-2025"],
      },
    },
  ];
}

const SCOUT = ["agent://globex/price-scout", "order.place", "L2"] as const;
const BROKER = ["agent://quickcash/loan-broker", "payment.collect", "L3"] as const;
const TASTER = ["agent://wonka/taste-tester", "sample.order", "L2"] as const;
const FILER = ["agent://initech/expense-filer", "expense.file", "L2"] as const;
const WIRES = ["agent://tyrell/wire-desk", "payment.send", "L3"] as const;
const DISPATCH = ["agent://umbrella/dispatch", "order.place", "L2"] as const;

/** Requests of the agents that have a story, and what people decided about them. */
function listStoryRequests(): SampleRequest[] {
  const decide = (daysAgo: number, [agent, , level]: readonly string[], body: object) =>
    ({ daysAgo, do: "decide", agent: agent!, level: level!, body }) as const;
  return [
    createVerify(6.4, BROKER, 400),
    { ...decide(6.2, BROKER, { decision: "upheld", who: "ann", note: "complaints" }) },
    createVerify(6.1, BROKER, 400),
    createVerify(2.6, BROKER, 800),
    createVerify(0.3, BROKER, 950),
    createVerify(6.3, TASTER, 120),
    {
      daysAgo: 5.9,
      do: "dispute",
      agent: TASTER[0],
      level: "L2",
      body: {
        statement: "Our supplier was down for two days. It has delivered again since this morning.",
        contact: "ops@wonka.example",
      },
    },
    {
      ...decide(5.2, TASTER, { decision: "overturned", who: "ben", note: "outage confirmed" }),
      holdsDays: 14,
      body: { decision: "overturned", who: "ben", note: "outage confirmed", max_stakes: 200 },
    },
    createVerify(4.7, TASTER, 120),
    createVerify(1.6, TASTER, 90),
    ...[5.5, 4.4, 3.6, 2.2, 1.1, 0.45, 0.1].map((daysAgo, i) =>
      createVerify(daysAgo, SCOUT, 80 + 45 * i),
    ),
    ...[5.1, 3.1, 0.6].map((daysAgo, i) => createVerify(daysAgo, FILER, [8, 900, 12][i])),
    createVerify(0.2, FILER, 900),
    ...[4.2, 2.1, 0.7].map((daysAgo) => createVerify(daysAgo, WIRES, 2500)),
    createVerify(3.3, DISPATCH, 250),
    createVerify(0.5, DISPATCH, 300),
    createVerify(0.8, ["agent://hooli/new-hire", "email.send", "L2"], 20),
    createVerify(0.35, ["agent://tyrell/trainee", "crm.read", "L1"]),
    {
      daysAgo: 0.25,
      do: "dispute",
      agent: "agent://umbrella/records",
      level: "L2",
      body: {
        statement: "Nine of the failures were one broken form. Please look at the last week alone.",
        contact: "records@umbrella.example",
      },
    },
  ];
}

const LEVEL_OF: Readonly<Record<string, string>> = {
  "crm.read": "L1",
  "report.write": "L1",
  "ticket.close": "L1",
  "email.send": "L2",
  "order.place": "L2",
};

/** Everyday requests: mostly verify, some checks and handshakes. */
function drawRequests(random: Random): SampleRequest[] {
  const draw = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const fleet = Object.entries(FLEETS).flatMap(([company, roles]) =>
    roles.map((role) => `agent://${company}/${role}`),
  );
  const others = STORY_AGENTS.filter((agent) => (agent.untilDaysAgo ?? 0) === 0)
    .slice(0, 13)
    .map(({ id }) => id);
  const all = [...fleet, ...others];
  return Array.from({ length: DRAWN.all }, (_, i): SampleRequest => {
    const daysAgo = i < DRAWN.lastDay ? random() : 1 + random() * (DRAWN.days - 1.01);
    const agent = draw(all);
    const stakes = Math.round(20 * Math.exp(1.5 * random())) + 1;
    const kind = random();
    if (kind < 0.15) {
      const counterparty = draw(all.filter((id) => id !== agent));
      return { daysAgo, do: "handshake", body: { initiator: agent, counterparty, stakes } };
    }
    if (kind < 0.35) return { daysAgo, do: "check", body: { subject: agent, stakes } };
    const action = draw(FLEET_ACTIONS);
    const level = LEVEL_OF[action] ?? "L1";
    return createVerify(daysAgo, [agent, action, level], level === "L2" ? stakes : undefined);
  });
}

/** All of them, oldest first. */
export function listSampleRequests(createRandom: (seed: number) => Random): SampleRequest[] {
  const requests = [
    ...listSourceRequests(),
    ...listStoryRequests(),
    ...drawRequests(createRandom(SEED)),
  ];
  return requests.toSorted((first, second) => second.daysAgo - first.daysAgo);
}
