// Conditions that cover one agent, its namespaces' included, with the buttons to set, replace and lift them.
import { buildPathWithQuery, getDocument } from "../../api.ts";
import { html, useState, type VNode } from "../../html.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { renderLoaded } from "../../parts/notices.ts";
import { Card } from "../../parts/page.ts";
import { Table } from "../../parts/table.ts";
import { useData } from "../../use-data.ts";
import type { AgentCondition, ConditionList } from "../../../contract/schemas/conditions.ts";
import { ConditionDialog, type OpenCondition } from "../conditions/condition-dialogs.ts";
import {
  buildConditionColumns,
  buildConditionKey,
  type ConditionAction,
  listSettableStates,
} from "../conditions/condition-table.ts";

const PATH = "/v1/conditions";
const LIMIT = 100;
/** They have no conditions. */
const RESERVED = "agent://test/";

interface AgentConditionsProps {
  readonly id: string;
  /** Called after each change: what the agent is answered has changed with it. */
  readonly onChange: () => void;
}

export function AgentConditions({ id, onChange }: AgentConditionsProps): VNode {
  const [open, setOpen] = useState<OpenCondition>();
  const asked = { agent: id, limit: LIMIT };
  const data = useData((signal) => getDocument<ConditionList>(PATH, asked, signal), [id]);
  const change = (doing: ConditionAction, row: AgentCondition) => setOpen({ doing, row });
  const finish = () => {
    data.reload();
    onChange();
  };
  const maySet = listSettableStates().length > 0 && !id.startsWith(RESERVED);
  const tools =
    maySet &&
    html`<button type="button" onClick=${() => setOpen({ doing: "set", subject: id })}>
      Set a condition…
    </button>`;
  return html`<${Card} title="Conditions" tools=${tools}>
    ${renderLoaded(
      data,
      ({ conditions }) =>
        html`<${Table}
          label="conditions"
          columns=${buildConditionColumns(change)}
          rows=${conditions}
          keyOf=${buildConditionKey}
          empty="No condition covers it: its record decides."
        />`,
    )}
    <${CurlCommand} path=${buildPathWithQuery(PATH, asked)} />
    <${ConditionDialog} open=${open} onDone=${finish} onClose=${() => setOpen(undefined)} />
  <//>`;
}
