// Versions of a tenant's policy: who set each, when and why, what it changed, and a button to restore it.
import { querySql } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { Failure, Loading } from "../../parts/notices.ts";
import { Table } from "../../parts/table.ts";
import { Tag, UntrustedText, Time } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";
import { type PolicyDifference, listPolicyDifferences } from "./draft.ts";

const SHOWN_MAX = 50;

interface PolicyVersionRow {
  readonly version: string;
  readonly set_at: string;
  readonly set_by: string;
  readonly reason: string | null;
  readonly in_force: boolean;
  readonly policy: string;
  readonly before: string | null;
}

interface PolicyVersionsProps {
  readonly tenant: string;
  /** Changes when one was set. */
  readonly set: string;
  readonly onTakeUp: (policy: unknown) => void;
}

export function PolicyVersions({ tenant, set, onTakeUp }: PolicyVersionsProps): VNode {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const { value, error, reload } = useData(
    (signal) => querySql<PolicyVersionRow>(buildVersionsSql(tenant), signal),
    [tenant, set],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const row = chosen === undefined ? undefined : value[chosen];
  return html`
    <${Table}
      label="versions"
      columns=${buildVersionColumns(onTakeUp)}
      rows=${value}
      keyOf=${(_: PolicyVersionRow, at: number) => at}
      chosen=${chosen}
      onChoose=${(_: PolicyVersionRow, at: number) => setChosen(at === chosen ? undefined : at)}
      empty="No policy was set for this tenant: the shipped one is in force. Saving one makes the first version."
    />
    ${
      row !== undefined &&
      html`<h3>What ${row.version} changed</h3>
        <${PolicyDifferences} differences=${listVersionChanges(row)} />`
    }
  `;
}

function buildVersionColumns(onTakeUp: (policy: unknown) => void) {
  return [
    { label: "set", cell: (row: PolicyVersionRow) => html`<${Time} at=${row.set_at} as="full" />` },
    {
      label: "version",
      cell: (row: PolicyVersionRow) =>
        html`<code>${row.version}</code>
          ${row.in_force && html`<${Tag} word="in force" tone="allow" />`}`,
    },
    { label: "by", cell: (row: PolicyVersionRow) => html`<code>${row.set_by}</code>` },
    {
      label: "reason",
      cell: (row: PolicyVersionRow) => html`<${UntrustedText} text=${row.reason} />`,
    },
    {
      label: "changes",
      isNumber: true,
      cell: (row: PolicyVersionRow) => formatNumber(listVersionChanges(row).length),
    },
    {
      label: "",
      cell: (row: PolicyVersionRow) =>
        html`<button
          type="button"
          class="small"
          aria-label=${`Take up ${row.version} again`}
          onClick=${(event: Event) => {
            event.stopPropagation();
            onTakeUp(JSON.parse(row.policy));
          }}
        >
          Take up again
        </button>`,
    },
  ];
}

function listVersionChanges({ policy, before }: PolicyVersionRow): PolicyDifference[] {
  return before === null ? [] : listPolicyDifferences(JSON.parse(before), JSON.parse(policy));
}

/** Members with their values before and after. */
export function PolicyDifferences({
  differences,
}: {
  differences: readonly PolicyDifference[];
}): VNode {
  return html`<${Table}
    label="differences"
    columns=${[
      { label: "rule", cell: ({ path }: PolicyDifference) => path.replace(/^levels /, "") },
      {
        label: "before",
        cell: ({ before }: PolicyDifference) => html`<code>${before ?? "–"}</code>`,
      },
      { label: "after", cell: ({ after }: PolicyDifference) => html`<code>${after ?? "–"}</code>` },
    ]}
    rows=${differences}
    empty="Nothing: the first version, or the same rules again."
  />`;
}

function buildVersionsSql(tenant: string): string {
  return `SELECT version, set_at, set_by, reason, in_force, policy,
  lag(policy) OVER (ORDER BY position) AS before
FROM policies WHERE tenant = '${tenant.replaceAll("'", "''")}'
ORDER BY position DESC LIMIT ${SHOWN_MAX}`;
}
