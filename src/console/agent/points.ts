// Points of a score by feature: what each adds to or takes from the start that all agents have, drawn as
// steps from one to the other.
import { number } from "../format.ts";
import { html, type VNode } from "../html.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";

/** Points that double the odds (docs/contract.md). */
const DOUBLING = 40;
const SCALE = [300, 850] as const;
/** Smaller steps are told in one line. */
const SMALL = 0.5;
const STEPS_MAX = 12;

interface Step {
  readonly name: string;
  readonly points: number;
  readonly value: number | undefined;
  readonly from: number;
  readonly to: number;
}

export function Points({ agent }: { agent: AgentExplanation }): VNode {
  const steps = buildScoreSteps(agent);
  // At an end of the scale the steps add up to more than is seen.
  const isCut = agent.internal_score <= SCALE[0] || agent.internal_score >= SCALE[1];
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
      <span class="n dim">${number(steps[0]?.from ?? agent.internal_score)}</span>
    </li>
    ${steps.map((step) => {
      const left = Math.min(at(step.from), at(step.to));
      const span = Math.max(0.6, Math.abs(at(step.to) - at(step.from)));
      return html`<li>
        <span
          class="bar-label"
          title=${step.value === undefined ? undefined : `value ${number(step.value, 3)}`}
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
          >${signed(step.points)}<span class="dim small times">${likelier(step.points)}</span></span
        >
      </li>`;
    })}
    <li>
      <b class="bar-label">score</b>
      <span class="dim small">every 40 points halve or double the odds of failure</span>
      <b class="n">${number(agent.internal_score)}</b>
    </li>
  </ul>`;
}

/** The largest steps first, the rest in one; the start is what they leave of the score. */
function buildScoreSteps({ features, internal_score: score }: AgentExplanation): Step[] {
  const largest = features
    .filter(({ points }) => Math.abs(points) >= SMALL)
    .toSorted((a, b) => Math.abs(b.points) - Math.abs(a.points));
  const told = largest.slice(0, STEPS_MAX);
  const sum = features.reduce((total, { points }) => total + points, 0);
  const rest = sum - told.reduce((total, { points }) => total + points, 0);
  const steps: Step[] = [];
  let from = score - sum;
  const add = (name: string, points: number, value?: number) => {
    steps.push({ name, points, value, from, to: from + points });
    from += points;
  };
  for (const { name, points, value } of told) add(name.replaceAll("_", " "), points, value);
  if (Math.abs(rest) >= SMALL) add("everything else", rest);
  return steps;
}

function signed(points: number): string {
  return `${points < 0 ? "−" : "+"}${number(Math.abs(points))}`;
}

/** What the points say of failing. */
function likelier(points: number): string {
  const times = 2 ** (Math.abs(points) / DOUBLING);
  if (times < 1.05) return "";
  return `${number(times, times < 10 ? 1 : 0)} × ${points < 0 ? "likelier" : "less likely"} to fail`;
}
