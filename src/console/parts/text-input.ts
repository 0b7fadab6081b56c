// Text input that reports its value on Enter or blur, so that no request is sent for each letter.
import { html, useState, type VNode } from "../html.ts";

interface TextInputProps {
  readonly id: string;
  /** As it was last done, such as the address has it. */
  readonly value: string;
  readonly type?: "text" | "search";
  readonly placeholder?: string;
  readonly isDisabled?: boolean;
  readonly onDone: (text: string) => void;
}

/** What is being typed stays, whatever is drawn anew meanwhile; another `value` takes its place. */
export function TextInput(props: TextInputProps): VNode {
  const { id, value, type = "text", placeholder, isDisabled = false, onDone } = props;
  const [state, setState] = useState({ value, text: value });
  if (state.value !== value) setState({ value, text: value });
  return html`<input
    id=${id}
    type=${type}
    value=${state.value === value ? state.text : value}
    placeholder=${placeholder}
    disabled=${isDisabled}
    maxlength="512"
    autocomplete="off"
    spellcheck=${false}
    onInput=${(event: Event) => setState({ value, text: (event.target as HTMLInputElement).value })}
    onChange=${(event: Event) => onDone((event.target as HTMLInputElement).value.trim())}
  />`;
}
