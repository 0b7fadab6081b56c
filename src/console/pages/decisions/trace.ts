// The trace of one leg as a chain that is read from the top: row, features, risk, provenance, rules,
// verdict.
import type { DecisionTrace } from "../../../contract/schemas/trace.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { type Children, html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { FactList } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { AgentLink, AnswerTag, Tag, UntrustedText } from "../../parts/words.ts";

export type TraceLeg = DecisionTrace["legs"][number];
type TraceFeature = NonNullable<TraceLeg["features"]>[number];
type TraceRule = NonNullable<TraceLeg["rules"]>[number];

interface ChainStepProps {
  readonly title: string;
  readonly at: number;
  readonly isLast?: boolean;
  readonly children?: Children;
}

function ChainStep({ title, at, isLast = false, children }: ChainStepProps): VNode {
  return html`<li>
    <span class=${`chain-number ${isLast ? "decided" : ""}`} aria-hidden="true">${at}</span>
    <h3>${title}</h3>
    ${children}
  </li>`;
}

export function TraceChain({ trace, leg }: { trace: DecisionTrace; leg: TraceLeg }): VNode {
  const isVerify = trace.kind === "verify";
  const said = trace.verdict ?? trace.decision;
  const { disposition } = trace;
  return html`<ol class="chain">
    <${ChainStep} at=${1} title="Row read"><${RecordFacts} leg=${leg} /><//>
    <${ChainStep} at=${2} title="Features and points"><${FeatureTable} leg=${leg} /><//>
    <${ChainStep} at=${3} title="Risk at these stakes"><${RiskDetails} leg=${leg} /><//>
    <${ChainStep} at=${4} title="Provenance"
      ><${ProvenanceDetails} leg=${leg} isVerify=${isVerify}
    /><//>
    <${ChainStep}
      at=${5}
      title=${isVerify ? `Rules of the policy at ${trace.tool_level}` : "Least expected cost"}
    >
      <${RuleTable} leg=${leg} policy=${isVerify ? trace.policy_version : null} />
    <//>
    <${ChainStep} at=${6} title="Answer" isLast>
      <p>
        <${AnswerTag} word=${said} disposition=${disposition} /> by <b>${leg.decided_by}</b>
        ${trace.enforced ? "" : " (shadow mode: reported, not enforced)"}
      </p>
      ${
        leg.reason_codes.length > 0 &&
        html`<p>
          <span class="dim">Reasons told:</span>${" "}
          ${leg.reason_codes.map(
            (code) => html`<a href=${linkTo("decisions", { reason: code })}>${code}</a>${" "}`,
          )}
        </p>`
      }
    <//>
  </ol>`;
}

function RecordFacts({ leg: { row, viewer, is_test: isTest } }: { leg: TraceLeg }): VNode {
  if (isTest) return html`<p class="dim">A reserved test agent: it answers by its name.</p>`;
  const facts: [Children, Children][] = [
    ["history", row.known ? "known" : "none: scored as a newcomer"],
    ["outcomes counted", formatNumber(row.outcomes)],
    ["weight of evidence now", formatNumber(row.evidence_weight, 2)],
    [
      "track record (log-odds of failure)",
      `${formatNumber(row.mean, 3)} ± ${formatNumber(Math.sqrt(row.mean_variance), 3)}`,
    ],
    ["stakes proven", formatNumber(row.stakes_proven, 2)],
    ["base rate (log-odds)", formatNumber(row.base_rate, 3)],
  ];
  if (row.shock_days !== null)
    facts.push(["sudden change", `${formatNumber(row.shock_days, 1)} days ago`]);
  if (row.standing.length > 0) facts.push(["marks", row.standing.join(", ")]);
  if (viewer !== null) facts.push(["seen by", html`<${AgentLink} id=${viewer} />`]);
  if (row.viewer_mean !== null)
    facts.push(["severity of the viewer", formatNumber(row.viewer_mean, 3)]);
  return html`<${FactList} facts=${facts} />`;
}

const POINTS_SHOWN_MIN = 0.005;

function FeatureTable({ leg: { features } }: { leg: TraceLeg }): VNode {
  if (features === null) return html`<p class="dim">The weights are not on file.</p>`;
  const most = Math.max(1, ...features.map(({ points }) => Math.abs(points ?? 0)));
  const columns: readonly Column<TraceFeature>[] = [
    { label: "part", cell: (each) => each.name.replaceAll("_", " ") },
    { label: "value", isNumber: true, cell: (each) => formatNumber(each.value, 3) },
    { label: "weight", isNumber: true, cell: (each) => formatNumber(each.weight, 3) },
    { label: "log-odds", isNumber: true, cell: (each) => formatNumber(each.log_odds, 3) },
    { label: "points", isNumber: true, cell: (each) => formatPoints(each.points) },
    { label: "drawn", cell: (each) => renderPointsBar(each.points ?? 0, most) },
  ];
  return html`<${Table} label="features" columns=${columns} rows=${features} />
    <p class="dim small">
      Points are against the median of those that connect: below zero they lower the score.
    </p>`;
}

function formatPoints(points: number | null): string {
  if (points === null) return "–";
  const sign = points > POINTS_SHOWN_MIN ? "+" : "";
  return `${sign}${formatNumber(Math.abs(points) < POINTS_SHOWN_MIN ? 0 : points, 1)}`;
}

