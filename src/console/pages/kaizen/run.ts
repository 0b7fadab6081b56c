// One run: what it found, by scorecard, in numbers and plots.
import { getDocument } from "../../api.ts";
import { formatDuration, formatNumber, formatPercent } from "../../format.ts";
import { html, useEffect, type VNode } from "../../html.ts";
import { linkTo, usePageParameters } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, FactList } from "../../parts/page.ts";
import {
  BarPair,
  ScoreDistribution,
  WeightsLegend,
  ReliabilityDiagram,
} from "../../parts/plots.ts";
import { Table } from "../../parts/table.ts";
import { Tag, UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { PromoteButton } from "./actions.ts";
import { GateTable } from "./gates.ts";
import {
  RUN_SIDE_LABELS,
  describeRunState,
  type RunSideChartData,
  type RunDetails,
  type RunSideFindings,
  type RunSideNumbers,
  type RunSlice,
  type PromotionWatch,
  type RunWeight,
} from "./shapes.ts";

interface RunCardProps {
  readonly id: string;
  /** Read again when it changes: the run has ended, was promoted or rolled back. */
  readonly stamp: string;
  readonly onDone: () => void;
}

export function RunCard({ id, stamp, onDone }: RunCardProps): VNode {
  const path = `/v1/kaizen/runs/${encodeURIComponent(id)}`;
  const {
    value: run,
    error,
    reload,
  } = useData((signal) => getDocument<RunDetails>(path, {}, signal), [path, stamp]);
  const [{ side }, set] = usePageParameters();
  // A link to a run that is further down: into sight, once it is there.
  const isThere = run !== undefined;
  useEffect(() => {
    if (isThere) document.querySelector("#run")?.scrollIntoView({ block: "nearest" });
  }, [isThere, id]);
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (run === undefined) return html`<${Loading} />`;
  const sides = run.numbers?.sides ?? [];
  const shown = sides.find((each) => each.side === side) ?? sides[0];
  const findings = run.findings?.sides.find((each) => each.side === shown?.side);
  return html`<div id="run">
    <${Card}
      title=${html`Run ${run.run_id}`}
      tools=${html`<${RunTools} run=${run} onDone=${onDone} />`}
    >
      <${RunFacts} run=${run} />
      <p><${UntrustedText} text=${run.reason} /></p>
      ${run.watch !== undefined && html`<${WatchLines} watch=${run.watch} />`}
      <${CurlCommand} path=${path} />
    <//>
    ${
      shown !== undefined &&
      findings !== undefined &&
      html`<div class="tools pressing" role="group" aria-label="Scorecard">
          ${sides.map(
            (each) =>
              html`<button
                type="button"
                aria-pressed=${each.side === shown.side}
                onClick=${() => set({ side: each.side })}
              >
                ${RUN_SIDE_LABELS[each.side]} ${each.passed ? "✓" : "✗"}
              </button>`,
          )}
        </div>
        <${SideCards} numbers=${shown} findings=${findings} />`
    }
  </div>`;
}

function RunTools({ run, onDone }: { run: RunDetails; onDone: () => void }): VNode {
  const [, set] = usePageParameters();
  return html`<${PromoteButton} run=${run} onDone=${onDone} />
    ${
      run.report !== undefined &&
      html`<a class="button" href=${run.report.url} target="_blank" rel="noopener">As a page</a>`
    }
    <button type="button" onClick=${() => set({ run: undefined, side: undefined })}>Close</button>`;
}

const formatSampleNote = ({ rows_of: all }: RunDetails) =>
  all === undefined ? "" : `, a random sample of ${formatNumber(all)}`;

/** Runs of older releases do not count by signer. */
const formatSigners = ({ rows_by_kind: rows, evidence_kinds: kinds }: RunDetails) =>
  rows === undefined
    ? "–"
    : `${formatNumber(rows.reporter)} by reporters' keys, ${formatNumber(rows.bureau)} by the bureau ` +
      `for first-party keys, ${formatNumber(rows.import)} by imports` +
      (kinds === undefined || kinds.length === 3 ? "" : `; only ${kinds.join(", ")} teach`);

function RunFacts({ run }: { run: RunDetails }): VNode {
  const [word, tone] = describeRunState(run);
  const back = run.rolled_back;
  const { promotion } = run;
  const facts = [
    ["state", html`<${Tag} word=${word} tone=${tone} />`],
    [
      "started",
      html`<${Time} at=${run.started_at} as="full" /> by${" "}
        <${UntrustedText} text=${run.started_by} />`,
    ],
    ["took", formatDuration(run.duration_ms)],
    [
      "evidence",
      html`${formatNumber(run.rows)} outcomes of all tenants together${formatSampleNote(run)}`,
    ],
    ["signed", formatSigners(run)],
    ["live weights then", html`<code>${run.champion_version}</code>`],
    ["tested weights", html`<code>${run.challenger_version ?? "–"}</code>`],
    ...(run.as_of === undefined ? [] : [["as of", html`<${Time} at=${run.as_of} as="full" />`]]),
    ...(promotion === undefined
      ? []
      : [["promoted by", html`${promotion.by}: <${UntrustedText} text=${promotion.reason} />`]]),
    ...(back === undefined
      ? []
      : [
          [
            "taken back",
            html`<${Time} at=${back.at} as="full" />: <${UntrustedText} text=${back.reason} />`,
          ],
        ]),
  ];
  return html`<${FactList} facts=${facts} />`;
}

/** What the watch has found of the live weights against those they replaced. */
export function WatchLines({ watch }: { watch: PromotionWatch }): VNode {
  return html`${watch.sides.map(
    ({ side, rollback_due: isDue, sentence }) =>
      html`<p>
        <${Tag} word=${isDue ? "taken back" : "stays"} tone=${isDue ? "deny" : "allow"} />
        ${RUN_SIDE_LABELS[side]}: ${" "}${sentence}
      </p>`,
  )}`;
}

interface SideProps {
  readonly numbers: RunSideNumbers;
  readonly findings: RunSideFindings;
}

function SideCards({ numbers, findings }: SideProps): VNode {
  const { figures, rows, holdout_from_ms: from, holdout_to_ms: to } = findings;
  return html`${
      !numbers.passed && html`<${Notice} kind="warn">Not promoted: ${findings.reason}.<//>`
    }
    <${Card} title="Gates">
      <p class="dim">
        ${formatNumber(rows.training)} outcomes to learn from, ${formatNumber(rows.holdout)} newer
        ones to test on (<${Time} at=${from} /> to <${Time} at=${to} />).
        ${findings.denial_border !== undefined && ` Denials: ${findings.denial_border}.`}
      </p>
      <${GateTable} gates=${numbers.gates} />
    <//>
    ${figures !== undefined && html`<${RunPlots} numbers=${numbers} figures=${figures} />`}
    ${numbers.slices.length > 0 && html`<${SliceTable} slices=${numbers.slices} />`}
    ${numbers.weights !== undefined && html`<${WeightTable} weights=${numbers.weights} />`}`;
}

const formatFigure = (value: number): string => formatNumber(value, 4);
/** Name with its unit, member, and how its value is written. */
const MEASURES = [
  ["log-loss, nats per outcome", "log_loss", formatFigure],
  ["AUC, 0.5 to 1", "auc", formatFigure],
  ["calibration error", "calibration_error", (share: number) => formatPercent(share, 2)],
] as const;

function RunPlots({
  numbers,
  figures,
}: {
  numbers: RunSideNumbers;
  figures: RunSideChartData;
}): VNode {
  const { champion, challenger, score_from: from, score_step: step } = figures;
  return html`<${Card} title="On outcomes that neither had seen">
    <${FactList}
      facts=${MEASURES.map(([name, member, say]) => [
        name,
        html`${say(champion[member])} → <b>${say(challenger[member])}</b>`,
      ])}
    />
    <${WeightsLegend} />
    <div class="plots">
      ${
        numbers.reliability !== undefined &&
        html`<figure>
          <h3>Does 10 % mean 10 %?</h3>
          <${ReliabilityDiagram} ...${numbers.reliability} />
          <figcaption class="dim small">
            Ten groups of equal size. On the dashed line as many fail as was foretold. A bar holds
            the true share in 95 of 100 cases if outcomes are independent; gate G4 counts those of
            one agent or reporter as clusters, and says why it passed or failed.
          </figcaption>
        </figure>`
      }
      <figure>
        <h3>Scores of what went well</h3>
        <${ScoreDistribution}
          title="Scores of successes"
          champion=${champion.successes}
          challenger=${challenger.successes}
          from=${from}
          step=${step}
        />
        <figcaption class="dim small">The further right, the better.</figcaption>
      </figure>
      <figure>
        <h3>Scores of what failed</h3>
        <${ScoreDistribution}
          title="Scores of failures"
          champion=${champion.failures}
          challenger=${challenger.failures}
          from=${from}
          step=${step}
        />
        <figcaption class="dim small">The further left, the better.</figcaption>
      </figure>
    </div>
  <//>`;
}

