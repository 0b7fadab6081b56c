// Keys page: API keys with their scopes and last use, and the dialogs that create, change and revoke them.
// The address holds the filters and the selected key, never a secret.
import { getDocument } from "../api.ts";
import { formatNumber } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { linkTo, type PageParameters, usePageParameters } from "../location.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListCard, ListPage } from "../parts/list-page.ts";
import { MetricTile, MetricTiles } from "../parts/page.ts";
import type { Column } from "../parts/table.ts";
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
  UNUSED_DAYS,
} from "./keys/key-states.ts";

const LEAD =
  "Who may ask what. A secret is shown once, when it is made; every change is in the audit trail.";
const EMPTY = "No key fits. Clear the filter, or make one with New key.";
const PATH = "/v1/keys";

export default function KeysPage(): VNode {
  const [parameters, set] = usePageParameters();
  const [doing, setDoing] = useState<KeyAction>();
  const [made, setMade] = useState<KeyWithSecret>();
  const data = useData((signal) => getDocument<{ keys: ListedKey[] }>(PATH, undefined, signal), []);
  const keys = data.value?.keys ?? [];
  const target = keys.find(({ key_id: id }) => id === parameters["key"]);
  const dialog: KeyDialogProps = {
    target,
    tenant: parameters["tenant"] ?? readSession()?.tenant ?? "",
    tenants: listTenants(keys),
    onSecret: setMade,
    onDone: ({ key_id: key }) => {
      data.reload();
      set({ key });
    },
    onClose: () => setDoing(undefined),
  };
  const tools = html`
    <button type="button" onClick=${data.reload}>Refresh</button>
    <button type="button" class="primary" onClick=${() => setDoing("create")}>New key…</button>
  `;
  return html`<${ListPage}
    title="Keys"
    lead=${LEAD}
    tools=${tools}
    filters=${made !== undefined && html`<${SecretCard} made=${made} onStored=${() => setMade(undefined)} />`}
    data=${data}
    draw=${() => html`<${KeySection} ...${{ keys, parameters, target }} onDo=${setDoing} />`}
    curl=${{ path: PATH }}
  >
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
    <${PageFilters} filters=${listKeyFilters(keys)} canClear />
    ${
      target !== undefined &&
      html`<${KeyCard} target=${target} onDo=${onDo} onClose=${() => set({ key: undefined })} />`
    }
    <${ListCard}
      noun="key"
      label="keys"
      columns=${buildKeyColumns(parameters)}
      rows=${rows}
      keyOf=${({ key_id: id }: ListedKey) => id}
      chosen=${at < 0 ? undefined : at}
      empty=${EMPTY}
    />
  `;
}

const COUNTED: readonly (readonly [KeyStateFilter, string, "warn" | undefined])[] = [
  ["active", "active", undefined],
  ["unused", `unused for ${UNUSED_DAYS} days`, undefined],
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

function listKeyFilters(keys: readonly ListedKey[]): PageFilter[] {
  const any = ["", "any"] as const;
  return [
    { name: "text", label: "Find", type: "typing", placeholder: "id, label, tenant" },
    {
      name: "state",
      label: "State",
      options: Object.entries(KEY_STATE_LABELS),
      fallback: readStateFilter({}),
    },
    { name: "tenant", label: "Tenant", options: [any, ...listTenants(keys)] },
    { name: "scope", label: "May", options: [any, ...SCOPES] },
  ];
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
