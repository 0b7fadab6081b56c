// Dialogs that stop all agents and lift a stop. Stopping takes a typed word as a second confirmation.
import { buildPathWithQuery, sendDocument } from "../../api.ts";
import { html, useId, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { SelectField } from "../../parts/fields.ts";
import { hasAnyScope, readSession } from "../../session.ts";
import { reloadStops } from "../../stops.ts";
import type { StopDescription } from "../../../contract/schemas/conditions.ts";
import { buildStandingBody, buildStandingDraft, StandingFields } from "./standing-fields.ts";

const PATH = "/v1/stop";
/** Typed before agents are stopped. */
const STOP_WORD = "stop";
const ABOVE = [
  ["", "all levels"],
  ["L0", "levels above L0"],
  ["L1", "levels above L1"],
  ["L2", "levels above L2"],
] as const;

/** Whether the key may stop agents; the service judges again. */
export function mayStop(): boolean {
  return hasAnyScope("conditions:restrict");
}

/** Whether the key may lift it; the bureau's takes an administrator. */
export function mayLiftStop({ scope }: StopDescription): boolean {
  return scope === "bureau" ? hasAnyScope("admin") : mayStop();
}

/** What a stop holds, in words: `All agents are stopped at levels above L1`. */
export function describeStop({ above, scope }: StopDescription): string {
  const at = above === null ? "at all levels" : `at levels above ${above}`;
  const of = scope === "bureau" ? " by the bureau, for all tenants" : "";
  return `All agents are stopped ${at}${of}`;
}

export function StopDialog({ onClose }: { onClose: () => void }): VNode {
  const id = useId();
  const [above, setAbove] = useState("");
  const [draft, setDraft] = useState(() => buildStandingDraft(undefined));
  const stop = async () => {
    const body = buildStandingBody(draft, Date.now());
    await sendDocument("PUT", PATH, above === "" ? body : { ...body, above });
    reloadStops();
  };
  const whose = draft.isOfBureau ? "every tenant" : `the tenant ${readSession()?.tenant}`;
  return html`<${ConfirmDialog}
    title="Stop all agents"
    action="Stop all agents"
    name=${STOP_WORD}
    isDangerous=${true}
    onConfirm=${stop}
    onClose=${onClose}
  >
    <p>
      All agents of <b>${whose}</b> are blocked at these levels and refused connections, from the
      next request on. Open reviews at these levels end. A stop that stands is replaced.
    </p>
    <${SelectField}
      id=${`${id}-above`}
      label="Stopped"
      value=${above}
      options=${ABOVE}
      onValue=${setAbove}
    />
    <${StandingFields}
      draft=${draft}
      onChange=${(change: object) => setDraft({ ...draft, ...change })}
    />
  <//>`;
}

export function LiftStopDialog(props: { stop: StopDescription; onClose: () => void }): VNode {
  const { scope, reason } = props.stop;
  const lift = async () => {
    await sendDocument("DELETE", buildPathWithQuery(PATH, { scope }));
    reloadStops();
  };
  return html`<${ConfirmDialog}
    title="Lift the stop?"
    action="Lift"
    onConfirm=${lift}
    onClose=${props.onClose}
  >
    <p>
      ${describeStop(props.stop)} (<code>${reason.code}</code>). Once it is lifted, records and
      conditions decide again.
    </p>
  <//>`;
}