const SLICE_COLUMNS = [
  { label: "slice", cell: (slice: RunSlice) => html`<${UntrustedText} text=${slice.name} />` },
  { label: "outcomes", isNumber: true, cell: (slice: RunSlice) => formatNumber(slice.rows) },
  {
    label: "log-loss, change",
    isNumber: true,
    cell: ({ loss_change: change }: RunSlice) =>
      change !== undefined &&
      html`<span class=${change > 0 ? "warn" : "allow"}>
        ${change > 0 ? "+" : ""}${formatPercent(change)}
      </span>`,
  },
  { label: "z", isNumber: true, cell: ({ z }: RunSlice) => z !== undefined && formatNumber(z, 2) },
  {
    label: "foretold, live",
    isNumber: true,
    cell: ({ champion_foretold: share }: RunSlice) => share !== undefined && formatPercent(share),
  },
  {
    label: "foretold, tested",
    isNumber: true,
    cell: ({ foretold }: RunSlice) => foretold !== undefined && formatPercent(foretold),
  },
  {
    label: "seen",
    isNumber: true,
    cell: ({ seen }: RunSlice) => seen !== undefined && formatPercent(seen),
  },
];

function SliceTable({ slices }: { slices: readonly RunSlice[] }): VNode {
  return html`<${Card} title="Slices">
    <${Table}
      label="slices"
      columns=${SLICE_COLUMNS}
      rows=${slices}
      keyOf=${(slice: RunSlice) => slice.name}
    />
  <//>`;
}

