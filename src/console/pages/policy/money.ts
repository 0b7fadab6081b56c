// Money of a back-test: what each way to decide would have cost by the tenant's own numbers, and what check
// would do if one of its two main numbers were another.
import type {
  BacktestFindings,
  BacktestMoneyCurve,
  BacktestMoneyRow,
} from "../../../contract/schemas/backtest.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { formatAmount } from "../../parts/amounts.ts";
import { Card } from "../../parts/page.ts";
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

const MONEY_COLUMNS: readonly Column<BacktestMoneyRow>[] = [
  { label: "asked as", cell: ({ asked }) => QUESTION_LABELS[asked] },
  { label: "decided by", cell: ({ plan }) => PLAN_LABELS[plan] },
  { label: "lost", isNumber: true, cell: ({ lost }) => formatAmount(lost) },
  { label: "friction", isNumber: true, cell: ({ friction }) => formatAmount(friction) },
  { label: "review", isNumber: true, cell: ({ review }) => formatAmount(review) },
  { label: "cost", isNumber: true, cell: ({ cost }) => html`<b>${formatAmount(cost)}</b>` },
  { label: "share of volume", isNumber: true, cell: (row) => formatPercent(row.cost_share, 2) },
  { label: "good connected", isNumber: true, cell: (row) => formatPercent(row.good_connected) },
  { label: "good held", isNumber: true, cell: (row) => formatPercent(row.good_held) },
];

/** Cards of the money; one sentence where no deal had stakes that were known. */
export function BacktestMoneyCards({ findings }: { findings: BacktestFindings }): VNode {
  const { money, money_curves: curves } = findings;
  const deals = money[0]?.deals ?? 0;
  if (deals === 0) {
    return html`<${Card} title="Cost by your own numbers">
      <p class="dim">No outcome has stakes that were known beforehand: no money is counted.</p>
    <//>`;
  }
  return html`
    <${Card} title="Cost by your own numbers">
      <${Table} label="cost by your own numbers" columns=${MONEY_COLUMNS} rows=${money} />
      <p class="dim small">
        ${formatNumber(deals)} deals whose stakes were known beforehand, counted by the draft's
        amounts where there is one. Lost: stakes of bad deals that were connected, or that
        verification or a person misses. Friction: volume of good deals lost to delay. Review: fees
        of verifying and of people.
      </p>
    <//>
    <${Card} title="If one number were another">
      <div class="plots">
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

const WIDTH = 360;
const HEIGHT = 220;
const LEFT = 52;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 40;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
const LEVELS = [0, 0.5, 1];
/** Places of the numbers on an axis: small ones need room, and amounts range over powers of ten. */
const SCALES: Readonly<Record<BacktestMoneyCurve["member"], (value: number) => number>> = {
  tolerated_loss_bps: Math.sqrt,
  risk_tolerance: Math.log,
};

interface MoneyCurveProps {
  readonly curve: BacktestMoneyCurve;
  readonly share: "good_connected" | "cost_share";
  readonly label: string;
}

interface Projection {
  readonly x: (value: number) => number;
  readonly y: (share: number) => number;
  /** The largest share. */
  readonly most: number;
}

function createProjection({ curve, share }: MoneyCurveProps): Projection {
  const { member, points } = curve;
  const scale = SCALES[member];
  const first = scale(points[0]!.value);
  const span = scale(points.at(-1)!.value) - first || 1;
  const most = Math.max(...points.map((point) => point[share] ?? 0)) || 1;
  return {
    x: (value) => LEFT + ((scale(value) - first) / span) * PLOT_WIDTH,
    y: (part) => TOP + (1 - part / most) * PLOT_HEIGHT,
    most,
  };
}

function MoneyCurve(props: MoneyCurveProps): VNode {
  const { curve, share, label } = props;
  const { member, points, in_force: inForce } = curve;
  const projection = createProjection(props);
  const own = points.find(({ value }) => value === inForce)?.[share];
  const words = `${label} at ${formatNumber(inForce, 2)}: ${formatPercent(own, 2)}`;
  const x = projection.x(inForce);
  return html`<figure>
    <svg
      class="plot"
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label=${`${label} by ${member}; ${words}`}
    >
      <rect class="plot-frame" x=${LEFT} y=${TOP} width=${PLOT_WIDTH} height=${PLOT_HEIGHT} />
      <${CurveAxes} member=${member} points=${points} projection=${projection} />
      <line class="plot-ideal" x1=${x} x2=${x} y1=${TOP} y2=${HEIGHT - BOTTOM} />
      <${CurveLine} ...${{ curve, share, projection }} />
    </svg>
    <figcaption class="small">${words}</figcaption>
  </figure>`;
}

interface CurveAxesProps extends Pick<BacktestMoneyCurve, "member" | "points"> {
  readonly projection: Projection;
}

function CurveAxes({ member, points, projection: { x, y, most } }: CurveAxesProps): VNode {
  const ends = [points[0]!.value, points.at(-1)!.value];
  return html`<g aria-hidden="true">
    ${LEVELS.map((part) => {
      const level = y(part * most);
      return html`<line class="plot-grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${level} y2=${level} />
        <text x=${LEFT - 5} y=${level + 4} text-anchor="end">${formatPercent(part * most)}</text>`;
    })}
    ${ends.map(
      (value, at) =>
        html`<text x=${x(value)} y=${HEIGHT - BOTTOM + 15} text-anchor=${at === 0 ? "start" : "end"}
          >${formatNumber(value, 2)}</text
        >`,
    )}
    <text x=${LEFT + PLOT_WIDTH / 2} y=${HEIGHT - 6} text-anchor="middle">${member}</text>
  </g>`;
}

interface CurveLineProps extends Pick<MoneyCurveProps, "curve" | "share"> {
  readonly projection: Projection;
}

function CurveLine({ curve, share, projection: { x, y } }: CurveLineProps): VNode {
  const points = curve.points.map((point) => ({ value: point.value, part: point[share] ?? 0 }));
  return html`<g class="new">
    <polyline points=${points.map(({ value, part }) => `${x(value)},${y(part)}`).join(" ")} />
    ${points.map(
      ({ value, part }) =>
        html`<circle cx=${x(value)} cy=${y(part)} r=${value === curve.in_force ? 5 : 2}
          ><title>${`${formatNumber(value, 2)}: ${formatPercent(part, 2)}`}</title></circle
        >`,
    )}
  </g>`;
}
