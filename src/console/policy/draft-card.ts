// The draft: its common rules as a form, all of it as text, and what the service says of it.
import type { Policy } from "../../contract/policy.ts";
import { html, useId, useRef, type VNode } from "../html.ts";
import { Failure } from "../parts/notices.ts";
import { Card } from "../parts/page.ts";
import type { DraftCheck } from "./check.ts";
import { computeLineNumber, findPointerOffset } from "./draft.ts";
import { PolicyForm } from "./form.ts";

interface DraftCardProps {
  readonly text: string;
  readonly draft: Policy;
  readonly live: Policy;
  readonly check: DraftCheck;
  readonly onText: (text: string) => void;
  readonly onPolicy: (policy: Policy) => void;
}

export function DraftCard(props: DraftCardProps): VNode {
  const { text, draft, live, check, onText, onPolicy } = props;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const show = (pointer: string) => {
    const element = area.current!;
    element.closest("details")!.open = true;
    const offset = findPointerOffset(text, pointer);
    element.focus();
    element.setSelectionRange(offset, text.indexOf("\n", offset) >>> 0);
  };
  return html`<${Card} title="Draft">
    <${PolicyForm} policy=${draft} live=${live} wrong=${check.wrong} onPolicy=${onPolicy} />
    <${DraftCheckResult} check=${check} text=${text} onShow=${show} />
    <details>
      <summary>All rules as JSON</summary>
      <label class="skip" for=${id}>Policy as JSON</label>
      <textarea
        id=${id}
        ref=${area}
        class="code wide"
        rows="22"
        spellcheck=${false}
        autocapitalize="off"
        value=${text}
        onInput=${(event: Event) => onText((event.target as HTMLTextAreaElement).value)}
      ></textarea>
    </details>
  <//>`;
}

interface DraftCheckResultProps {
  readonly check: DraftCheck;
  readonly text: string;
  readonly onShow: (pointer: string) => void;
}

function DraftCheckResult({ check, text, onShow }: DraftCheckResultProps): VNode {
  const { isAsking, made, wrong, error } = check;
  if (error !== undefined) return html`<${Failure} error=${error} />`;
  if (wrong.length > 0) {
    return html`<ul class="wrong" role="alert">
      ${wrong.map(
        ({ pointer, detail }) =>
          html`<li>
            <button type="button" class="plain" onClick=${() => onShow(pointer)}>
              ${pointer === "" ? "the text" : `${pointer}, line ${computeLineNumber(text, findPointerOffset(text, pointer))}`}
            </button>
            ${detail}
          </li>`,
      )}
    </ul>`;
  }
  return html`<p class="small" role="status">
    ${
      isAsking || made === undefined
        ? html`<span class="dim">Checking…</span>`
        : html`<span class="allow">Valid</span>: makes version <code>${made.version}</code>`
    }
  </p>`;
}
