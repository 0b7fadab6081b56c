// Versions of a tenant's policy: who set which when and why, what each changed, and the way to take an
// earlier one up again.
import { query } from "../api.ts";
import { number } from "../format.ts";
import { html, useState, type VNode } from "../html.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Table } from "../parts/table.ts";
import { Tag, Text, Time } from "../parts/words.ts";
import { useData } from "../use-data.ts";
import { type Difference, listPolicyDifferences } from "./draft.ts";

const SHOWN_MAX = 50;

interface Version {
  readonly version: string;
  readonly set_at: string;
  readonly set_by: string;
  readonly reason: string | null;
  readonly in_force: boolean;
  readonly policy: string;
  readonly before: string | null;
}

interface VersionsProps {
  readonly tenant: string;
  /** Changes when one was set. */
  readonly set: string;
  readonly onTakeUp: (policy: unknown) => void;
}

export function Versions({ tenant, set, onTakeUp }: VersionsProps): VNode {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const { value, error, reload } = useData(
    (signal) => query<Version>(sqlFor(tenant), signal),
    [tenant, set],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const row = chosen === undefined ? undefined : value[chosen];
  return html`
    <${Table}
      label="versions"
      columns=${columnsFor(onTakeUp)}
      rows=${value}
      keyOf=${(_: Version, at: number) => at}
      chosen=${chosen}
      onChoose=${(_: Version, at: number) => setChosen(at === chosen ? undefined : at)}
      empty="No policy was set for this tenant: the shipped one is in force. Saving one makes the first version."
    />
    ${
      row !== undefined &&
      html`<h3>What ${row.version} changed</h3>
        <${Differences} differences=${listVersionChanges(row)} />`
    }
  `;
}

function columnsFor(onTakeUp: (policy: unknown) => void) {
  return [
    { label: "set", cell: (row: Version) => html`<${Time} at=${row.set_at} as="full" />` },
    {
      label: "version",
      cell: (row: Version) =>
        html`<code>${row.version}</code>
          ${row.in_force && html`<${Tag} word="in force" tone="allow" />`}`,
    },
    { label: "by", cell: (row: Version) => html`<code>${row.set_by}</code>` },
    { label: "reason", cell: (row: Version) => html`<${Text} text=${row.reason} />` },
    {
      label: "changes",
      isNumber: true,
      cell: (row: Version) => number(listVersionChanges(row).length),
    },
    {
      label: "",
      cell: (row: Version) =>
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

function listVersionChanges({ policy, before }: Version): Difference[] {
  return before === null ? [] : listPolicyDifferences(JSON.parse(before), JSON.parse(policy));
}

/** Members with their values before and after. */
export function Differences({ differences }: { differences: readonly Difference[] }): VNode {
  return html`<${Table}
    label="differences"
    columns=${[
      { label: "rule", cell: ({ path }: Difference) => path.replace(/^levels /, "") },
      { label: "before", cell: ({ before }: Difference) => html`<code>${before ?? "–"}</code>` },
      { label: "after", cell: ({ after }: Difference) => html`<code>${after ?? "–"}</code>` },
    ]}
    rows=${differences}
    empty="Nothing: the first version, or the same rules again."
  />`;
}

function sqlFor(tenant: string): string {
  return `SELECT version, set_at, set_by, reason, in_force, policy,
  lag(policy) OVER (ORDER BY position) AS before
FROM policies WHERE tenant = '${tenant.replaceAll("'", "''")}'
ORDER BY position DESC LIMIT ${SHOWN_MAX}`;
}
