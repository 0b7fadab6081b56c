// Agreement of this node with those that tell of themselves: by the chains of the journals, which decide who
// must end, and by the agent tables, which are told and end no node. Reports that do not count are named.
import type { StreamMetrics } from "./metrics.ts";
import { type ClusterView, compareTables, findDivergence, type NodeReport } from "./reports.ts";

export type Disagreement =
  | { readonly kind: "diverged"; readonly detail: string }
  | { readonly kind: "note"; readonly event: string; readonly detail: string };

/** Shortest time in ms between two lines about reports that do not count: their writer may change them at will. */
const UNSEALED_TOLD_INTERVAL_MS = 60_000;
/** Names in such a line. */
const UNSEALED_NAMES_TOLD = 8;

export interface AgreementOptions {
  readonly figures: StreamMetrics;
  readonly tell: (event: Disagreement) => void;
  /** Ms of a clock that is never set. */
  readonly monotonic: () => number;
}

export class AgreementMonitor {
  readonly #figures: StreamMetrics;
  readonly #tell: (event: Disagreement) => void;
  readonly #monotonic: () => number;
  #isDivergenceReported = false;
  #unsealed = { names: "", toldMs: Number.NEGATIVE_INFINITY };

  constructor({ figures, tell, monotonic }: AgreementOptions) {
    this.#figures = figures;
    this.#tell = tell;
    this.#monotonic = monotonic;
  }

  /** Compares what was told just now. */
  compareReports(node: string, own: NodeReport, view: ClusterView): void {
    const { reports, generation, unsealed } = view;
    this.#nameUnsealed(unsealed ?? []);
    const others = reports.flatMap(([name, report]) => (name === node ? [] : [report]));
    this.#checkChains(own, others);
    this.#checkTables(reports, generation);
  }

  #checkChains(own: NodeReport, others: readonly NodeReport[]): void {
    const diverged = findDivergence(own, others);
    if (diverged === undefined || this.#isDivergenceReported) return;
    this.#isDivergenceReported = true;
    const detail = `at message ${diverged.seq} of the log the journal's chain differs from ${diverged.isOutvoted ? "that of most nodes" : "another node's"}: see \`trustrank cluster status\``;
    if (diverged.isOutvoted) this.#tell({ kind: "diverged", detail });
    else this.#tell({ kind: "note", event: "cluster_diverged", detail });
  }

  /** Told once for each change, and no more often than once a minute. */
  #nameUnsealed(nodes: readonly string[]): void {
    const names = formatNodeNames(nodes);
    const nowMs = this.#monotonic();
    if (names === this.#unsealed.names) return;
    if (nowMs - this.#unsealed.toldMs < UNSEALED_TOLD_INTERVAL_MS) return;
    this.#unsealed = { names, toldMs: names === "" ? this.#unsealed.toldMs : nowMs };
    if (names === "") return;
    const detail = `reports that no node of this cluster has sealed do not count: in the names ${names}`;
    this.#tell({ kind: "note", event: "cluster_reports_unsealed", detail });
  }

  /** Told when it begins and when it ends. */
  #checkTables(reports: ClusterView["reports"], generation: number): void {
    const { diverged } = compareTables(reports, generation);
    const isDifferent = diverged !== undefined;
    if (this.#figures.tablesDiffer === isDifferent) return;
    this.#figures.tablesDiffer = isDifferent;
    if (isDifferent) {
      const detail = `at message ${diverged.seq} of the log the agent tables of nodes differ: see \`trustrank cluster status\``;
      this.#tell({ kind: "note", event: "cluster_tables_differ", detail });
    } else {
      const detail = "the agent tables of the nodes agree again";
      this.#tell({ kind: "note", event: "cluster_tables_agree", detail });
    }
  }
}

/** With commas; of many the first. */
export function formatNodeNames(nodes: readonly string[]): string {
  const named = nodes.slice(0, UNSEALED_NAMES_TOLD).map((node) => `\`${node}\``);
  const more = nodes.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