function WeightTable({ weights }: { weights: readonly RunWeight[] }): VNode {
  const most = Math.max(
    1,
    ...weights.flatMap((each) => [each.champion_points, each.challenger_points]),
  );
  const columns = [
    { label: "ingredient of a score", cell: ({ name }: RunWeight) => name },
    {
      label: "live, log-odds",
      isNumber: true,
      cell: ({ champion }: RunWeight) => formatNumber(champion, 4),
    },
    {
      label: "tested, log-odds",
      isNumber: true,
      cell: ({ challenger }: RunWeight) => formatNumber(challenger, 4),
    },
    {
      label: "points, live",
      isNumber: true,
      cell: ({ champion_points: points }: RunWeight) => formatNumber(points),
    },
    {
      label: "points, tested",
      isNumber: true,
      cell: ({ challenger_points: points }: RunWeight) => formatNumber(points),
    },
    {
      label: "points that a usual difference moves a score",
      cell: (each: RunWeight) =>
        html`<${BarPair}
          old=${each.champion_points}
          fresh=${each.challenger_points}
          most=${most}
        />`,
    },
  ];
  return html`<${Card} title="Weights before and after">
    <${WeightsLegend} />
    <${Table}
      label="weights"
      columns=${columns}
      rows=${weights}
      keyOf=${({ name }: RunWeight) => name}
    />
    <p class="dim small">
      Weights are in log-odds of failure; 40 points of score halve the odds. ${" "}<a
        href=${linkTo("kaizen")}
        >All runs</a
      >
    </p>
  <//>`;
}
