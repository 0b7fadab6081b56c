// Bars: a few categories with their counts, drawn as SVG that is as wide as its column.
import type { Children, VNode } from "../html.ts";
import { html } from "../html.ts";
import { formatNumber } from "../format.ts";
import { Empty } from "./notices.ts";

export interface Bar {
  readonly label: Children;
  readonly value: number;
  /** Where the rows behind it are. */
  readonly href?: string;
  readonly tone?: "allow" | "deny" | "warn" | "person";
}

interface BarsProps {
  readonly bars: readonly Bar[];
  readonly empty?: Children;
  /** Of the longest possible bar; the largest value by default. */
  readonly most?: number;
  readonly say?: (value: number) => string;
}

export function Bars({ bars, empty = "Nothing yet.", most, say = formatNumber }: BarsProps): VNode {
  if (bars.length === 0) return html`<${Empty}>${empty}<//>`;
  const largest = most ?? Math.max(...bars.map(({ value }) => value), 1e-9);
  return html`<ul class="bars">
    ${bars.map(({ label, value, href, tone }) => {
      const width = Math.max(0, Math.min(100, (100 * value) / largest));
      return html`<li>
        <span class="bar-label"
          >${href === undefined ? label : html`<a href=${href}>${label}</a>`}</span
        >
        <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect class=${`bar ${tone ?? ""}`} width=${width} height="8" rx="1" />
        </svg>
        <span class="n">${say(value)}</span>
      </li>`;
    })}
  </ul>`;
}
