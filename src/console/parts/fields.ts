// Form fields: labeled controls, text inputs that wait before they report, and the filters of a page,
// whose values are kept in the address.
import { type Children, html, readInputValue, useEffect, useState, type VNode } from "../html.ts";
import { linkTo, usePageLocation, usePageParameters } from "../location.ts";

/** Pause in typing after which a search field reports its text. */
const TYPING_MS = 250;

interface FieldProps {
  readonly label: Children;
  /** Id of the control, which is the child. */
  readonly id: string;
  readonly hint?: Children;
  readonly children?: Children;
}

/** Label above a control. The control carries `id` itself. */
export function Field({ label, id, hint, children }: FieldProps): VNode {
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children}
    ${hint !== undefined && html`<span class="dim small" id=${`${id}-hint`}>${hint}</span>`}
  </div>`;
}

/** A word that is its own label, or a value with its label. */
type SelectOption = string | readonly [value: string | number, label: string];
export type SelectOptions = readonly SelectOption[];

interface SelectProps {
  readonly label: string;
  /** Undefined where the label is only read aloud. */
  readonly id?: string;
  readonly value: string | number;
  readonly options: SelectOptions;
  readonly onValue: (value: string) => void;
}

/** Drop-down list without a visible label. */
export function Select({ label, id, value, options, onValue }: SelectProps): VNode {
  return html`<select
    id=${id}
    aria-label=${id === undefined ? label : undefined}
    value=${value}
    onChange=${(event: Event) => onValue(readInputValue(event))}
  >
    ${options.map((option) => {
      const [each, words] = typeof option === "string" ? [option, option] : option;
      return html`<option value=${each}>${words}</option>`;
    })}
  </select>`;
}

/** Drop-down list with its label. */
export function SelectField(props: SelectProps & { readonly id: string }): VNode {
  return html`<${Field} label=${props.label} id=${props.id}><${Select} ...${props} /><//>`;
}

interface TextInputProps {
  readonly id: string;
  /** Last reported text, such as the one in the address. */
  readonly value: string;
  readonly type?: "text" | "search";
  readonly placeholder?: string;
  readonly isDisabled?: boolean;
  readonly onDone: (text: string) => void;
}

/** Reports on Enter or blur. Unreported text survives re-rendering until `value` changes. */
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
    onInput=${(event: Event) => setState({ value, text: readInputValue(event) })}
    onChange=${(event: Event) => onDone(readInputValue(event).trim())}
  />`;
}

/** Reports after a pause in typing. */
function SearchInput({ id, value, placeholder, onDone }: TextInputProps): VNode {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onDone(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return html`<input
    id=${id}
    type="search"
    value=${text}
    placeholder=${placeholder}
    maxlength="256"
    autocomplete="off"
    spellcheck=${false}
    onInput=${(event: Event) => setText(readInputValue(event))}
  />`;
}

export interface PageFilter {
  /** Name of the parameter in the address. */
  readonly name: string;
  readonly label: string;
  /** Makes the filter a drop-down list. */
  readonly options?: SelectOptions;
  /** Text inputs: `typing` reports after a pause, the others on Enter or blur. */
  readonly type?: "typing" | "search" | "text";
  readonly placeholder?: string;
  /** Shown while the address has no value. */
  readonly fallback?: string;
  readonly isDisabled?: boolean;
}

interface PageFiltersProps {
  readonly filters: readonly PageFilter[];
  /** Parameters that a changed filter removes, such as the position in the list. */
  readonly resets?: readonly string[];
  /** Shows a link that removes all parameters. */
  readonly canClear?: boolean;
  readonly children?: Children;
}

/** The filters of the current page. */
export function PageFilters({ filters, resets = [], canClear, children }: PageFiltersProps): VNode {
  const { page } = usePageLocation();
  const [parameters, change] = usePageParameters();
  const removed = Object.fromEntries(resets.map((name) => [name, undefined]));
  return html`<div class="filters">
    ${filters.map(({ name, label, options, type = "text", fallback = "", ...rest }) => {
      const id = `${page}-${name}`;
      const value = parameters[name] ?? fallback;
      const set = (next: string) => change({ ...removed, [name]: next }, type === "typing");
      if (options !== undefined) {
        return html`<${SelectField} ...${{ id, label, value, options }} onValue=${set} />`;
      }
      const Input = type === "typing" ? SearchInput : TextInput;
      return html`<${Field} label=${label} id=${id}>
        <${Input} ...${{ ...rest, id, value, type }} onDone=${set} />
      <//>`;
    })}
    ${children} ${canClear === true && html`<a class="button" href=${linkTo(page)}>Clear</a>`}
  </div>`;
}
