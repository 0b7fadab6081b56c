// Actions: the same request as curl, copying, and dialogs that ask before something is done.
import {
  html,
  readInputValue,
  useEffect,
  useId,
  useRef,
  useState,
  type Children,
  type VNode,
} from "../html.ts";
import { Failure } from "./notices.ts";

export interface CurlCommandProps {
  readonly method?: string;
  /** With its query, such as `/v1/decisions?limit=50`. */
  readonly path: string;
  readonly body?: unknown;
}

/** The request behind what is shown, to be pasted into a terminal. */
export function CurlCommand({ method = "GET", path, body }: CurlCommandProps): VNode {
  const lines = [
    `curl -s ${method === "GET" ? "" : `-X ${method} `}'${escapeSingleQuotes(location.origin + path)}'`,
    `-H "Authorization: Bearer $KEY"`,
    ...(body === undefined
      ? []
      : [
          `-H 'Content-Type: application/json'`,
          `-d '${escapeSingleQuotes(JSON.stringify(body))}'`,
        ]),
  ];
  const text = lines.join(" \\\n  ");
  return html`<details class="curl">
    <summary>as curl</summary>
    <div class="code">
      <pre tabindex="0">${text}</pre>
      <${CopyButton} text=${text} />
    </div>
  </details>`;
}

function escapeSingleQuotes(text: string): string {
  return text.replaceAll("'", `'\\''`);
}

/** Puts `text` on the clipboard and says so. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): VNode {
  const [told, setTold] = useState("");
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setTold("Copied"),
      () => setTold("Select it and copy by hand"),
    );
    setTimeout(() => setTold(""), 2000);
  };
  return html`<button type="button" class="small" onClick=${copy}>${told || label}</button>`;
}

interface ConfirmDialogProps {
  readonly title: string;
  /** What will happen, in a sentence. */
  readonly children?: Children;
  /** Must be typed to go on; nothing must be when absent. */
  readonly name?: string;
  /** A reason is asked for and put on record. */
  readonly wantsReason?: boolean;
  /** Of the button that does it. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** Does it; the dialog stays open with the failure when it rejects. */
  readonly onConfirm: (reason: string) => Promise<unknown>;
  readonly onClose: () => void;
}

/** A dialog before something that cannot simply be taken back. Rendered while it is open. */
export function ConfirmDialog(props: ConfirmDialogProps): VNode {
  const { title, name, wantsReason = false, action, isDangerous = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  useEffect(() => dialog.current?.showModal(), []);
  const isReady =
    (name === undefined || typed === name) &&
    (!wantsReason || reason.trim() !== "") &&
    !state.isBusy;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setState({ isBusy: true });
    try {
      await props.onConfirm(reason.trim());
      props.onClose();
    } catch (error) {
      setState({ isBusy: false, error: error as Error });
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby=${`${id}-title`} onClose=${props.onClose}>
    <form onSubmit=${submit}>
      <h2 id=${`${id}-title`}>${title}</h2>
      ${props.children}
      ${
        name !== undefined &&
        html`<${TextField}
          label=${html`Type <b><bdi>${name}</bdi></b> to go on`}
          value=${typed}
          onValue=${setTyped}
        />`
      }
      ${
        wantsReason &&
        html`<${TextField} label="Reason, kept on record" value=${reason} onValue=${setReason} />`
      }
      ${state.error !== undefined && html`<${Failure} error=${state.error} />`}
      <div class="tools">
        <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
        <button type="submit" class=${isDangerous ? "danger" : "primary"} disabled=${!isReady}>
          ${action}
        </button>
      </div>
    </form>
  </dialog>`;
}

interface TextFieldProps {
  readonly label: Children;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** One line to be typed. */
function TextField({ label, value, onValue }: TextFieldProps): VNode {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      value=${value}
      maxlength="200"
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event: Event) => onValue(readInputValue(event))}
    />
  </div>`;
}
