// Decisions: the decision log by facets, over time and entry by entry. All that is chosen, and the place in
// the list, is in the address. j and k walk the entries, Enter opens one.
import type { DecisionFacets, DecisionList, LoggedLeg } from "../../contract/schemas/decisions.ts";
import type { Disposition } from "../../contract/decisions.ts";
import type { MessageOf } from "../../contract/schemas/schema.ts";
import { getDocument, type QueryParameters as Asked, buildPathWithQuery } from "../api.ts";
import { ActiveFilters, FacetList, buildDecisionQuery, RANGES } from "./decisions/facets.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, readInputValue, useEffect, useMemo, useState, type VNode } from "../html.ts";
import { linkTo, type PageParameters, parsePlace, usePageParameters } from "../location.ts";
import { hasAnyScope } from "../session.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Chart } from "../parts/chart.ts";
import { Select } from "../parts/fields.ts";
import { Pager } from "../parts/list-page.ts";
import { Empty, Failure, Loading, Notice } from "../parts/notices.ts";
import { Card, Grid, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import {
  AgentLink,
  AnswerTag,
  breakAtUnderscores,
  DISPOSITION_WORDS,
  Tag,
  UntrustedText,
  Time,
} from "../parts/words.ts";
import { useKeyBindings } from "../key-bindings.ts";
import { useData } from "../use-data.ts";

const PAGE_ROWS = 50;

type ChangeParameters = ReturnType<typeof usePageParameters>[1];

/** Where an entry opens; beside the one that was marked, if any. */
function buildEntryHref(leg: LoggedLeg, mark: string | undefined): string {
  const other = mark === leg.request_id ? undefined : mark;
  return linkTo("decision", { id: leg.request_id, leg: leg.leg, tenant: leg.tenant, with: other });
}

function describeRequest({ kind, tool_level: level, stakes }: LoggedLeg): string {
  const at = stakes > 0 ? [`at ${formatNumber(stakes, 2)}`] : [];
  return [kind, ...(level === null ? [] : [level]), ...at].join(" ");
}

/** The rule, broken where its words meet, and what marks the entry. */
function DecidedBy({ leg }: { leg: LoggedLeg }): VNode {
  return html`<span class="small">
      ${breakAtUnderscores(leg.log_reason ?? leg.reason_codes[0] ?? "–")}
    </span>
    ${leg.flagged && html` <${Tag} word="flagged" tone="warn" />`}
    ${!leg.enforced && html` <${Tag} word="shadow" />`}
    ${(leg.weight ?? 1) > 1 && html` <${Tag} word=${`× ${formatNumber(leg.weight)}`} />`}`;
}

function buildDecisionColumns(mark: string | undefined): Column<LoggedLeg>[] {
  return [
    { label: "at", cell: (leg) => html`<${Time} at=${leg.evaluated_at} />` },
    {
      label: "answer",
      cell: (leg) =>
        html`<a href=${buildEntryHref(leg, mark)}
          ><${AnswerTag} word=${leg.verdict ?? leg.decision} disposition=${leg.disposition}
        /></a>`,
    },
    { label: "agent", cell: (leg) => html`<${AgentLink} id=${leg.subject} />` },
    {
      label: "asked",
      cell: (leg) =>
        html`<span class="nowrap">${describeRequest(leg)}</span>${" "}
          <span class="dim"><${UntrustedText} text=${leg.action ?? ""} /></span>`,
    },
    { label: "decided by", cell: (leg) => html`<${DecidedBy} leg=${leg} />` },
    { label: "score", isNumber: true, cell: (leg) => formatNumber(leg.internal_score) },
    { label: "risk", isNumber: true, cell: (leg) => formatPercent(leg.failure_probability) },
  ];
}

function DecisionSearch({
  parameters,
  onChange,
}: {
  parameters: PageParameters;
  onChange: ChangeParameters;
}): VNode {
  const [text, setText] = useState(parameters["agent"] ?? "");
  useEffect(() => setText(parameters["agent"] ?? ""), [parameters["agent"]]);
  const submit = (event: Event) => {
    event.preventDefault();
    const typed = text.trim();
    const id = typed === "" || typed.startsWith("agent://") ? typed : `agent://${typed}`;
    onChange({ agent: id || undefined, behind: undefined });
  };
  return html`<form class="tools" role="search" onSubmit=${submit}>
    <input
      type="search"
      aria-label="Agent, as subject or viewer"
      placeholder="agent://namespace/name"
      value=${text}
      maxlength="512"
      onInput=${(event: Event) => setText(readInputValue(event))}
    />
    <${Select}
      label="Time range"
      value=${parameters["range"] ?? ""}
      options=${RANGES}
      onValue=${(range: string) => onChange({ range, since: undefined, before: undefined, behind: undefined })}
    />
  </form>`;
}

function DecisionsOverTime({
  counts,
  onChange,
}: {
  counts: DecisionFacets;
  onChange: ChangeParameters;
}): VNode {
  const { times, step_ms: stepMs } = counts;
  const steps = useMemo(() => fillEmptySteps(times, stepMs), [counts]);
  if (times.length === 0) {
    return html`<${Empty}>No decisions in this range; a verify, check or handshake shows here.<//>`;
  }
  const onRange = (from: number, to: number) =>
    onChange({
      since: String(Math.floor(from * 1000)),
      before: String(Math.ceil(to * 1000)),
      behind: undefined,
    });
  return html`<${Chart}
    title="Decisions over time"
    unit="decisions"
    at=${steps.map(({ at }) => at)}
    lines=${Object.entries(DISPOSITION_WORDS).map(([disposition, [label, color]]) => ({
      label,
      color,
      values: steps.map(({ counts: each }) => each?.[disposition as Disposition] ?? 0),
    }))}
    height=${170}
    say=${formatNumber}
    onRange=${onRange}
  />`;
}

/** Steps with those between that have nothing, so that a quiet hour is seen as one. */
function fillEmptySteps(times: DecisionFacets["times"], stepMs: number) {
  const [first] = times;
  if (first === undefined) return [];
  const found = new Map(times.map((each) => [Date.parse(each.at), each]));
  const start = Date.parse(first.at) - stepMs;
  const end = Date.parse(times.at(-1)!.at) + stepMs;
  const count = Math.min(200, Math.round((end - start) / stepMs) + 1);
  return Array.from({ length: count }, (_, step) => {
    const atMs = start + step * stepMs;
    return { at: atMs / 1000, counts: found.get(atMs)?.dispositions };
  });
}

interface DecisionEntriesProps {
  readonly asked: Asked;
  readonly parameters: PageParameters;
  readonly onChange: ChangeParameters;
}

/** Row that the address names; -1 for none. */
const readSelectedRow = ({ at }: PageParameters) => Number(at ?? -1);

function DecisionEntries({ asked, parameters, onChange }: DecisionEntriesProps): VNode {
  const { behind, mark } = parameters;
  const before = behind ?? asked["before"];
  const path = buildPathWithQuery("/v1/decisions", { ...asked, before, limit: PAGE_ROWS });
  const { value, error, reload } = useData(
    (signal) => getDocument<MessageOf<typeof DecisionList>>(path, {}, signal),
    [path],
  );
  const rows = value?.decisions ?? [];
  const chosen = Math.min(readSelectedRow(parameters), rows.length - 1);
  const go = (row: number) =>
    onChange({ at: String(Math.max(0, Math.min(rows.length - 1, row))) }, true);
  // The address, not what was drawn: keys may come faster than drawings.
  const step = (by: number) =>
    go(Math.min(readSelectedRow(parsePlace(location.hash).parameters), rows.length) + by);
  const open = () => {
    const leg = rows[readSelectedRow(parsePlace(location.hash).parameters)];
    if (leg !== undefined) location.hash = buildEntryHref(leg, mark);
  };
  useKeyBindings({ j: () => step(1), k: () => step(-1), Enter: open });
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  return html`<${IncompleteNotice} list=${value} />
    <${Table}
      label="decisions"
      columns=${buildDecisionColumns(mark)}
      rows=${rows}
      keyOf=${(leg: LoggedLeg) => `${leg.request_id}${leg.leg}`}
      chosen=${chosen < 0 ? undefined : chosen}
      onChoose=${(_: LoggedLeg, row: number) => go(row)}
      empty=${behind === undefined ? NONE : "No older decisions."}
    />
    <${Pager} parameter="behind" next=${value.next}>
      <span class="dim small"><kbd>j</kbd> <kbd>k</kbd> choose, <kbd>Enter</kbd> opens</span>
    <//>
    <${CurlCommand} path=${path} />`;
}

const NONE = "No decision matches. Remove a filter, or send a verify, check or handshake request.";

function IncompleteNotice({ list }: { list: MessageOf<typeof DecisionList> }): VNode | null {
  if (list.complete) return null;
  if (list.sampled) {
    return html`<${Notice} kind="warn">
      The log has a sample of these decisions; × says for how many an entry stands.
    <//>`;
  }
  return html`<${Notice} kind="warn">
    Older decisions still wait to be stored; those listed are the newest.
  <//>`;
}

function EntryCounts({
  counts,
  mark,
  onChange,
}: {
  counts: DecisionFacets;
  mark?: string;
  onChange: ChangeParameters;
}) {
  const { entries, decisions, complete, sampled, looked_at: lookedAt } = counts;
  const about = sampled ? "about " : "";
  const stands =
    decisions === entries ? "" : `, which stand for ${about}${formatNumber(decisions)} decisions`;
  const among = complete || sampled ? "" : ` among the newest ${formatNumber(lookedAt)}`;
  const said = `${formatNumber(entries)} ${entries === 1 ? "entry" : "entries"}${stands}${among}.`;
  return html`<p class="dim">${said}</p>
    ${
      mark !== undefined &&
      html`<${Notice}
        >Choose a decision to compare with <code><${UntrustedText} text=${mark} /></code>.${" "}
        <button type="button" class="small" onClick=${() => onChange({ mark: undefined })}>
          Do not compare
        </button><//
      >`
    }`;
}

export default function DecisionsPage(): VNode {
  const [parameters, change] = usePageParameters();
  const { range, since, before, mark } = parameters;
  // A range counts back from when it was chosen, so that pages of it belong together.
  const nowMs = useMemo(() => Date.now(), [range, since, before]);
  const asked = buildDecisionQuery(parameters, nowMs);
  const path = buildPathWithQuery("/v1/decisions/facets", asked);
  const { value, error, reload } = useData(
    (signal) => getDocument<DecisionFacets>(path, {}, signal),
    [path],
  );
  const ask = html`<${DecisionSearch} parameters=${parameters} onChange=${change} />`;
  return html`<${Page}
    title="Decisions"
    lead=${`Answers${hasAnyScope() ? " of all tenants together" : ""}, with what they were judged from. Choose by facets, or draw a range in the chart.`}
    tools=${ask}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${ActiveFilters} parameters=${parameters} onChange=${change} />
    <${Grid}>
      <div class="span-3 beside">
        <${Card} title="Choose">
          ${
            value === undefined
              ? error === undefined && html`<${Loading} />`
              : html`<${FacetList} counts=${value} parameters=${parameters} onChange=${change} />`
          }
        <//>
      </div>
      <div class="span-9 stack">
        <${Card} title="Over time">
          ${value === undefined ? html`<${Loading} />` : html`<${DecisionsOverTime} counts=${value} onChange=${change} />`}
        <//>
        <${Card} title="Entries, newest first">
          ${value !== undefined && html`<${EntryCounts} counts=${value} mark=${mark} onChange=${change} />`}
          <${DecisionEntries} asked=${asked} parameters=${parameters} onChange=${change} />
        <//>
      </div>
    <//>
  <//>`;
}
