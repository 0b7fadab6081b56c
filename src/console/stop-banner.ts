// Banner of the stops in force, above every page, with the way to lift them.
import { html, useState, type VNode } from "./html.ts";
import { linkTo } from "./location.ts";
import { describeStop, LiftStopDialog, mayLiftStop } from "./pages/conditions/stop-dialogs.ts";
import { Time, UntrustedText } from "./parts/words.ts";
import { useStops } from "./stops.ts";
import type { StopDescription } from "../contract/schemas/conditions.ts";

/** Nothing while nothing is stopped. Where stops cannot be read, that is said. */
export function StopBanner(): VNode | null {
  const { value = [], error } = useStops();
  const [lifting, setLifting] = useState<StopDescription>();
  return html`<div role="status">
      ${
        error !== undefined &&
        html`<div class="notice warn stops">
          Whether agents are stopped cannot be read now: ${error.message}.
        </div>`
      }
      ${value.map((stop) => html`<${StopNotice} stop=${stop} onLift=${() => setLifting(stop)} />`)}
    </div>
    ${
      lifting !== undefined &&
      html`<${LiftStopDialog} stop=${lifting} onClose=${() => setLifting(undefined)} />`
    }`;
}

function StopNotice({ stop, onLift }: { stop: StopDescription; onLift: () => void }): VNode {
  const { reason, until } = stop;
  return html`<div class="notice bad stops">
    <p>
      <b>${describeStop(stop)}</b>: <code>${reason.code}</code>${
        reason.text !== null && html` <${UntrustedText} text=${reason.text} />`
      }${until !== null && html`, until <${Time} at=${until} />`}
    </p>
    <div class="tools">
      <a class="button" href=${linkTo("conditions")}>Conditions</a>
      ${mayLiftStop(stop) && html`<button type="button" onClick=${onLift}>Lift the stop…</button>`}
    </div>
  </div>`;
}
