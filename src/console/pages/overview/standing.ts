// Figures that stand whatever is answered at the moment: reviews that wait for a person, agents on record.
import { getDocument } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { MetricTile } from "../../parts/page.ts";
import { usePolledData } from "../../use-data.ts";

const EVERY_MS = 15_000;
/** Reviews that are counted; beyond, it says so. */
const REVIEWS_MAX = 1000;

/** What a key may not see is left out; the figure says so by a dash. */
async function catchAsUndefined<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  return asked.catch(() => undefined);
}

async function loadCurrentCounts(signal: AbortSignal) {
  const queue = { state: "open", limit: REVIEWS_MAX };
  const [open, agents] = await Promise.all([
    catchAsUndefined(getDocument<{ reviews: unknown[] }>("/v1/reviews", queue, signal)),
    catchAsUndefined(getDocument<{ total: number }>("/v1/agents", { limit: 1 }, signal)),
  ]);
  return { open: open?.reviews.length, agents: agents?.total };
}

export function CurrentCounts(): VNode {
  const { value: { open, agents } = {} } = usePolledData(loadCurrentCounts, EVERY_MS);
  const isMore = open === REVIEWS_MAX;
  return html`
    <${MetricTile}
      label="open reviews"
      value=${`${formatNumber(open)}${isMore ? "+" : ""}`}
      note="wait for a person"
      tone=${(open ?? 0) > 0 ? "warn" : undefined}
      href=${linkTo("reviews")}
    />
    <${MetricTile}
      label="agents"
      value=${formatNumber(agents)}
      note="on record"
      href=${linkTo("agents")}
    />
  `;
}
