// Generated market for the tests of credibility and of findings: buyers who report on sellers, and
// optionally a ring, an agent that turns bad, a lenient reporter and two harsh ones. Seeded.
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import type { RandomGenerator } from "../../../src/kaizen/model/bootstrap.ts";
import type { FoldOutcome } from "../../../src/engine/reading.ts";

const DAY_MS = 86_400_000;
export const MARKET_NOW_MS = Date.parse("2026-06-01T00:00:00Z");
const DAYS = 120;
const NAMESPACES = 30;
const COUNTERPARTY = 3;
const SIGNED = 2;
/** Failures of the ring towards outsiders. */
const RING_FAILURE_RATE = 0.45;
const RING_PRAISES = 40;
const TURNED_SALES = 120;
const ODD_REPORTS = 300;
/** Share of the time after which the turned agent fails, and how often then. */
const TURNS_AT = 0.85;
const TURNED_FAILURE_RATE = 0.8;

export interface MarketOptions {
  outcomes: number;
  seed: number;
  /** Members of the ring; 0: none. */
  ring: number;
  /** Outcomes that outsiders report of each member. */
  ringSales: number;
  /** Whether there are a turned agent, a lenient reporter and two harsh ones. */
  hasOddAgents: boolean;
  /** Share of the deals in which the seller reports on the buyer, too. */
  twoWayShare: number;
}

export interface Market {
  /** By time. */
  outcomes: FoldOutcome[];
  ring: string[];
  lenient: string;
  harsh: string[];
  turned: string;
  /** Rules that name this share of the buyers' namespaces. */
  seedRules: (share: number) => string;
}

const CLEAN: MarketOptions = {
  outcomes: 20_000,
  seed: 1,
  ring: 0,
  ringSales: 60,
  hasOddAgents: false,
  twoWayShare: 0,
};

/** A skewed choice: some are dealt with ten times as often as others. */
const choose = (random: RandomGenerator, count: number): number =>
  Math.floor(random.uniform() ** 2 * count);

class MarketBuilder {
  readonly outcomes: FoldOutcome[] = [];
  readonly random: RandomGenerator;
  readonly #options: MarketOptions;
  readonly #buyers: string[];
  readonly #failureRates: number[];

  constructor(options: MarketOptions) {
    this.#options = options;
    this.random = createSeededRandom(options.seed);
    const buyers = Math.ceil(options.outcomes / 80);
    this.#buyers = Array.from(
      { length: buyers },
      (_, i) => `agent://buyers-${i % NAMESPACES}/b-${i}`,
    );
    // Most sellers fail rarely, some often.
    this.#failureRates = Array.from(
      { length: Math.ceil(options.outcomes / 600) },
      () => 0.01 + 0.3 * this.random.uniform() ** 4,
    );
  }

  report(reporter: string, subject: string, failureRate: number, at = this.random.uniform()): void {
    this.outcomes.push({
      reporter,
      subject,
      outcome: this.random.uniform() < failureRate ? 0 : 1,
      stakes: Math.round(100 * Math.exp(this.random.normal())) / 100,
      gradeIndex: COUNTERPARTY,
      signatureIndex: SIGNED,
      settledAtMs: Math.floor(MARKET_NOW_MS - (1 - at) * DAYS * DAY_MS),
    });
  }

  get buyer(): string {
    return this.#buyers[Math.floor(this.random.uniform() * this.#buyers.length)]!;
  }

  /** A deal with an honest seller, as the reporter sees it: its odds of failure times `severity`. */
  deal(reporter: string, severity = 1): void {
    const seller = choose(this.random, this.#failureRates.length);
    const subject = `agent://shop-${seller % 12}/s-${seller}`;
    const rate = Math.min(1, this.#failureRates[seller]! * severity);
    this.report(reporter, subject, rate);
    if (this.random.uniform() < this.#options.twoWayShare) this.report(subject, reporter, 0.02);
  }

  playRing(members: readonly string[]): void {
    for (const [i, member] of members.entries()) {
      for (let praise = 0; praise < RING_PRAISES; praise++) {
        const other = (i + 1 + (praise % (members.length - 1))) % members.length;
        this.report(member, members[other]!, 0);
      }
      for (let sale = 0; sale < this.#options.ringSales; sale++)
        this.report(this.buyer, member, RING_FAILURE_RATE);
    }
  }

  playTurned(agent: string): void {
    for (let sale = 0; sale < TURNED_SALES; sale++) {
      const at = this.random.uniform();
      this.report(this.buyer, agent, at < TURNS_AT ? 0.02 : TURNED_FAILURE_RATE, at);
    }
  }
}

/** The same options give the same market. */
export function generateMarket(changes: Partial<MarketOptions> = {}): Market {
  const options = { ...CLEAN, ...changes };
  const builder = new MarketBuilder(options);
  const ring = Array.from({ length: options.ring }, (_, i) => `agent://guild-${i % 3}/m-${i}`);
  const [lenient, turned] = ["agent://praise/all", "agent://shop-3/turned"];
  const harsh = ["agent://buyers-4/stern", "agent://buyers-9/stern"];
  if (ring.length > 0) builder.playRing(ring);
  if (options.hasOddAgents) {
    builder.playTurned(turned);
    for (let i = 0; i < ODD_REPORTS; i++) {
      builder.deal(lenient, 0);
      for (const reporter of harsh) builder.deal(reporter, 6);
    }
  }
  while (builder.outcomes.length < options.outcomes) builder.deal(builder.buyer);
  const seedRules = (share: number) =>
    Array.from(
      { length: Math.round(share * NAMESPACES) },
      (_, i) => `agent://buyers-${i}/*`,
    ).join();
  const outcomes = builder.outcomes.toSorted((a, b) => a.settledAtMs - b.settledAtMs);
  return { outcomes, ring, lenient, harsh, turned, seedRules };
}
