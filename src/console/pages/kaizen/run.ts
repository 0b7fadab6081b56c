// One run: what it found, by scorecard, in numbers and plots.
import { get } from "../../api.ts";
import { duration, number, percent } from "../../format.ts";
import { html, useEffect, type VNode } from "../../html.ts";
import { linkTo, useParameters } from "../../location.ts";
import { AsCurl } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, Facts } from "../../parts/page.ts";
import { BarPair, Distribution, OldAndNew, Reliability } from "../../parts/plots.ts";
import { Table } from "../../parts/table.ts";
import { Tag, Text, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { Promote } from "./actions.ts";
import { Gates } from "./gates.ts";
import {
  SIDES,
  describeRunState,
  type Figures,
  type Run,
  type SideFindings,
  type SideNumbers,
  type Slice,
  type Watch,
  type Weight,
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
  } = useData((signal) => get<Run>(path, {}, signal), [path, stamp]);
  const [{ side }, set] = useParameters();
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
      <p><${Text} text=${run.reason} /></p>
      ${run.watch !== undefined && html`<${WatchLines} watch=${run.watch} />`}
      <${AsCurl} path=${path} />
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
                ${SIDES[each.side]} ${each.passed ? "✓" : "✗"}
              </button>`,
          )}
        </div>
        <${SideCards} numbers=${shown} findings=${findings} />`
    }
  </div>`;
}

function RunTools({ run, onDone }: { run: Run; onDone: () => void }): VNode {
  const [, set] = useParameters();
  return html`<${Promote} run=${run} onDone=${onDone} />
    ${
      run.report !== undefined &&
      html`<a class="button" href=${run.report.url} target="_blank" rel="noopener">As a page</a>`
    }
    <button type="button" onClick=${() => set({ run: undefined, side: undefined })}>Close</button>`;
}

const ofAll = ({ rows_of: all }: Run) =>
  all === undefined ? "" : `, a random sample of ${number(all)}`;

function RunFacts({ run }: { run: Run }): VNode {
  const [word, tone] = describeRunState(run);
  const back = run.rolled_back;
  const { promotion } = run;
  const facts = [
    ["state", html`<${Tag} word=${word} tone=${tone} />`],
    [
      "started",
      html`<${Time} at=${run.started_at} as="full" /> by <${Text} text=${run.started_by} />`,
    ],
    ["took", duration(run.duration_ms)],
    ["evidence", html`${number(run.rows)} outcomes${ofAll(run)}`],
    ["live weights then", html`<code>${run.champion_version}</code>`],
    ["tested weights", html`<code>${run.challenger_version ?? "–"}</code>`],
    ...(run.as_of === undefined ? [] : [["as of", html`<${Time} at=${run.as_of} as="full" />`]]),
    ...(promotion === undefined
      ? []
      : [["promoted by", html`${promotion.by}: <${Text} text=${promotion.reason} />`]]),
    ...(back === undefined
      ? []
      : [
          [
            "taken back",
            html`<${Time} at=${back.at} as="full" />: <${Text} text=${back.reason} />`,
          ],
        ]),
  ];
  return html`<${Facts} facts=${facts} />`;
}

/** What the watch has found of the live weights against those they replaced. */
export function WatchLines({ watch }: { watch: Watch }): VNode {
  return html`${watch.sides.map(
    ({ side, rollback_due: isDue, sentence }) =>
      html`<p>
        <${Tag} word=${isDue ? "taken back" : "stays"} tone=${isDue ? "deny" : "allow"} />
        ${SIDES[side]}: ${" "}${sentence}
      </p>`,
  )}`;
}

interface SideProps {
  readonly numbers: SideNumbers;
  readonly findings: SideFindings;
}

function SideCards({ numbers, findings }: SideProps): VNode {
  const { figures, rows, holdout_from_ms: from, holdout_to_ms: to } = findings;
  return html`${
      !numbers.passed && html`<${Notice} kind="warn">Not promoted: ${findings.reason}.<//>`
    }
    <${Card} title="Gates">
      <p class="dim">
        ${number(rows.training)} outcomes to learn from, ${number(rows.holdout)} newer ones to test
        on (<${Time} at=${from} /> to <${Time} at=${to} />).
        ${findings.denial_border !== undefined && ` Denials: ${findings.denial_border}.`}
      </p>
      <${Gates} gates=${numbers.gates} />
    <//>
    ${figures !== undefined && html`<${Plots} numbers=${numbers} figures=${figures} />`}
    ${numbers.slices.length > 0 && html`<${Slices} slices=${numbers.slices} />`}
    ${numbers.weights !== undefined && html`<${Weights} weights=${numbers.weights} />`}`;
}

function Plots({ numbers, figures }: { numbers: SideNumbers; figures: Figures }): VNode {
  const { champion, challenger, score_from: from, score_step: step } = figures;
  const measures = [
    ["log-loss", champion.log_loss, challenger.log_loss],
    ["AUC", champion.auc, challenger.auc],
    ["calibration error", champion.calibration_error, challenger.calibration_error],
  ] as const;
  return html`<${Card} title="On outcomes that neither had seen">
    <${Facts}
      facts=${measures.map(([name, old, fresh]) => [
        name,
        html`${number(old, 4)} → <b>${number(fresh, 4)}</b>`,
      ])}
    />
    <${OldAndNew} />
    <div class="plots">
      ${
        numbers.reliability !== undefined &&
        html`<figure>
          <h3>Does 10 % mean 10 %?</h3>
          <${Reliability} ...${numbers.reliability} />
          <figcaption class="dim small">
            On the dashed line as many fail as was foretold. A bar holds the true share in 95 of 100
            cases.
          </figcaption>
        </figure>`
      }
      <figure>
        <h3>Scores of what went well</h3>
        <${Distribution}
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
        <${Distribution}
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
  { label: "slice", cell: (slice: Slice) => html`<${Text} text=${slice.name} />` },
  { label: "outcomes", isNumber: true, cell: (slice: Slice) => number(slice.rows) },
  {
    label: "log-loss",
    isNumber: true,
    cell: ({ loss_change: change }: Slice) =>
      change !== undefined &&
      html`<span class=${change > 0 ? "warn" : "allow"}>
        ${change > 0 ? "+" : ""}${percent(change)}
      </span>`,
  },
  { label: "z", isNumber: true, cell: ({ z }: Slice) => z !== undefined && number(z, 2) },
  {
    label: "foretold, live",
    isNumber: true,
    cell: ({ champion_foretold: share }: Slice) => share !== undefined && percent(share),
  },
  {
    label: "foretold, tested",
    isNumber: true,
    cell: ({ foretold }: Slice) => foretold !== undefined && percent(foretold),
  },
  { label: "seen", isNumber: true, cell: ({ seen }: Slice) => seen !== undefined && percent(seen) },
];

