// Conditions page: what operators have said of agents and namespaces, page by page, and the stop for all agents.
import { buildPathWithQuery, getDocument } from "../api.ts";
import { html, useState, type VNode } from "../html.ts";
import { usePageParameters } from "../location.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { ListCard, ListPage, Pager } from "../parts/list-page.ts";
import { useData } from "../use-data.ts";
import type { AgentCondition, ConditionList } from "../../contract/schemas/conditions.ts";
import { ConditionDialog, type OpenCondition } from "./conditions/condition-dialogs.ts";
import {
  buildConditionColumns,
  buildConditionKey,
  type ConditionAction,
  listSettableStates,
} from "./conditions/condition-table.ts";
import { mayStop, StopDialog } from "./conditions/stop-dialogs.ts";

const PATH = "/v1/conditions";
const LIMIT = 50;
const LEAD =
  "Conditions that operators have set on agents and namespaces. They hold from the next request on, whatever the record says.";
const EMPTY = "No condition fits. An agent's page and Set a condition make one.";

const FILTERS: readonly PageFilter[] = [
  {
    name: "agent",
    label: "Covers the agent",
    type: "search",
    placeholder: "agent://acme/price-bot",
  },
  { name: "state", label: "State", options: [["", "all"], "suspended", "watch", "cleared"] },
  {
    name: "scope",
    label: "Whose",
    options: [
      ["", "all"],
      ["tenant", "a tenant's"],
      ["bureau", "the bureau's"],
    ],
  },
];

export default function ConditionsPage(): VNode {
  const [{ agent, state, scope, after }] = usePageParameters();
  const [open, setOpen] = useState<OpenCondition>();
  const [isStopping, setIsStopping] = useState(false);
  const asked = { agent, state, scope, after, limit: LIMIT };
  const data = useData(
    (signal) => getDocument<ConditionList>(PATH, asked, signal),
    [agent, state, scope, after],
  );
  const tools = html`
    <button type="button" onClick=${data.reload}>Refresh</button>
    ${
      listSettableStates().length > 0 &&
      html`<button type="button" onClick=${() => setOpen({ doing: "set" })}>
        Set a condition…
      </button>`
    }
    ${
      mayStop() &&
      html`<button type="button" class="danger" onClick=${() => setIsStopping(true)}>
        Stop all agents…
      </button>`
    }
  `;
  const change = (doing: ConditionAction, row: AgentCondition) => setOpen({ doing, row });
  return html`<${ListPage}
    title="Conditions"
    lead=${LEAD}
    tools=${tools}
    filters=${html`<${PageFilters} filters=${FILTERS} resets=${["after"]} canClear />`}
    data=${data}
    draw=${(list: ConditionList) =>
      html`<${ListCard}
        noun="condition"
        count=${list.total}
        label="conditions"
        columns=${buildConditionColumns(change)}
        rows=${list.conditions}
        keyOf=${buildConditionKey}
        empty=${EMPTY}
      >
        <${Pager} parameter="after" next=${list.next} labels=${["First page", `Next ${LIMIT}`]} />
      <//>`}
    curl=${{ path: buildPathWithQuery(PATH, asked) }}
  >
    <${ConditionDialog} open=${open} onDone=${data.reload} onClose=${() => setOpen(undefined)} />
    ${isStopping && html`<${StopDialog} onClose=${() => setIsStopping(false)} />`}
  <//>`;
}
