// Evidence: the sources that contents may cite, the proof of each, and where texts are doubted.
import type {
  EvidenceList,
  EvidenceRecord,
  KindThreshold,
} from "../../contract/schemas/sources.ts";
import { getDocument, buildPathWithQuery } from "../api.ts";
import { formatBytes, formatNumber } from "../format.ts";
import { html, type VNode } from "../html.ts";
import { linkTo, usePageParameters } from "../location.ts";
import { CurlCommand } from "../parts/actions.ts";
import { type PageFilter, PageFilters } from "../parts/fields.ts";
import { Pager } from "../parts/list-page.ts";
import { renderLoaded } from "../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { Tag, UntrustedText, Time } from "../parts/words.ts";
import { hasAnyScope } from "../session.ts";
import { useData } from "../use-data.ts";
import { SourceCards } from "./evidence/source.ts";

const PATH = "/v1/evidence";
const STATES = ["active", "revoked", "retracted", "recorded_false"];
const PAGE_ROWS = 100;
const NONE_FOUND = "No source begins so, here. Change the search, or look at older ones.";
const NO_SOURCES =
  "No sources yet: PUT /v1/evidence/{source_id} or “trustrank evidence add” registers one.";

const COLUMNS: readonly Column<EvidenceRecord>[] = [
  {
    label: "source",
    cell: (row) =>
      html`<span title=${row.source_id}><${UntrustedText} text=${row.source_id} /></span>`,
    isLong: true,
  },
  {
    label: "title",
    isLong: true,
    cell: (row) => html`<${UntrustedText} text=${row.title || "–"} />`,
  },
  { label: "state", cell: (row) => html`<${Tag} word=${row.state} />` },
  { label: "kind", cell: (row) => html`<${UntrustedText} text=${row.kind} />` },
  {
    label: "text",
    isNumber: true,
    cell: (row) => (row.has_text ? formatBytes(row.size) : "digest alone"),
  },
  { label: "tenant", cell: (row) => html`<${UntrustedText} text=${row.tenant} />` },
  {
    label: "may cite it",
    cell: (row) => (row.visibility === "public" ? "everyone" : "its tenant"),
  },
  { label: "registered", cell: (row) => html`<${Time} at=${row.registered_at} />` },
];

const THRESHOLD_COLUMNS: readonly Column<KindThreshold>[] = [
  { label: "kind of text", cell: (row) => row.kind },
  { label: "doubted from, risk", isNumber: true, cell: (row) => formatNumber(row.doubt_at, 3) },
  {
    label: "called hallucinated from, risk",
    isNumber: true,
    cell: (row) => formatNumber(row.hallucinated_at, 3),
  },
  { label: "from", cell: (row) => (row.from === "tenant" ? "own labels" : "as shipped") },
  { label: "labelled supported", isNumber: true, cell: (row) => formatNumber(row.supported) },
  { label: "labelled unsupported", isNumber: true, cell: (row) => formatNumber(row.unsupported) },
  { label: "needed for own", isNumber: true, cell: (row) => formatNumber(row.needed) },
];

/** Texts that wait for an index, out of the metrics. */
async function readUnindexedCount(signal: AbortSignal): Promise<number | undefined> {
  if (!hasAnyScope("metrics:read")) return undefined;
  const text = await getDocument<string>("/metrics", {}, signal);
  const found = /^trustrank_evidence_unindexed(?:\{[^}]*\})? (\S+)$/m.exec(text);
  return found === null ? undefined : Number(found[1]);
}

function listSourceFilters(tenants: readonly string[]): PageFilter[] {
  const common: PageFilter[] = [
    {
      name: "prefix",
      label: "Search",
      type: "typing",
      placeholder: "beginning of an id or a title",
    },
    { name: "state", label: "State", options: [["", "any"], ...STATES] },
  ];
  if (tenants.length === 0) return common;
  return [...common, { name: "tenant", label: "Tenant", options: [["", "my own"], ...tenants] }];
}

