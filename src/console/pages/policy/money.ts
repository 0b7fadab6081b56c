// Money of a back-test: what each way to decide would have cost by the tenant's own numbers, and what check
// would do if one of its two main numbers were another.
import type {
  BacktestFindings,
  BacktestMoneyCurve,
  BacktestMoneyRow,
} from "../../../contract/schemas/backtest.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { describeUnitOfAccount, formatAmount } from "../../parts/amounts.ts";
import { type Axis, createAxis, createLinearAxis, createLogAxis } from "../../parts/axis.ts";
import { Card } from "../../parts/page.ts";
import { type PlotArea, PlotFrame } from "../../parts/plot-frame.ts";
import { createShareAxis } from "../../parts/plots.ts";
import { type Column, Table } from "../../parts/table.ts";

const QUESTION_LABELS: Readonly<Record<BacktestMoneyRow["asked"], string>> = {
  check: "check",
  L2: "verify at L2",
  L3: "verify at L3",
};
const PLAN_LABELS: Readonly<Record<BacktestMoneyRow["plan"], string>> = {
  live: "in force",
  given: "draft",
  always_verify: "verify every deal",
  connect_all: "connect every deal",
};

/** Amounts are in `unit`. */
const listMoneyColumns = (unit: string): readonly Column<BacktestMoneyRow>[] => [
  { label: "asked as", cell: ({ asked }) => QUESTION_LABELS[asked] },
  { label: "decided by", cell: ({ plan }) => PLAN_LABELS[plan] },
  { label: `lost, ${unit}`, isNumber: true, cell: ({ lost }) => formatAmount(lost) },
  { label: `friction, ${unit}`, isNumber: true, cell: ({ friction }) => formatAmount(friction) },
  { label: `review, ${unit}`, isNumber: true, cell: ({ review }) => formatAmount(review) },
  {
    label: `cost, ${unit}`,
    isNumber: true,
    cell: ({ cost }) => html`<b>${formatAmount(cost)}</b>`,
  },
  { label: "cost, % of volume", isNumber: true, cell: (row) => formatPercent(row.cost_share, 2) },
  { label: "good connected", isNumber: true, cell: (row) => formatPercent(row.good_connected) },
  { label: "good held", isNumber: true, cell: (row) => formatPercent(row.good_held) },
];

/** Cards of the money; one sentence where no deal had stakes that were known. */
export function BacktestMoneyCards(props: {
  readonly findings: BacktestFindings;
  /** Name of the unit of all amounts. */
  readonly unit: string;
}): VNode {
  const { findings, unit } = props;
  const { money, money_curves: curves } = findings;
  const deals = money[0]?.deals ?? 0;
  if (deals === 0) {
    return html`<${Card} title="Cost by your own numbers">
      <p class="dim">No outcome has stakes that were known beforehand: no money is counted.</p>
    <//>`;
  }
  return html`
    <${Card} title="Cost by your own numbers">
      <${Table} label="cost by your own numbers" columns=${listMoneyColumns(unit)} rows=${money} />
      <p class="dim small">
        ${formatNumber(deals)} deals whose stakes were known beforehand, counted by the draft's
        amounts where there is one. Lost: stakes of bad deals that were connected, or that
        verification or a person misses. Friction: volume of good deals lost to delay. Review: fees
        of verifying and of people.
      </p>
    <//>
    <${Card} title="If one number were another">
      <div class="plots pairs">
        ${curves.flatMap((curve) => [
          html`<${MoneyCurve}
            curve=${curve}
            share="good_connected"
            label="good deals connected"
          />`,
          html`<${MoneyCurve} curve=${curve} share="cost_share" label="cost, share of volume" />`,
        ])}
      </div>
      <p class="dim small">
        What check would do, the costs counted by the numbers in force in the back-test. The dashed
        upright marks the number that the policy has.
      </p>
    <//>
  `;
}

const HEIGHT = 230;
/** Px between two labels at least. */
const TICK_PX = 64;
const BPS = 10_000;

interface MoneyMember {
  readonly label: () => string;
  readonly say: (value: number) => string;
  readonly createAxis: (range: readonly [number, number], steps: number) => Axis;
}

/** Small numbers need room, and amounts range over powers of ten. */
const MEMBERS: Readonly<Record<BacktestMoneyCurve["member"], MoneyMember>> = {
  tolerated_loss_bps: {
    label: () => "tolerated loss, % of a good deal's volume",
    say: (value) => formatPercent(value / BPS, 2),
    createAxis: (range, steps) => {
      const { ticks } = createLinearAxis({ range, steps, isFixed: true });
      return createAxis("sqrt", range, ticks);
    },
  },
  risk_tolerance: {
    label: () => `risk tolerance, ${describeUnitOfAccount()}`,
    say: formatAmount,
    createAxis: (range, steps) => createLogAxis({ range, steps }),
  },
};

interface MoneyCurveProps {
  readonly curve: BacktestMoneyCurve;
  readonly share: "good_connected" | "cost_share";
  readonly label: string;
}

function MoneyCurve({ curve, share, label }: MoneyCurveProps): VNode {
  const { member, points, in_force: inForce } = curve;
  const { label: describeMember, say, createAxis: create } = MEMBERS[member];
  const own = points.find(({ value }) => value === inForce)?.[share];
  const words = `${label} at ${say(inForce)}: ${formatPercent(own, 2)}`;
  const most = Math.max(...points.map((point) => point[share] ?? 0)) || 1;
  const createMemberAxis = (length: number) => {
    const steps = Math.max(2, Math.floor(length / TICK_PX));
    const axis = create([points[0]!.value, points.at(-1)!.value], steps);
    return { axis, labels: axis.ticks.map(say) };
  };
  const draw = (area: PlotArea) => {
    const x = area.x(inForce);
    return html`<line class="plot-ideal" x1=${x} x2=${x} y1=${area.top} y2=${area.bottom} />
      <${CurveLine} ...${{ curve, share, area }} />`;
  };
  return html`<figure>
    <${PlotFrame}
      title=${`${label} by ${describeMember()}; ${words}`}
      x=${createMemberAxis}
      y=${(length: number) => createShareAxis(most, length)}
      xLabel=${describeMember()}
      yLabel=${share === "cost_share" ? "cost, % of volume" : "% of good deals connected"}
      height=${HEIGHT}
      draw=${draw}
    />
    <figcaption class="small">${words}</figcaption>
  </figure>`;
}

interface CurveLineProps extends Pick<MoneyCurveProps, "curve" | "share"> {
  readonly area: PlotArea;
}

function CurveLine({ curve, share, area: { x, y } }: CurveLineProps): VNode {
  const { say } = MEMBERS[curve.member];
  const points = curve.points.map((point) => ({ value: point.value, part: point[share] ?? 0 }));
  return html`<g class="new">
    <polyline points=${points.map(({ value, part }) => `${x(value)},${y(part)}`).join(" ")} />
    ${points.map(
      ({ value, part }) =>
        html`<circle cx=${x(value)} cy=${y(part)} r=${value === curve.in_force ? 5 : 2}
          ><title>${`${say(value)}: ${formatPercent(part, 2)}`}</title></circle
        >`,
    )}
  </g>`;
}