function Slices({ slices }: { slices: readonly Slice[] }): VNode {
  return html`<${Card} title="Slices">
    <${Table}
      label="slices"
      columns=${SLICE_COLUMNS}
      rows=${slices}
      keyOf=${(slice: Slice) => slice.name}
    />
  <//>`;
}

function Weights({ weights }: { weights: readonly Weight[] }): VNode {
  const most = Math.max(
    1,
    ...weights.flatMap((each) => [each.champion_points, each.challenger_points]),
  );
  const columns = [
    { label: "ingredient of a score", cell: ({ name }: Weight) => name },
    { label: "live", isNumber: true, cell: ({ champion }: Weight) => number(champion, 4) },
    { label: "tested", isNumber: true, cell: ({ challenger }: Weight) => number(challenger, 4) },
    {
      label: "points, live",
      isNumber: true,
      cell: ({ champion_points: points }: Weight) => number(points),
    },
    {
      label: "points, tested",
      isNumber: true,
      cell: ({ challenger_points: points }: Weight) => number(points),
    },
    {
      label: "points that a usual difference moves a score",
      cell: (each: Weight) =>
        html`<${BarPair}
          old=${each.champion_points}
          fresh=${each.challenger_points}
          most=${most}
        />`,
    },
  ];
  return html`<${Card} title="Weights before and after">
    <${OldAndNew} />
    <${Table}
      label="weights"
      columns=${columns}
      rows=${weights}
      keyOf=${({ name }: Weight) => name}
    />
    <p class="dim small">
      Weights are in log-odds of failure; 40 points of score halve the odds. ${" "}<a
        href=${linkTo("kaizen")}
        >All runs</a
      >
    </p>
  <//>`;
}
