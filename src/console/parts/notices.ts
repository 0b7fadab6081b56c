// Words instead of data, or beside it: waiting, failures with what to do, notices.
import { ApiError } from "../api.ts";
import { type Children, html, type VNode } from "../html.ts";
import type { LoadedData } from "../use-data.ts";

export function Loading(): VNode {
  return html`<p class="dim loading" role="status">Loading…</p>`;
}

const ADVICE: Readonly<Record<string, string>> = {
  insufficient_scope: "Log in with a key that holds this scope.",
  rate_limited: "Wait a moment, then try again.",
  store_unavailable: "The store is starting or catching up; scores are answered meanwhile.",
  overloaded: "The service is saturated; try again in a second.",
  deadline_exceeded: "It took too long; ask for less, or try again.",
};

/** A failure with its code, what it says, and what to do. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }): VNode {
  const problem = error instanceof ApiError ? error : undefined;
  const advice = problem && ADVICE[problem.code];
  return html`<div class="notice bad" role="alert">
    <p><b>${problem?.code ?? "no answer"}</b>: ${error.message}. ${advice}</p>
    ${
      problem !== undefined &&
      problem.errors.length > 0 &&
      html`<ul>
        ${problem.errors.map(({ pointer, detail }) => html`<li><code>${pointer || "/"}</code> ${detail}</li>`)}
      </ul>`
    }
    ${onRetry !== undefined && html`<button type="button" onClick=${onRetry}>Try again</button>`}
    ${problem?.requestId !== undefined && html`<p class="dim small">request ${problem.requestId}</p>`}
  </div>`;
}

/** Draws a loaded value; before the first one its progress. A failure appears above the last value. */
export function renderLoaded<Value>(
  { value, error, reload }: LoadedData<Value>,
  draw: (value: Value) => Children,
): VNode {
  return html`${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
  ${value === undefined ? error === undefined && html`<${Loading} />` : draw(value)}`;
}

type NoticeKind = "info" | "good" | "warn" | "bad";

/** A sentence that should be seen. */
export function Notice({
  kind = "info",
  children,
}: {
  kind?: NoticeKind;
  children?: Children;
}): VNode {
  return html`<div class=${`notice ${kind}`} role="status">${children}</div>`;
}

/** What an empty list says: that there is nothing, and what would fill it. */
export function Empty({ children }: { children?: Children }): VNode {
  return html`<p class="empty dim">${children}</p>`;
}