function ThresholdsCard({ tenant }: { tenant: string | undefined }): VNode {
  const data = useData(
    (signal) =>
      getDocument<{ model: string; thresholds: KindThreshold[] }>(
        "/v1/vault/thresholds",
        { tenant },
        signal,
      ),
    [tenant],
  );
  return html`<${Card} title="Where texts are doubted">
    ${renderLoaded(
      data,
      ({ model, thresholds }) =>
        html`<${Table} label="thresholds" columns=${THRESHOLD_COLUMNS} rows=${thresholds} />
          <p class="dim small">
            Risk by model <code>${model}</code>. Labels of one's own texts (<code
              >POST /v1/vault/labels</code
            >) replace the shipped thresholds once there are enough.
          </p>`,
    )}
    <${CurlCommand} path=${buildPathWithQuery("/v1/vault/thresholds", { tenant })} />
  <//>`;
}

/** Buttons to other pages of the list, and a link to a first proof. */
function SourcePager({ list }: { list: EvidenceList }): VNode {
  const [chosen] = usePageParameters();
  const [first] = list.records;
  return html`<${Pager} parameter="before" next=${list.next_before}>
    ${
      chosen["id"] === undefined &&
      first !== undefined &&
      html`<a href=${linkTo("evidence", { ...chosen, id: first.source_id })}>Check the newest</a>`
    }
  <//>`;
}

function EvidenceMetrics({ list }: { list: EvidenceList }): VNode {
  const unindexed = useData(readUnindexedCount, []).value;
  return html`<${MetricTiles}>
    <${MetricTile}
      label="Records in the tree"
      value=${formatNumber(list.tree_size)}
      note="of all tenants, versions and withdrawals included"
    />
    <${MetricTile}
      label="Root"
      value=${html`<code title=${list.root}>${list.root.slice(7, 19)}…</code>`}
      note="changes with every record"
    />
    <${MetricTile}
      label="Texts waiting for an index"
      value=${formatNumber(unindexed)}
      tone=${(unindexed ?? 0) > 0 ? "warn" : undefined}
      note=${unindexed === undefined ? "needs metrics:read" : "indexed at once when one is asked for"}
    />
  <//>`;
}

export default function EvidencePage(): VNode {
  const [chosen, set] = usePageParameters();
  const { prefix, state, tenant, before, id } = chosen;
  const asked = { prefix, state, tenant, before, limit: PAGE_ROWS };
  const data = useData(
    (signal) => getDocument<EvidenceList>(PATH, asked, signal),
    [prefix, state, tenant, before],
  );
  const isAdmin = hasAnyScope();
  const tenants = useData<string[]>(async (signal) => {
    if (!isAdmin) return [];
    const list = await getDocument<{ tenants: { tenant: string }[] }>("/v1/tenants", {}, signal);
    return list.tenants.map((each) => each.tenant);
  }, []);
  const isSearched = (prefix ?? state) !== undefined;
  return html`<${Page}
    title="Evidence"
    lead="Sources that agents may cite. Each record is a leaf of one tree, whose root the bureau signs."
  >
    ${data.value !== undefined && html`<${EvidenceMetrics} list=${data.value} />`}
    <${Card} title="Sources">
      <${PageFilters}
        filters=${listSourceFilters(tenants.value ?? [])}
        resets=${["before", "id"]}
      />
      ${renderLoaded(
        data,
        (list) =>
          html`<${Table}
              label="sources"
              columns=${COLUMNS}
              rows=${list.records}
              keyOf=${(row: EvidenceRecord) => row.index}
              chosen=${list.records.findIndex((row) => row.source_id === id)}
              onChoose=${(row: EvidenceRecord) => set({ id: row.source_id })}
              empty=${isSearched ? NONE_FOUND : NO_SOURCES}
            />
            <${SourcePager} list=${list} />`,
      )}
      <${CurlCommand} path=${buildPathWithQuery(PATH, asked)} />
    <//>
    ${id !== undefined && html`<${SourceCards} key=${`${tenant} ${id}`} id=${id} tenant=${tenant} onChange=${data.reload} />`}
    <${ThresholdsCard} tenant=${tenant} />
  <//>`;
}