function renderPointsBar(points: number, most: number): VNode {
  const width = (50 * Math.abs(points)) / most;
  const tone = points < 0 ? "deny" : "allow";
  return html`<svg
    class="points"
    viewBox="0 0 100 10"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <rect
      class=${`bar ${tone}`}
      x=${points < 0 ? 50 - width : 50}
      y="1"
      width=${width}
      height="8"
    />
    <line class="zero" x1="50" x2="50" y1="0" y2="10" />
  </svg>`;
}

/** Where a probability stands on a rail of odds: 0.1 % at the left, 99.9 % at the right. */
function computeOddsPosition(probability: number): number {
  const end = Math.log(999);
  const held = Math.min(0.999, Math.max(0.001, probability));
  return 50 + (50 * Math.log(held / (1 - held))) / end;
}

function RiskDetails({ leg: { risk, stakes, score } }: { leg: TraceLeg }): VNode {
  const { borders } = stakes;
  const [low, dot, high] = [risk.optimistic, risk.expected, risk.pessimistic].map(
    computeOddsPosition,
  ) as [number, number, number];
  const marks = borders === null ? [] : [borders.connect, borders.connect_with_verification];
  const shown = marks.filter((border) => border < 1);
  const words = `failure expected ${formatPercent(risk.expected)}, between ${formatPercent(risk.optimistic)} and ${formatPercent(risk.pessimistic)}`;
  return html`<svg
      class="interval"
      viewBox="0 0 100 46"
      preserveAspectRatio="none"
      role="img"
      aria-label=${words}
    >
      <line class="rail" x1="0" x2="100" y1="23" y2="23" />
      <line class="span" x1=${low} x2=${high} y1="23" y2="23" />
      <rect class="dot" x=${dot - 0.35} y="13" width="0.7" height="20" />
      ${shown.map((border) => html`<line class="border" x1=${computeOddsPosition(border)} x2=${computeOddsPosition(border)} y1="4" y2="42" />`)}
    </svg>
    <${FactList}
      facts=${[
        [
          "failure expected",
          `${formatPercent(risk.expected)} (${formatPercent(risk.optimistic)} to ${formatPercent(risk.pessimistic)})`,
        ],
        [
          "score",
          `${formatNumber(score.internal_score)}, cautiously ${formatNumber(score.effective_score)}`,
        ],
        ["tier, regime", `${score.tier}, ${score.regime ?? "no history"}`],
        ["stakes", formatNumber(stakes.stakes, 2)],
        ["connects up to", borders === null ? "–" : formatPercent(borders.connect)],
        [
          "with verification up to",
          borders === null ? "–" : formatPercent(borders.connect_with_verification),
        ],
        [
          "denied from",
          borders === null ? "–" : borders.deny > 1 ? "never" : formatPercent(borders.deny),
        ],
        ["score alone says", html`<${Tag} word=${stakes.leg_decision} />`],
        [
          "same answer up to stakes of",
          stakes.max_stakes === null ? "any" : formatNumber(stakes.max_stakes, 2),
        ],
        ["record is thin", formatFlag(risk.thin)],
      ]}
    />`;
}

function formatFlag(flag: boolean | null): string {
  if (flag === null) return "not known";
  return flag ? "yes" : "no";
}

function ProvenanceDetails({ leg, isVerify }: { leg: TraceLeg; isVerify: boolean }): VNode {
  const { finding, decided } = leg.provenance;
  if (!isVerify) return html`<p class="dim">A check or a handshake cites no sources.</p>`;
  if (finding === null) return html`<p>No finding that the policy took into account.</p>`;
  return html`<p>
    <${Tag} word=${finding} tone="deny" />
    ${decided ? "It decided." : "It counted, another rule decided."}
  </p>`;
}

function RuleTable({ leg: { rules }, policy }: { leg: TraceLeg; policy: string | null }): VNode {
  if (rules === null) {
    return html`<p class="dim">
      They cannot be asked again; what was recorded is the rule that decided.
    </p>`;
  }
  const columns = ["rule", "bound", "value", "held", "gives"];
  return html`<div class="scroll" tabindex="0" role="region" aria-label="rules">
      <table>
        <thead>
          <tr>
            ${columns.map((label) => html`<th scope="col">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rules.map(
            (rule: TraceRule) =>
              html`<tr class=${rule.decides ? "decides" : ""}>
                <td>${rule.rule}${rule.decides ? html` <${Tag} word="decided" />` : ""}</td>
                <td>
                  ${formatRuleValue(rule.bound)}
                  ${rule.pointer !== null && html`<div class="dim small">${rule.pointer}</div>`}
                </td>
                <td>${formatRuleValue(rule.value)}</td>
                <td>
                  ${rule.holds === null ? html`<span class="dim">not asked</span>` : rule.holds ? "yes" : "no"}
                </td>
                <td><${Tag} word=${rule.gives} /></td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${policy !== null && html`<p class="dim small">Policy <${UntrustedText} text=${policy} />. The strictest rule that holds decides, the first of those equally strict.</p>`}`;
}

function formatRuleValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value, 4);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}
