// Store of fixed rows for the HTTP suite: what the transport does with a result is what is tested.
import {
  type DecisionCounts,
  type DecisionFilter,
  DECISION_FACETS,
} from "../../src/contract/decisions.ts";
import type { NoteRecorder } from "../../src/contract/notes.ts";
import { ServiceFault } from "../../src/contract/faults.ts";
import type { ReplayableLeg } from "../../src/contract/schemas/decisions.ts";
import type { ExportOptions, QueryOptions, Store } from "../../src/store/store.ts";

/** When its rows were read. */
const READ_MS = Date.parse("2026-03-01T12:00:00.000Z");

/** Takes notes into the store's list of what was noted, if it is one of these. */
export function notesTo(store: Store | undefined): NoteRecorder {
  return {
    recordNote: async (table, event) => {
      if (store instanceof RowStore) await store.recordRun(table, event);
      return 1;
    },
  };
}

export class RowStore implements Store {
  /** Tenants that were asked for; undefined stands for all. */
  readonly tenants: (string | undefined)[] = [];

  /** Views that the last query was not to read. */
  withheld: readonly string[] = [];

  /** Of the last query. */
  params: QueryOptions["params"];

  async readUsage() {
    return [];
  }

  /** Limits of the last query and of the last stream. */
  timeoutMs: number | undefined;
  workMs: QueryOptions["workMs"];

  /** Whether answers say that rows were cut. */
  isCut = false;

  /** Of the last query that was given one. */
  handle: string | undefined;

  async query(
    sql: string,
    limits?: { readonly timeoutMs: number },
    tenant?: string,
    { withheld = [], params, handle, form }: QueryOptions = {},
  ) {
    this.params = params;
    if (limits !== undefined) this.timeoutMs = limits.timeoutMs;
    this.handle = handle;
    this.tenants.push(tenant);
    this.withheld = withheld;
    const hidden = withheld.find((view) => new RegExp(`\\b${view}\\b`).test(sql));
    if (hidden !== undefined) {
      throw new ServiceFault("insufficient_scope", `the view \`${hidden}\` takes more`);
    }
    if (!/^select /i.test(sql)) throw new ServiceFault("query_rejected", "only `SELECT` is taken");
    return {
      columns: [
        { name: "subject", type: "VARCHAR" },
        { name: "failures", type: "BIGINT" },
      ],
      rows: [
        ["agent://otc/1", 3],
        ['with "quotes", commas', null],
      ],
      ...(form === "parquet" && { rows: [], parquet: new TextEncoder().encode("PAR1") }),
      isTruncated: this.isCut,
      elapsedMs: 1.5,
      asOf: { position: 7, timeMs: READ_MS },
    };
  }

  /** Lists are tested over the real store. */
  readonly agentDirectory: Store["agentDirectory"] = {
    read: (list) => {
      const page = { agents: [], total: 0, last: undefined, asOfMs: 0 };
      return Promise.resolve((list === "agents" ? page : []) as never);
    },
  };

  /** Names of queries that could be ended. */
  readonly running = new Set<string>();

  async cancelQuery(handle: string) {
    return this.running.delete(handle);
  }

  /** Parts of the streams that are asked for; the last may be an error. */
  parts: (string | Error)[] = ['{"n":1}\n'];
  cancelCount = 0;

  async openStream(sql: string, tenant?: string, options: QueryOptions = {}) {
    const { columns, asOf } = await this.query(sql, undefined, tenant, options);
    const parts = [...this.parts];
    this.workMs = options.workMs;
    return {
      columns,
      asOf,
      next: async () => {
        const part = parts.shift();
        if (part instanceof Error) throw part;
        return part === undefined ? undefined : new TextEncoder().encode(part);
      },
      cancel: () => void (this.cancelCount += 1),
    };
  }

  async queryTrusted() {
    return [];
  }

  async describeViews() {
    const columns = [{ name: "subject", type: "VARCHAR", comment: "the agent reported on" }];
    return { views: [{ name: "outcomes", comment: "outcomes", columns }], timeZone: "UTC" };
  }

  readonly noted: { table: string; event: object }[] = [];
  legs: ReplayableLeg[] = [];
  isLogComplete = true;
  /** While set, notes wait for it. */
  hold: Promise<void> | undefined = undefined;

  async listDecisions(filter: DecisionFilter) {
    return this.legs
      .filter((leg) => filter.tenant === undefined || leg.tenant === filter.tenant)
      .filter((leg) => filter.requestId === undefined || leg.request_id === filter.requestId)
      .filter((leg) => filter.agent === undefined || leg.subject === filter.agent)
      .filter((leg) => Date.parse(leg.evaluated_at) >= (filter.sinceMs ?? 0))
      .slice(0, filter.limit);
  }

  async readDecisionPage(filter: DecisionFilter) {
    const legs = await this.listDecisions(filter);
    return { legs, isComplete: this.isLogComplete, isSampled: false };
  }

  async countDecisions(): Promise<DecisionCounts> {
    const facets = Object.fromEntries(DECISION_FACETS.map((facet) => [facet, []])) as never;
    const none = { entries: 0, lookedAt: 0, decisions: 0, oldestMs: undefined };
    return { ...none, isComplete: true, isSampled: false, facets, stepMs: 1000, times: [] };
  }

  async listReviews(filter: DecisionFilter) {
    return (await this.listDecisions(filter))
      .filter((leg) => leg.flagged)
      .map((leg) => ({ ...leg }));
  }

  async findSigned() {
    return {};
  }

  async recordRun(table: string, event: object): Promise<void> {
    this.noted.push({ table, event });
  }

  async listExportDays(_view: string, { tenant }: ExportOptions) {
    this.tenants.push(tenant);
    return ["2026-01-31"];
  }

  async exportParquet(_view: string, _day: string | undefined, { tenant }: ExportOptions) {
    this.tenants.push(tenant);
    return new TextEncoder().encode("PAR1");
  }

  announceDurablePosition(): void {}

  async waitUntilApplied(_position: number, _waitMsMax?: number): Promise<void> {}

  async close(): Promise<void> {}
}
