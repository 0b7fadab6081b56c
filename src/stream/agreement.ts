// Agreement of this node with those that tell of themselves: by the chains of the journals, which decide who
// must end, and by the agent tables, which are told and end nobody.
import type { StreamMetrics } from "./metrics.ts";
import { type ClusterView, compareTables, findDivergence, type NodeReport } from "./reports.ts";

export type Disagreement =
  | { readonly kind: "diverged"; readonly detail: string }
  | { readonly kind: "note"; readonly event: string; readonly detail: string };

export class AgreementMonitor {
  readonly #figures: StreamMetrics;
  readonly #tell: (event: Disagreement) => void;
  #isDivergenceReported = false;

  constructor(figures: StreamMetrics, tell: (event: Disagreement) => void) {
    this.#figures = figures;
    this.#tell = tell;
  }

  /** Compares what was told just now. */
  compareReports(node: string, own: NodeReport, { reports, generation }: ClusterView): void {
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
