// Counts of one question of eval:stakes: who connects at which stakes, and what the decisions would have
// cost in three worlds, beside verifying everyone.
import { DECISION } from "../src/contract/vocabulary.ts";

/** What a look at one good deal costs: a fee, and a share of its volume. */
interface LookCost {
  readonly fee: number;
  readonly friction: number;
}

interface World {
  readonly verifying: LookCost;
  readonly person: LookCost;
}

export const WORLDS = {
  cheap: {
    verifying: { fee: 0.05, friction: 0.001 },
    person: { fee: 5, friction: 0.02 },
  },
  typical: {
    verifying: { fee: 0.5, friction: 0.02 },
    person: { fee: 8, friction: 0.05 },
  },
  dear: {
    verifying: { fee: 1, friction: 0.04 },
    person: { fee: 15, friction: 0.08 },
  },
} as const satisfies Record<string, World>;
type WorldName = keyof typeof WORLDS;
const WORLD_NAMES = Object.keys(WORLDS) as WorldName[];

/** Shares of failures that verifying and a person catch. */
const CAUGHT = { verifying: 0.8, person: 0.95 } as const;
/** Bands of stakes, by their upper bound. */
const BANDS = { "to 20": 20, "to 100": 100, "to 500": 500, "to 2500": 2500, above: Infinity };

/** One deal as it was decided. */
export interface DecidedDeal {
  /** Index into DECISIONS. */
  readonly decision: number;
  readonly stakes: number;
  readonly isBad: boolean;
  /** A good deal of an established agent. */
  readonly isEstablished: boolean;
}

export type CostByWorld = Record<WorldName, number>;

export interface BandFigures {
  /** Share of all deals. */
  deals: number;
  established_connect: number;
  good_connect: number;
  bad_connect: number;
  good_held: number;
}

/** Shares of 1, null where there was nothing; costs in percent of volume. */
export interface StakesFigures {
  established_connect: number;
  good_connect: number;
  bad_connect: number;
  /** Share of the failing deals' volume that connects. */
  bad_money: number;
  /** Share of the good deals that wait for a person. */
  good_held: number;
  /** Looks cost on good deals; a failing deal costs what it loses. */
  cost: CostByWorld;
  always_verify: CostByWorld;
  /** The same with the fees of looks at failing deals. */
  with_all_fees: { cost: CostByWorld; always_verify: CostByWorld };
  bands: Record<string, BandFigures>;
}

class BandCounts {
  readonly seen = { good: 0, bad: 0, established: 0 };
  readonly connected = { good: 0, bad: 0, established: 0 };
  goodHeld = 0;

  add({ decision, isBad, isEstablished }: DecidedDeal): void {
    const kind = isBad ? "bad" : "good";
    const connects = decision === DECISION.connect;
    this.seen[kind] += 1;
    if (isEstablished) this.seen.established += 1;
    if (connects) {
      this.connected[kind] += 1;
      if (isEstablished) this.connected.established += 1;
    }
    if (!isBad && decision === DECISION.escalate) this.goodHeld += 1;
  }

  get deals(): number {
    return this.seen.good + this.seen.bad;
  }

  buildFigures() {
    const { seen, connected, goodHeld } = this;
    return {
      established_connect: connected.established / seen.established,
      good_connect: connected.good / seen.good,
      bad_connect: connected.bad / seen.bad,
      good_held: goodHeld / seen.good,
    };
  }
}

/**
 * Cost of one deal under a decision: what a failure loses, what a look at a good deal costs. A refusal needs
 * no look; a good deal that it ends counts like one that a person delays.
 */
