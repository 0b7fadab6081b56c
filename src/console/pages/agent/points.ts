// Waterfall chart of a score: the points of each feature, from the base score to the agent's score.
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import type { AgentExplanation } from "../../../contract/schemas/scores.ts";

/** Points that double the odds (docs/contract.md). */
const POINTS_PER_DOUBLED_ODDS = 40;
const SCORE_RANGE = [300, 850] as const;
/** Smaller steps are told in one line. */
const STEP_POINTS_MIN = 0.5;
const STEPS_MAX = 12;

interface ScoreStep {
  readonly name: string;
  readonly points: number;
  readonly value: number | undefined;
  readonly from: number;
  readonly to: number;
}

export function ScoreWaterfall({ agent }: { agent: AgentExplanation }): VNode {
  const steps = buildScoreSteps(agent);
  // At an end of the scale the steps add up to more than is seen.
  const isCut = agent.internal_score <= SCORE_RANGE[0] || agent.internal_score >= SCORE_RANGE[1];
  const ends = steps.flatMap(({ from, to }) => [from, to]);
  const low = Math.min(...ends, agent.internal_score);
  const width = Math.max(1, Math.max(...ends, agent.internal_score) - low);
  const at = (score: number) => (100 * (score - low)) / width;
  return html`<ul class="bars waterfall">
    <li>
      <span class="bar-label dim"
        >${isCut ? "start, as far as the scale goes" : "start of every agent"}</span
      >
      <span></span>
      <span class="n dim">${formatNumber(steps[0]?.from ?? agent.internal_score)}</span>
    </li>
    ${steps.map((step) => {
      const left = Math.min(at(step.from), at(step.to));
      const span = Math.max(0.6, Math.abs(at(step.to) - at(step.from)));
      return html`<li>
        <span
          class="bar-label"
          title=${step.value === undefined ? undefined : `value ${formatNumber(step.value, 3)}`}
        >
          ${step.name}
        </span>
        <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect
            class=${`bar ${step.points < 0 ? "deny" : "allow"}`}
            x=${Math.min(left, 99.4)}
            width=${span}
            height="8"
          />
        </svg>
        <span class="n"
          >${formatSignedPoints(step.points)}<span class="dim small times"
            >${formatFailureOddsFactor(step.points)}</span
          ></span
        >
      </li>`;
    })}
    <li>
      <b class="bar-label">score</b>
      <span class="dim small">every 40 points halve or double the odds of failure</span>
      <b class="n">${formatNumber(agent.internal_score)}</b>
    </li>
  </ul>`;
}

/** The largest steps first, the rest in one; the start is what they leave of the score. */
function buildScoreSteps({ features, internal_score: score }: AgentExplanation): ScoreStep[] {
  const largest = features
    .filter(({ points }) => Math.abs(points) >= STEP_POINTS_MIN)
    .toSorted((a, b) => Math.abs(b.points) - Math.abs(a.points));
  const told = largest.slice(0, STEPS_MAX);
  const sum = features.reduce((total, { points }) => total + points, 0);
  const rest = sum - told.reduce((total, { points }) => total + points, 0);
  const steps: ScoreStep[] = [];
  let from = score - sum;
  const add = (name: string, points: number, value?: number) => {
    steps.push({ name, points, value, from, to: from + points });
    from += points;
  };
  for (const { name, points, value } of told) add(name.replaceAll("_", " "), points, value);
  if (Math.abs(rest) >= STEP_POINTS_MIN) add("everything else", rest);
  return steps;
}

function formatSignedPoints(points: number): string {
  return `${points < 0 ? "−" : "+"}${formatNumber(Math.abs(points))}`;
}

/** What the points say of failing. */
function formatFailureOddsFactor(points: number): string {
  const times = 2 ** (Math.abs(points) / POINTS_PER_DOUBLED_ODDS);
  if (times < 1.05) return "";
  return `${formatNumber(times, times < 10 ? 1 : 0)} × ${points < 0 ? "likelier" : "less likely"} to fail`;
}
