// Form that sends one verify request about an agent and shows the verdict, also as JSON and as curl.
// The request is a real one: it is counted and logged.
import { sendDocument } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, readInputValue, useState, type VNode } from "../../html.ts";
import { linkTo, usePageParameters } from "../../location.ts";
import { CurlCommand, CopyButton } from "../../parts/actions.ts";
import { Failure } from "../../parts/notices.ts";
import { Field, SelectField } from "../../parts/fields.ts";
import { FactList } from "../../parts/page.ts";
import { AnswerTag } from "../../parts/words.ts";
import type { VerifyResponse } from "../../../contract/schemas/scores.ts";

const PATH = "/v1/trust/verify";
const LEVELS = ["L0", "L1", "L2", "L3"];

export function VerifyForm({ id }: { id: string }): VNode {
  const [{ action = "order.place", level = "L2", stakes = "" }, setParameters] =
    usePageParameters();
  const [state, setState] = useState<{ answer?: VerifyResponse; error?: Error; isBusy: boolean }>({
    isBusy: false,
  });
  const body = {
    agent_id: id,
    action,
    tool_level: level,
    ...(stakes === "" ? {} : { stakes: Number(stakes) }),
    context: {},
  };
  const ask = async (event: Event) => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      setState({ answer: await sendDocument<VerifyResponse>("POST", PATH, body), isBusy: false });
    } catch (error) {
      setState({ error: error as Error, isBusy: false });
    }
  };
  const change = (name: string, value: string) => {
    setParameters({ [name]: value }, true);
    setState({ isBusy: false });
  };
  return html`<${VerifyFields}
      action=${action}
      level=${level}
      stakes=${stakes}
      isBusy=${state.isBusy}
      onAsk=${ask}
      onChange=${change}
    />
    <p class="dim small">
      A real question by your key: it is counted, stays in the decision log, and may open a review.
    </p>
    ${state.error !== undefined && html`<${Failure} error=${state.error} />`}
    <div role="status">
      ${state.answer !== undefined && html`<${VerifyResult} answer=${state.answer} />`}
    </div>
    <${CurlCommand} method="POST" path=${PATH} body=${body} />`;
}

interface VerifyFieldsProps {
  readonly action: string;
  readonly level: string;
  readonly stakes: string;
  readonly isBusy: boolean;
  readonly onAsk: (event: Event) => Promise<void>;
  /** Puts a control's value into the address. */
  readonly onChange: (name: string, value: string) => void;
}

function VerifyFields(props: VerifyFieldsProps): VNode {
  const { action, level, stakes, isBusy, onAsk, onChange } = props;
  return html`<form class="filters" onSubmit=${onAsk}>
    <${Field} label="Action" id="ask-action">
      <input
        id="ask-action"
        value=${action}
        maxlength="128"
        required
        onInput=${(event: Event) => onChange("action", readInputValue(event))}
      />
    <//>
    <${SelectField}
      id="ask-level"
      label="Tool level"
      value=${level}
      options=${LEVELS}
      onValue=${(chosen: string) => onChange("level", chosen)}
    />
    <${Field} label="Stakes" id="ask-stakes">
      <input
        id="ask-stakes"
        type="number"
        min="0"
        step="any"
        value=${stakes}
        placeholder="not known"
        onInput=${(event: Event) => onChange("stakes", readInputValue(event))}
      />
    <//>
    <button type="submit" class="primary" disabled=${isBusy}>Ask</button>
  </form>`;
}

function VerifyResult({ answer }: { answer: VerifyResponse }): VNode {
  const { verdict, log_reason: rule } = answer.policy_action;
  const isHeld = verdict === "CHALLENGE" && answer.review !== undefined;
  const disposition = isHeld ? "person" : undefined;
  const json = JSON.stringify(answer, null, 2);
  return html`<${FactList}
      facts=${[
        ["Verdict", html`<${AnswerTag} word=${verdict} disposition=${disposition} />`],
        ["Rule that decided", html`<code>${rule}</code>`],
        ["Reasons", answer.reason_codes.join(", ") || "none"],
        [
          "Allowed up to stakes of",
          answer.max_stakes === null ? "any" : formatNumber(answer.max_stakes, 2),
        ],
        ["Enforced", answer.enforced ? "yes" : "no: shadow mode"],
        [
          "On record as",
          html`<a href=${linkTo("decision", { id: answer.request_id })}>${answer.request_id}</a>`,
        ],
      ]}
    />
    <details class="curl">
      <summary>as JSON</summary>
      <div class="code">
        <pre tabindex="0">${json}</pre>
        <${CopyButton} text=${json} />
      </div>
    </details>`;
}
