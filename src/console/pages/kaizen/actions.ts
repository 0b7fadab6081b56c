// Actions on the weights: start a run or a dry run, promote one that was tested, go back.
import { send } from "../../api.ts";
import { html, useState, type VNode } from "../../html.ts";
import { Confirm } from "../../parts/actions.ts";
import { isCandidate, type RunRow, type Status } from "./shapes.ts";

type Open = "run" | "rollback" | undefined;

interface ToolsProps {
  readonly status: Status;
  /** Called with the id of a run that has begun, or after a rollback. */
  readonly onDone: (run?: string) => void;
}

async function start(isDryRun: boolean, isSignedOff: boolean): Promise<string> {
  const asked = { wait: false, dry_run: isDryRun, sign_off: isSignedOff };
  return (await send<{ run_id: string }>("POST", "/v1/kaizen/run", asked)).run_id;
}

/** Buttons at the head of the page. */
export function Tools({ status, onDone }: ToolsProps): VNode {
  const [open, setOpen] = useState<Open>(undefined);
  const isBusy = status.running !== undefined;
  return html`<button type="button" disabled=${isBusy} onClick=${() => setOpen("run")}>
      Run now…
    </button>
    <button
      type="button"
      disabled=${status.promoted_by === undefined}
      title=${status.promoted_by === undefined ? "nothing was promoted" : undefined}
      onClick=${() => setOpen("rollback")}
    >
      Roll back…
    </button>
    ${open === "run" && html`<${StartRun} onDone=${onDone} onClose=${() => setOpen(undefined)} />`}
    ${
      open === "rollback" &&
      html`<${Confirm}
        title="Roll back the newest promotion"
        name=${status.promoted_by}
        wantsReason=${true}
        action="Roll back"
        isDangerous=${true}
        onConfirm=${async (reason: string) => {
          await send("POST", "/v1/kaizen/rollback", { reason });
          onDone();
        }}
        onClose=${() => setOpen(undefined)}
      >
        <p>
          The weights that were live before ${status.promoted_by} answer the next request. The next
          two runs only test.
        </p>
      <//>`
    }`;
}

function StartRun({
  onDone,
  onClose,
}: {
  onDone: (run: string) => void;
  onClose: () => void;
}): VNode {
  const [isDryRun, setIsDryRun] = useState(true);
  const [isSignedOff, setIsSignedOff] = useState(false);
  return html`<${Confirm}
    title="Learn from what has settled"
    action=${isDryRun ? "Start the dry run" : "Start the run"}
    onConfirm=${async () => onDone(await start(isDryRun, isSignedOff))}
    onClose=${onClose}
  >
    <p>
      <label>
        <input
          type="checkbox"
          checked=${isDryRun}
          onChange=${(event: Event) => setIsDryRun((event.target as HTMLInputElement).checked)}
        />
        ${" "}Dry run: test and report, change nothing. It can be promoted later.
      </label>
    </p>
    <p>
      <label>
        <input
          type="checkbox"
          checked=${isSignedOff}
          onChange=${(event: Event) => setIsSignedOff((event.target as HTMLInputElement).checked)}
        />
        ${" "}Sign off: I agree to a structural change beforehand (gate G8).
      </label>
    </p>
    ${
      !isDryRun &&
      html`<p class="warn">
        If every gate passes, the new weights are live at once. The evidence is spent.
      </p>`
    }
  <//>`;
}

/** Promotes a dry run whose gates have all passed; the service decides whether that still holds. */
export function Promote({ run, onDone }: { run: RunRow; onDone: () => void }): VNode | null {
  const [isOpen, setIsOpen] = useState(false);
  if (!isCandidate(run)) return null;
  return html`<button type="button" class="primary" onClick=${() => setIsOpen(true)}>
      Promote…
    </button>
    ${
      isOpen &&
      html`<${Confirm}
        title="Make these weights live"
        name=${run.run_id}
        wantsReason=${true}
        action="Promote"
        isDangerous=${true}
        onConfirm=${async (reason: string) => {
          await send("POST", `/v1/kaizen/runs/${run.run_id}/promote`, { reason });
          onDone();
        }}
        onClose=${() => setIsOpen(false)}
      >
        <p>
          ${run.challenger_version} answers the next request, exactly as it was tested. Refused if
          other weights are live by now, or if a later run has tested newer evidence.
        </p>
      <//>`
    }`;
}
