// The head of a page and the cards that it is made of.
import { type Children, html, type VNode } from "../html.ts";

interface PageProps {
  readonly title: Children;
  /** One line under the title. */
  readonly lead?: Children;
  /** Right of the title: range, buttons. */
  readonly tools?: Children;
  readonly children?: Children;
}

export function Page({ title, lead, tools, children }: PageProps): VNode {
  return html`<div class="page">
    <div class="head">
      <div>
        <h1>${title}</h1>
        ${lead !== undefined && html`<p class="dim lead">${lead}</p>`}
      </div>
      <div class="tools">${tools}</div>
    </div>
    ${children}
  </div>`;
}

interface CardProps {
  readonly title?: Children;
  readonly tools?: Children;
  /** Columns of twelve on a wide screen; all of them by default. */
  readonly span?: 3 | 4 | 5 | 6 | 7 | 8 | 9 | 12;
  readonly children?: Children;
}

/** A card in a `Grid`. */
export function Card({ title, tools, span = 12, children }: CardProps): VNode {
  return html`<section class=${`card span-${span}`}>
    ${
      title !== undefined &&
      html`<div class="card-head">
        <h2>${title}</h2>
        <div class="tools">${tools}</div>
      </div>`
    }
    ${children}
  </section>`;
}

/** Twelve columns, fewer on narrow screens; nothing in it is wider than its column. */
export function Grid({ children }: { children?: Children }): VNode {
  return html`<div class="grid">${children}</div>`;
}

interface MetricTileProps {
  readonly label: Children;
  readonly value: Children;
  /** Under it: what it is compared with. */
  readonly note?: Children;
  /** Where the rows behind it are. */
  readonly href?: string;
  readonly tone?: "allow" | "deny" | "warn" | "person" | undefined;
}

/** One number with its name, and the way to the rows behind it. */
export function MetricTile({ label, value, note, href, tone }: MetricTileProps): VNode {
  const number = html`<span class=${`big ${tone ?? ""}`}>${value}</span>`;
  return html`<div class="figure">
    <span class="dim">${label}</span>
    ${href === undefined ? number : html`<a href=${href}>${number}</a>`}
    ${note !== undefined && html`<span class="dim small">${note}</span>`}
  </div>`;
}

/** Figures side by side. */
export function MetricTiles({ children }: { children?: Children }): VNode {
  return html`<div class="figures">${children}</div>`;
}

/** Names with their values, such as the members of a document. */
export function FactList({ facts }: { facts: readonly (readonly [Children, Children])[] }): VNode {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value ?? "–"}</dd>
        </div>`,
    )}
  </dl>`;
}
