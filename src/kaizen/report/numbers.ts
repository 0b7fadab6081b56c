// Numbers of a run for programs that draw: each gate's values beside their bounds, slices of the test,
// bins with their intervals, weights before and after. All from the run's record; nothing is judged
// anew, a gate's verdict stands in the record.
import { POINTS_PER_LOGIT } from "../../contract/units.ts";
import type { ScoringModel } from "../../engine/config.ts";
import { computeWilsonInterval } from "../../policy/confidence-interval.ts";
import { findGateQuestion, listGateBounds, listGateIntervals } from "../gates/register.ts";
import type { GateBound, GatePolicy, GateResult, IntervalMark } from "../gates/register.ts";
import type { RunChartData, ModelChartData } from "../model/run-charts.ts";
import type { RunFindings, ScorecardFindings } from "../run.ts";
import type { ScorecardSide } from "../model/scorecard.ts";
import { SCORE_TERMS } from "./labels.ts";

/** A number beside its bound; several of them make a verdict, not each by itself. */
export interface GateMeasure extends GateBound {
  name: string;
  value: number;
  is_within: boolean;
}

interface GateNumbers {
  id: string;
  name: string;
  question: string;
  passed: boolean;
  is_warning: boolean;
  sentence: string;
  measures: GateMeasure[];
  intervals: IntervalMark[];
}

/** Of a slice of the test; what the run did not compute is left out. */
export type SliceNumbers = { name: string; rows: number } & Partial<
  Record<"z" | "loss_change" | "foretold" | "seen" | "champion_foretold" | "chance", number>
>;

interface BinNumbers {
  expected: number;
  observed: number;
  rows: number;
  /** 95 % interval of the share that failed. */
  low: number;
  high: number;
}

interface WeightNumbers {
  name: string;
  champion: number;
  challenger: number;
  /** Points that a usual difference moves a score; 0 for the starting point. */
  champion_points: number;
  challenger_points: number;
}

interface SideNumbers {
  side: ScorecardSide;
  passed: boolean;
  gates: GateNumbers[];
  slices: SliceNumbers[];
  reliability?: { champion: BinNumbers[]; challenger: BinNumbers[] };
  weights?: WeightNumbers[];
}

export interface RunNumbers {
  sides: SideNumbers[];
}

/** A record is JSON: what was not finite came back as null. */
const isNumber = (value: unknown): value is number => Number.isFinite(value);

function isWithinBound(
  value: number,
  { comparison, bound, bound_high: high = bound }: GateBound,
): boolean {
  if (comparison === "at_least") return value >= bound;
  if (comparison === "above") return value > bound;
  if (comparison === "at_most") return value <= bound;
  return value >= bound && value <= high;
}

function listMeasures(gate: GateResult, policy: GatePolicy): GateMeasure[] {
  return listGateBounds(gate, policy).flatMap(({ name, ...bound }) => {
    const value = gate.numbers[name];
    if (!isNumber(value) || !isNumber(bound.bound)) return [];
    return [{ name, value, ...bound, is_within: isWithinBound(value, bound) }];
  });
}

const SLICE_MEMBERS: Readonly<Record<string, Exclude<keyof SliceNumbers, "name">>> = {
  rows: "rows",
  z: "z",
  "loss change": "loss_change",
  foretold: "foretold",
  seen: "seen",
  "champion foretold": "champion_foretold",
  chance: "chance",
};

/** The numbers of G10 by slice: their names are `slice: member`. */
function listSliceNumbers(gates: readonly GateResult[]): SliceNumbers[] {
  const slices = new Map<string, SliceNumbers>();
  const { numbers = {} } = gates.find(({ id }) => id === "G10") ?? {};
  for (const [key, value] of Object.entries(numbers)) {
    const at = key.lastIndexOf(": ");
    const member = SLICE_MEMBERS[key.slice(at + 2)];
    if (at < 0 || member === undefined || !isNumber(value)) continue;
    const name = key.slice(0, at);
    const slice = slices.get(name) ?? { name, rows: 0 };
    slice[member] = value;
    slices.set(name, slice);
  }
  return [...slices.values()];
}

function listReliabilityBins({ reliability }: ModelChartData): BinNumbers[] {
  return reliability
    .filter(({ rows }) => rows > 0)
    .map(({ expected, observed, rows }) => {
      const { low, high } = computeWilsonInterval(observed, rows);
      return { expected, observed, rows, low, high };
    });
}

function listWeightChanges(before: ScoringModel, after: ScoringModel, { spreads }: RunChartData) {
  const points = (weight: number, column: number) =>
    column === 0 ? 0 : Math.abs(weight) * (spreads[column] ?? 0) * POINTS_PER_LOGIT;
  return SCORE_TERMS.filter(({ of }) => of(before) !== 0 || of(after) !== 0).map(
    ({ name, column, of }) => ({
      name,
      champion: of(before),
      challenger: of(after),
      champion_points: points(of(before), column),
      challenger_points: points(of(after), column),
    }),
  );
}

function buildSideNumbers(record: ScorecardFindings, policy: GatePolicy): SideNumbers {
  const { side, passed, gates, figures, champion, challenger } = record;
  return {
    side,
    passed,
    gates: gates.map((gate) => ({
      id: gate.id,
      name: gate.name,
      question: findGateQuestion(gate) ?? gate.name,
      passed: gate.passed,
      is_warning: gate.isWarning === true,
      sentence: gate.sentence,
      measures: listMeasures(gate, policy),
      intervals: listGateIntervals(gate),
    })),
    slices: listSliceNumbers(gates),
    ...(figures && {
      reliability: {
        champion: listReliabilityBins(figures.champion),
        challenger: listReliabilityBins(figures.challenger),
      },
    }),
    ...(figures && challenger && { weights: listWeightChanges(champion, challenger, figures) }),
  };
}

/** The numbers of a run's findings, in the order of its gates. */
export function buildRunNumbers({ sides, policy }: RunFindings): RunNumbers {
  return { sides: sides.map((side) => buildSideNumbers(side, policy)) };
}
