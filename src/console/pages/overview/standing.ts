// Figures that stand whatever is answered at the moment: reviews that wait for a person, agents on record.
import { get } from "../../api.ts";
import { number } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { Figure } from "../../parts/page.ts";
import { usePolled } from "../../use-data.ts";

const EVERY_MS = 15_000;
/** Reviews that are counted; beyond, it says so. */
const REVIEWS_MAX = 1000;

/** What a key may not see is left out; the figure says so by a dash. */
async function orNothing<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  return asked.catch(() => undefined);
}

async function load(signal: AbortSignal) {
  const queue = { state: "open", limit: REVIEWS_MAX };
  const [open, agents] = await Promise.all([
    orNothing(get<{ reviews: unknown[] }>("/v1/reviews", queue, signal)),
    orNothing(get<{ total: number }>("/v1/agents", { limit: 1 }, signal)),
  ]);
  return { open: open?.reviews.length, agents: agents?.total };
}

export function Standing(): VNode {
  const { value: { open, agents } = {} } = usePolled(load, EVERY_MS);
  const isMore = open === REVIEWS_MAX;
  return html`
    <${Figure}
      label="open reviews"
      value=${`${number(open)}${isMore ? "+" : ""}`}
      note="wait for a person"
      tone=${(open ?? 0) > 0 ? "warn" : undefined}
      href=${linkTo("reviews")}
    />
    <${Figure} label="agents" value=${number(agents)} note="on record" href=${linkTo("agents")} />
  `;
}