function computeDealCost(
  { verifying, person }: World,
  { stakes, isBad }: Pick<DecidedDeal, "stakes" | "isBad">,
  decision: number,
): { cost: number; withAllFees: number } {
  if (decision === DECISION.connect) return buildCost(isBad ? stakes : 0, 0);
  if (decision === DECISION.refuse) return buildCost(isBad ? 0 : stakes * person.friction, 0);
  const isVerified = decision === DECISION.connect_with_verification;
  const { fee, friction } = isVerified ? verifying : person;
  if (!isBad) return buildCost(fee + stakes * friction, 0);
  return buildCost(stakes * (1 - (isVerified ? CAUGHT.verifying : CAUGHT.person)), fee);
}

function buildCost(cost: number, feeOfFailure: number) {
  return { cost, withAllFees: cost + feeOfFailure };
}

/** Costs of all deals so far, by world. */
class CostSums {
  readonly #sums = { cheap: 0, typical: 0, dear: 0 };
  readonly #sumsWithAllFees = { cheap: 0, typical: 0, dear: 0 };

  add(deal: DecidedDeal, decision: number): void {
    for (const name of WORLD_NAMES) {
      const { cost, withAllFees } = computeDealCost(WORLDS[name], deal, decision);
      this.#sums[name] += cost;
      this.#sumsWithAllFees[name] += withAllFees;
    }
  }

  /** In percent of a volume. */
  computePercents(volume: number): { cost: CostByWorld; withAllFees: CostByWorld } {
    const share = ({ cheap, typical, dear }: CostByWorld) => ({
      cheap: (100 * cheap) / volume,
      typical: (100 * typical) / volume,
      dear: (100 * dear) / volume,
    });
    return { cost: share(this.#sums), withAllFees: share(this.#sumsWithAllFees) };
  }
}

export class StakesTally {
  readonly #all = new BandCounts();
  readonly #bands = Object.keys(BANDS).map(() => new BandCounts());
  readonly #bounds = Object.values(BANDS);
  #volume = 0;
  #badVolume = 0;
  #badConnected = 0;
  readonly #costs = new CostSums();
  readonly #costsVerified = new CostSums();

  add(deal: DecidedDeal): void {
    const { decision, stakes, isBad } = deal;
    this.#all.add(deal);
    this.#bands[this.#bounds.findIndex((bound) => stakes <= bound)]!.add(deal);
    this.#volume += stakes;
    if (isBad) {
      this.#badVolume += stakes;
      if (decision === DECISION.connect) this.#badConnected += stakes;
    }
    this.#costs.add(deal, decision);
    this.#costsVerified.add(deal, DECISION.connect_with_verification);
  }

  buildFigures(): StakesFigures {
    const all = this.#all.deals;
    const bands = Object.keys(BANDS).map((name, i): [string, BandFigures] => {
      const band = this.#bands[i]!;
      return [name, { deals: band.deals / all, ...band.buildFigures() }];
    });
    const own = this.#costs.computePercents(this.#volume);
    const verified = this.#costsVerified.computePercents(this.#volume);
    return {
      ...this.#all.buildFigures(),
      bad_money: this.#badConnected / this.#badVolume,
      cost: own.cost,
      always_verify: verified.cost,
      with_all_fees: { cost: own.withAllFees, always_verify: verified.withAllFees },
      bands: Object.fromEntries(bands),
    };
  }
}

/**
 * Medians of figures member by member; `runs` have the same members. Runs without a figure (nothing in
 * the band) are left out; null where none has one.
 */
export function computeMedians<Figures extends object>(runs: readonly Figures[]): Figures {
  const [first] = runs;
  if (first === undefined) throw new RangeError("no runs");
  const members = (Object.keys(first) as (keyof Figures)[]).map((member) => {
    const values = runs.map((run) => run[member]);
    const median =
      typeof values[0] === "number"
        ? computeMedian(values as number[])
        : computeMedians(values as object[]);
    return [member, median];
  });
  return Object.fromEntries(members) as Figures;
}

/** To four decimals. */
function computeMedian(values: readonly number[]): number | null {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = (sorted.length - 1) / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
  return Number(median.toFixed(4));
}
