// The keys of the API: who may ask what, when each was last used, and the ways to make, change, rotate and revoke one.
// The filter and the chosen key are in the address; a secret never is.
import { getDocument } from "../api.ts";
import { formatNumber } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Tag, UntrustedText, Time } from "../parts/words.ts";
import { readSession } from "../session.ts";
import { useData } from "../use-data.ts";
import {
  ChangeKeyDialog,
  CreateKeyDialog,
  type KeyDialogProps,
  type KeyAction,
  RevokeKeyDialog,
  RotateKeyDialog,
} from "./keys/dialogs.ts";
import { renderKeyExpiry, KeyCard, SecretCard, KeyStateTag, renderLastUse } from "./keys/panel.ts";
import {
  readStateFilter,
  isInState,
  type ListedKey,
  selectKeys,
  type KeyWithSecret,
  SCOPES,
  SOON_DAYS,
  type KeyStateFilter,
  KEY_STATE_LABELS,
} from "./keys/key-states.ts";

const LEAD =
  "Who may ask what. A secret is shown once, when it is made; every change is in the audit trail.";
const EMPTY = "No key fits. Clear the filter, or make one with New key.";
const PATH = "/v1/keys";

export default function KeysPage(): VNode {
  const [parameters, set] = usePageParameters();
  const [doing, setDoing] = useState<KeyAction>();
  const [made, setMade] = useState<KeyWithSecret>();
  const { value, error, reload } = useData(
    (signal) => getDocument<{ keys: ListedKey[] }>(PATH, undefined, signal),
    [],
  );
  const keys = value?.keys ?? [];
  const target = keys.find(({ key_id: id }) => id === parameters["key"]);
  const dialog: KeyDialogProps = {
    target,
    tenant: parameters["tenant"] ?? readSession()?.tenant ?? "",
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
    ${made !== undefined && html`<${SecretCard} made=${made} onStored=${() => setMade(undefined)} />`}
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${KeySection}
            keys=${keys}
            parameters=${parameters}
            target=${target}
            onDo=${setDoing}
          />`
    }
    <${CurlCommand} path=${PATH} />
    <${KeyDialog} doing=${doing} ...${dialog} />
  <//>`;
}

function KeyDialog({
  doing,
  ...props
}: KeyDialogProps & { doing: KeyAction | undefined }): VNode | null {
  if (doing === "create") return html`<${CreateKeyDialog} ...${props} />`;
  if (doing === undefined || props.target === undefined) return null;
  if (doing === "change") return html`<${ChangeKeyDialog} ...${props} />`;
  if (doing === "rotate") return html`<${RotateKeyDialog} ...${props} />`;
  return html`<${RevokeKeyDialog} ...${props} />`;
}

interface KeySectionProps {
  readonly keys: readonly ListedKey[];
  readonly parameters: PageParameters;
  readonly target: ListedKey | undefined;
  readonly onDo: (doing: KeyAction) => void;
}

function KeySection({ keys, parameters, target, onDo }: KeySectionProps): VNode {
  const [, set] = usePageParameters();
  const rows = selectKeys(keys, parameters, Date.now());
  const at = rows.findIndex((row) => row === target);
  return html`
    <${KeyCounts} keys=${keys} />
    <${KeyFilters} keys=${keys} parameters=${parameters} />
    ${
      target !== undefined &&
      html`<${KeyCard} target=${target} onDo=${onDo} onClose=${() => set({ key: undefined })} />`
    }
    <${Card} title=${`${formatNumber(rows.length)} ${rows.length === 1 ? "key" : "keys"}`}>
      <${Table}
        label="keys"
        columns=${buildKeyColumns(parameters)}
        rows=${rows}
        keyOf=${({ key_id: id }: ListedKey) => id}
        chosen=${at < 0 ? undefined : at}
        empty=${EMPTY}
      />
    <//>
  `;
}

const COUNTED: readonly (readonly [KeyStateFilter, string, "warn" | undefined])[] = [
  ["active", "active", undefined],
  ["unused", "unused for 90 days", undefined],
  ["ending", `end within ${SOON_DAYS} days`, "warn"],
  ["rotating", "with two secrets", "warn"],
  ["revoked", "revoked", undefined],
];

/** Each leads to its rows. */
function KeyCounts({ keys }: { keys: readonly ListedKey[] }): VNode {
  const now = Date.now();
  return html`<${MetricTiles}>
    ${COUNTED.map(([state, label, tone]) => {
      const count = keys.filter((key) => isInState(key, state, now)).length;
      return html`<${MetricTile}
        label=${label}
        value=${formatNumber(count)}
        href=${linkTo("keys", { state })}
        tone=${count > 0 ? tone : undefined}
      />`;
    })}
  <//>`;
}

interface KeyFiltersProps {
  readonly keys: readonly ListedKey[];
  readonly parameters: PageParameters;
}

function KeyFilters({ keys, parameters }: KeyFiltersProps): VNode {
  const [, set] = usePageParameters();
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
    ${choice("state", "State", readStateFilter(parameters), Object.entries(KEY_STATE_LABELS))}
    ${choice("tenant", "Tenant", parameters["tenant"] ?? "", [any, ...tenants])}
    ${choice("scope", "May", parameters["scope"] ?? "", [any, ...named(SCOPES)])}
    <a class="button" href=${linkTo("keys")}>Clear</a>
  </div>`;
}

function listTenants(keys: readonly ListedKey[]): string[] {
  return [...new Set(keys.map(({ tenant }) => tenant))].toSorted();
}

function buildKeyColumns(parameters: PageParameters): Column<ListedKey>[] {
  return [
    {
      label: "key",
      cell: ({ key_id: id, label }) =>
        html`<a class="agent" href=${linkTo("keys", { ...parameters, key: id })}
            ><code>${id}</code></a
          >${label !== null && html`<br /><${UntrustedText} text=${label} />`}`,
    },
    {
      label: "tenant",
      cell: ({ tenant }) =>
        html`<a class="agent" href=${linkTo("keys", { ...parameters, tenant })}
          ><${UntrustedText} text=${tenant}
        /></a>`,
    },
    { label: "state", cell: (row) => html`<${KeyStateTag} target=${row} />` },
    {
      label: "may",
      cell: ({ scopes, first_party: isFirstParty }) =>
        html`<div class="tags">
          ${scopes.map((scope) => html`<${Tag} word=${scope} tone=${scope === "admin" ? "warn" : undefined} />`)}
          ${isFirstParty && html`<${Tag} word="first party" tone="allow" />`}
        </div>`,
    },
    { label: "last use", cell: renderLastUse },
    { label: "ends", cell: renderKeyExpiry },
    { label: "made", cell: ({ created_at: at }) => html`<${Time} at=${at} />` },
  ];
}
