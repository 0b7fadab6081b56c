// Actions on the weights: start a run or a dry run, promote one that was tested, go back.
import { sendDocument } from "../../api.ts";
import { html, useState, type VNode } from "../../html.ts";
import { ConfirmDialog } from "../../parts/actions.ts";
import { isCandidate, type ListedRun, type KaizenStatusReply } from "./shapes.ts";

type OpenDialog = "run" | "rollback" | undefined;

interface KaizenToolsProps {
  readonly status: KaizenStatusReply;
  /** Called with the id of a run that has begun, or after a rollback. */
  readonly onDone: (run?: string) => void;
}

async function requestRun(isDryRun: boolean, isSignedOff: boolean): Promise<string> {
  const asked = { wait: false, dry_run: isDryRun, sign_off: isSignedOff };
  return (await sendDocument<{ run_id: string }>("POST", "/v1/kaizen/run", asked)).run_id;
}

/** Buttons at the head of the page. */
export function KaizenTools({ status, onDone }: KaizenToolsProps): VNode {
  const [open, setOpen] = useState<OpenDialog>(undefined);
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
    ${open === "run" && html`<${StartRunDialog} onDone=${onDone} onClose=${() => setOpen(undefined)} />`}
    ${
      open === "rollback" &&
      html`<${ConfirmDialog}
        title="Roll back the newest promotion"
        name=${status.promoted_by}
        wantsReason=${true}
        action="Roll back"
        isDangerous=${true}
        onConfirm=${async (reason: string) => {
          await sendDocument("POST", "/v1/kaizen/rollback", { reason });
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

function StartRunDialog({
  onDone,
  onClose,
}: {
  onDone: (run: string) => void;
  onClose: () => void;
}): VNode {
  const [isDryRun, setIsDryRun] = useState(true);
  const [isSignedOff, setIsSignedOff] = useState(false);
  return html`<${ConfirmDialog}
    title="Learn from what has settled"
    action=${isDryRun ? "Start the dry run" : "Start the run"}
    onConfirm=${async () => onDone(await requestRun(isDryRun, isSignedOff))}
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
export function PromoteButton({
  run,
  onDone,
}: {
  run: ListedRun;
  onDone: () => void;
}): VNode | null {
  const [isOpen, setIsOpen] = useState(false);
  if (!isCandidate(run)) return null;
  return html`<button type="button" class="primary" onClick=${() => setIsOpen(true)}>
      Promote…
    </button>
    ${
      isOpen &&
      html`<${ConfirmDialog}
        title="Make these weights live"
        name=${run.run_id}
        wantsReason=${true}
        action="Promote"
        isDangerous=${true}
        onConfirm=${async (reason: string) => {
          await sendDocument("POST", `/v1/kaizen/runs/${run.run_id}/promote`, { reason });
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
