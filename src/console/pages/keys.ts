// The keys of the API: who may ask what, when each was last used, and the ways to make, change, rotate and revoke one.
// The filter and the chosen key are in the address; a secret never is.
import { get } from "../api.ts";
import { number } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, type Parameters, useParameters } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, Figure, Figures, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Tag, Text, Time } from "../parts/words.ts";
import { session } from "../session.ts";
import { useData } from "../use-data.ts";
import {
  ChangeDialog,
  CreateDialog,
  type DialogProps,
  type Doing,
  RevokeDialog,
  RotateDialog,
} from "./keys/dialogs.ts";
import { endWords, Panel, Secret, StateTag, useWords } from "./keys/panel.ts";
import {
  chosenState,
  isIn,
  type Key,
  keysThat,
  type KeyWithSecret,
  SCOPES,
  SOON_DAYS,
  type State,
  STATES,
} from "./keys/shapes.ts";

const LEAD =
  "Who may ask what. A secret is shown once, when it is made; every change is in the audit trail.";
const EMPTY = "No key fits. Clear the filter, or make one with New key.";
const PATH = "/v1/keys";

export default function Keys(): VNode {
  const [parameters, set] = useParameters();
  const [doing, setDoing] = useState<Doing>();
  const [made, setMade] = useState<KeyWithSecret>();
  const { value, error, reload } = useData(
    (signal) => get<{ keys: Key[] }>(PATH, undefined, signal),
    [],
  );
  const keys = value?.keys ?? [];
  const target = keys.find(({ key_id: id }) => id === parameters["key"]);
  const dialog: DialogProps = {
    target,
    tenant: parameters["tenant"] ?? session()?.tenant ?? "",
    tenants: listTenants(keys),
    onSecret: setMade,
    onDone: ({ key_id: key }) => {
      reload();
      set({ key });
    },
    onClose: () => setDoing(undefined),
  };
  const tools = html`
    <button type="button" onClick=${reload}>Refresh</button>
    <button type="button" class="primary" onClick=${() => setDoing("create")}>New key…</button>
  `;
  return html`<${Page} title="Keys" lead=${LEAD} tools=${tools}>
    ${made !== undefined && html`<${Secret} made=${made} onStored=${() => setMade(undefined)} />`}
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${List} keys=${keys} parameters=${parameters} target=${target} onDo=${setDoing} />`
    }
    <${AsCurl} path=${PATH} />
    <${Dialog} doing=${doing} ...${dialog} />
  <//>`;
}

function Dialog({ doing, ...props }: DialogProps & { doing: Doing | undefined }): VNode | null {
  if (doing === "create") return html`<${CreateDialog} ...${props} />`;
  if (doing === undefined || props.target === undefined) return null;
  if (doing === "change") return html`<${ChangeDialog} ...${props} />`;
  if (doing === "rotate") return html`<${RotateDialog} ...${props} />`;
  return html`<${RevokeDialog} ...${props} />`;
}

interface ListProps {
  readonly keys: readonly Key[];
  readonly parameters: Parameters;
  readonly target: Key | undefined;
  readonly onDo: (doing: Doing) => void;
}

function List({ keys, parameters, target, onDo }: ListProps): VNode {
  const [, set] = useParameters();
  const rows = keysThat(keys, parameters, Date.now());
  const at = rows.findIndex((row) => row === target);
  return html`
    <${Counts} keys=${keys} />
    <${Filters} keys=${keys} parameters=${parameters} />
    ${
      target !== undefined &&
      html`<${Panel} target=${target} onDo=${onDo} onClose=${() => set({ key: undefined })} />`
    }
    <${Card} title=${`${number(rows.length)} ${rows.length === 1 ? "key" : "keys"}`}>
      <${Table}
        label="keys"
        columns=${columnsFor(parameters)}
        rows=${rows}
        keyOf=${({ key_id: id }: Key) => id}
        chosen=${at < 0 ? undefined : at}
        empty=${EMPTY}
      />
    <//>
  `;
}

