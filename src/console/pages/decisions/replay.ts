// A decision judged again, under the live config or one that was live before: what differs.
import type { DecisionReplay } from "../../../contract/schemas/decisions.ts";
import { getDocument, sendDocument } from "../../api.ts";
import { html, useEffect, useState, type VNode } from "../../html.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Table } from "../../parts/table.ts";
import { UntrustedText } from "../../parts/words.ts";
import { useData } from "../../use-data.ts";

interface ListedConfig {
  readonly version: string;
  readonly in_force: boolean;
  readonly shipped: boolean;
  readonly replayable: boolean;
}

type ReplayDifference = DecisionReplay["differences"][number];

const COLUMNS = [
  { label: "leg", cell: (each: ReplayDifference) => each.leg },
  { label: "member", cell: (each: ReplayDifference) => each.member },
  {
    label: "recorded",
    cell: (each: ReplayDifference) =>
      html`<${UntrustedText} text=${formatReplayValue(each.recorded)} />`,
  },
  {
    label: "now",
    cell: (each: ReplayDifference) =>
      html`<${UntrustedText} text=${formatReplayValue(each.replayed)} />`,
  },
];

export function formatReplayValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface ReplayFormProps {
  /** `/v1/decisions/{id}/replay`, with its tenant. */
  readonly path: string;
  readonly config: string | undefined;
  readonly onConfig: (config: string | undefined) => void;
}

export function ReplayForm({ path, config, onConfig }: ReplayFormProps): VNode {
  // Who may not see configs can still judge again under the live one.
  const configs = useData(
    (signal) =>
      getDocument<{ configs: ListedConfig[] }>("/v1/configs", {}, signal).catch(() => ({
        configs: [],
      })),
    [],
  );
  const [asked, setAsked] = useState(config);
  useEffect(() => setAsked(config), [config]);
  const others = (configs.value?.configs ?? []).filter((each) => each.replayable && !each.in_force);
  const body = config === undefined || config === "active" ? {} : { config };
  const submit = (event: Event) => {
    event.preventDefault();
    onConfig(asked ?? "active");
  };
  return html`<form class="filters" onSubmit=${submit}>
      <div class="field">
        <label for="replay-config">Under which scoring config</label>
        <select
          id="replay-config"
          value=${asked ?? "active"}
          onChange=${(event: Event) => setAsked((event.target as HTMLSelectElement).value)}
        >
          <option value="active">the live one</option>
          ${others.map(
            ({ version, shipped }) =>
              html`<option value=${version}>${version}${shipped ? " (shipped)" : ""}</option>`,
          )}
        </select>
      </div>
      <button type="submit" class="primary">Judge again</button>
    </form>
    ${config !== undefined && html`<${ReplayResult} path=${path} body=${body} key=${config} />`}
    <${CurlCommand} method="POST" path=${path} body=${body} />`;
}

function ReplayResult({ path, body }: { path: string; body: object }): VNode {
  const { value, error, reload } = useData(
    (signal) => sendDocument<DecisionReplay>("POST", path, body, signal),
    [path, JSON.stringify(body)],
  );
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const under = `${value.replayed_config} and ${value.replayed_policy}`;
  if (value.identical) {
    return html`<${Notice} kind="good">The same to the last bit, under ${under}.<//>`;
  }
  return html`<p>Under ${under} this would differ:</p>
    <${Table} label="differences" columns=${COLUMNS} rows=${value.differences} />`;
}