const COUNTED: readonly (readonly [State, string, "warn" | undefined])[] = [
  ["active", "active", undefined],
  ["unused", "unused for 90 days", undefined],
  ["ending", `end within ${SOON_DAYS} days`, "warn"],
  ["rotating", "with two secrets", "warn"],
  ["revoked", "revoked", undefined],
];

/** Each leads to its rows. */
function Counts({ keys }: { keys: readonly Key[] }): VNode {
  const now = Date.now();
  return html`<${Figures}>
    ${COUNTED.map(([state, label, tone]) => {
      const count = keys.filter((key) => isIn(key, state, now)).length;
      return html`<${Figure}
        label=${label}
        value=${number(count)}
        href=${linkTo("keys", { state })}
        tone=${count > 0 ? tone : undefined}
      />`;
    })}
  <//>`;
}

interface FiltersProps {
  readonly keys: readonly Key[];
  readonly parameters: Parameters;
}

function Filters({ keys, parameters }: FiltersProps): VNode {
  const [, set] = useParameters();
  const choice = (name: string, label: string, value: string, options: [string, string][]) =>
    html`<div class="field">
      <label for=${`keys-${name}`}>${label}</label>
      <select
        id=${`keys-${name}`}
        value=${value}
        onChange=${(event: Event) =>
          set({ [name]: (event.target as HTMLSelectElement).value || undefined })}
      >
        ${options.map(([each, words]) => html`<option value=${each}>${words}</option>`)}
      </select>
    </div>`;
  const named = (names: readonly string[]) => names.map((each): [string, string] => [each, each]);
  const any: [string, string] = ["", "any"];
  const tenants = named(listTenants(keys));
  return html`<div class="filters">
    <div class="field">
      <label for="keys-text">Find</label>
      <input
        id="keys-text"
        type="search"
        value=${parameters["text"] ?? ""}
        placeholder="id, label, tenant"
        autocomplete="off"
        spellcheck=${false}
        onInput=${(event: Event) =>
          set({ text: (event.target as HTMLInputElement).value || undefined }, true)}
      />
    </div>
    ${choice("state", "State", chosenState(parameters), Object.entries(STATES))}
    ${choice("tenant", "Tenant", parameters["tenant"] ?? "", [any, ...tenants])}
    ${choice("scope", "May", parameters["scope"] ?? "", [any, ...named(SCOPES)])}
    <a class="button" href=${linkTo("keys")}>Clear</a>
  </div>`;
}

function listTenants(keys: readonly Key[]): string[] {
  return [...new Set(keys.map(({ tenant }) => tenant))].toSorted();
}

function columnsFor(parameters: Parameters): Column<Key>[] {
  return [
    {
      label: "key",
      cell: ({ key_id: id, label }) =>
        html`<a class="agent" href=${linkTo("keys", { ...parameters, key: id })}
            ><code>${id}</code></a
          >${label !== null && html`<br /><${Text} text=${label} />`}`,
    },
    {
      label: "tenant",
      cell: ({ tenant }) =>
        html`<a class="agent" href=${linkTo("keys", { ...parameters, tenant })}
          ><${Text} text=${tenant}
        /></a>`,
    },
    { label: "state", cell: (row) => html`<${StateTag} target=${row} />` },
    {
      label: "may",
      cell: ({ scopes, first_party: isFirstParty }) =>
        html`<div class="tags">
          ${scopes.map((scope) => html`<${Tag} word=${scope} tone=${scope === "admin" ? "warn" : undefined} />`)}
          ${isFirstParty && html`<${Tag} word="first party" tone="allow" />`}
        </div>`,
    },
    { label: "last use", cell: useWords },
    { label: "ends", cell: endWords },
    { label: "made", cell: ({ created_at: at }) => html`<${Time} at=${at} />` },
  ];
}
