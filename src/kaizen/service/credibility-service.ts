// Reporter credibility as a running service: a batch on a pool thread of its own, its findings
// through the journal into the table. One batch at a time; a request during one gets that one.
import type { CredibilityResult, CredibilityTask } from "./worker-pool.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { openPool } from "../../platform/pool.ts";
import type { SeedRules } from "../credibility/seeds.ts";
import type {
  Credibility,
  CredibilityBatch,
  CredibilityGraph,
  CredibilityStatus,
} from "../kaizen.ts";
import { selectGraphPart } from "../credibility/reporter-graph.ts";
import type { ReporterGraph } from "../credibility/reporter-graph.ts";
import { scheduleHourly } from "../../platform/schedule.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../journal/standings.ts";
import { ALWAYS_LEADER, type Leadership } from "./options.ts";
import type { Log } from "../../platform/log.ts";

const WORKER = new URL("../../threads/kaizen/credibility-worker.ts", import.meta.url).href;
/** Ratio of rest to work: the next batch waits this many times as long as the last one took. */
const REST_FACTOR = 50;

export interface CredibilityServiceOptions {
  journal: string;
  ledger: { appendStandings(payload: Uint8Array): Promise<number>; position(): number };
  /** Reads whether credibility is in force, from the table. */
  engine: { readonly areStandingsInForce: boolean };
  /** The switch: false takes standings out of force. */
  isWanted: boolean;
  /** Undefined: the operator named no seeds, and only rings are marked. */
  rules: SeedRules | undefined;
  /** Seeds of `refresh` where the operator named none: computed and shown, never in force, and not by the schedule. */
  findTrialRules?: () => SeedRules | undefined;
  config: ScoringConfig;
  /** Whether batches are this node's; left out: they are. */
  leadership?: Leadership | undefined;
  clock: () => number;
  log: Log;
}

/** Runs one batch on a thread of its own: a graph of a million reports does not stay in memory. */
async function runCredibilityOnPool(
  task: CredibilityTask,
  signal: AbortSignal,
): Promise<CredibilityResult> {
  const pool = openPool({
    name: "credibility",
    filename: WORKER,
    workerData: undefined,
    threads: 1,
  });
  try {
    return await pool.run<CredibilityTask, CredibilityResult>(task, [], signal);
  } finally {
    await pool.close();
  }
}

export class CredibilityService implements Credibility {
  readonly #options: CredibilityServiceOptions;
  readonly #stop = new AbortController();
  #running: Promise<CredibilityBatch> | undefined;
  #last: CredibilityBatch | undefined;
  /** Of the last batch that found any: at most 5,000 reporters. */
  #graph: (ReporterGraph & { at: string; position: number }) | undefined;
  #restUntilMs = 0;
  /** Position up to which a batch has read, whatever it was for. */
  #readUptoLsn = 0;

  constructor(options: CredibilityServiceOptions) {
    this.#options = options;
  }

  /** Takes standings that were switched off out of force, recorded once in the journal. */
  async open(): Promise<void> {
    const { engine, isWanted, ledger, log, leadership = ALWAYS_LEADER } = this.#options;
    if (isWanted || !engine.areStandingsInForce || !leadership.isHeld) return;
    const none = { isInForce: false, stakesHigh: 0, agents: [], computedFrom: ledger.position() };
    for (const payload of encodeStandings(none, RULES_BEFORE_STANDINGS))
      await ledger.appendStandings(payload);
    log.warn("credibility_off", { detail: "every reporter counts fully from here on" });
  }

  /** Brings standings up to the journal. Rejects with the error of the batch. */
  refresh(): Promise<CredibilityBatch> {
    return this.#runOnce(this.#options.rules ?? this.#options.findTrialRules?.());
  }

  #runOnce(rules: SeedRules | undefined): Promise<CredibilityBatch> {
    this.#running ??= this.#run(rules).finally(() => (this.#running = undefined));
    return this.#running;
  }

  /**
   * Called by the schedule: a batch after new outcomes and not too often, without the operator's seeds for
   * rings alone; switched off, once, which takes the marks of rings back. Never rejects.
   */
  async refreshIfDue(): Promise<void> {
    const { clock, ledger, log, rules, isWanted, leadership = ALWAYS_LEADER } = this.#options;
    const isNew = ledger.position() > this.#readUptoLsn;
    const isOver = !isWanted && this.#readUptoLsn > 0;
    if (isOver || !isNew || clock() < this.#restUntilMs || !leadership.isHeld) return;
    try {
      await this.#runOnce(rules);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      log.error("credibility_failed", { detail: (error as Error).message });
    }
  }

  status(): CredibilityStatus {
    const { engine, isWanted, rules } = this.#options;
    return {
      is_wanted: isWanted,
      has_seeds: rules !== undefined,
      in_force: engine.areStandingsInForce,
      is_running: this.#running !== undefined,
      ...(this.#last === undefined ? {} : { last: this.#last }),
      ...(this.warning === "" ? {} : { warning: this.warning }),
    };
  }

  /** Of the last batch with seeds in force; empty for nothing. */
  get warning(): string {
    const share = this.#options.rules === undefined ? 0 : (this.#last?.figures?.closed_share ?? 0);
    if (share < CLOSED_SHARE_WARNED) return "";
    return (
      `believed reporters other than the seeds mainly praise one another (${Math.round(100 * share)} % of their ` +
      "praise): look at them with `trustrank kaizen credibility`, or name other seeds"
    );
  }

  graph(limit: number, around?: string): CredibilityGraph | undefined {
    const last = this.#graph;
    if (last === undefined) {
      return around === undefined ? { reporters: 0, nodes: [], edges: [] } : undefined;
    }
    const part = selectGraphPart(last, limit, around);
    return part && { at: last.at, position: last.position, ...part };
  }

  /** Cancels the batch under way, if any: its written records stay, the next batch completes it. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
  }

  async #run(rules: SeedRules | undefined): Promise<CredibilityBatch> {
    const { journal, ledger, config, clock, isWanted } = this.#options;
    const isTrial = rules !== undefined && this.#options.rules === undefined;
    const startedMs = clock();
    const position = ledger.position();
    const found: CredibilityBatch = {
      at: new Date(startedMs).toISOString(),
      position,
      records: 0,
      reason: "",
      duration_ms: 0,
      rings: 0,
      ring_members: 0,
    };
    const task = { journal, uptoLsn: position, rules, config, isOff: !isWanted };
    const result = await runCredibilityOnPool(task, this.#stop.signal);
    const { payloads, figures, graph, rings, ring_members } = result;
    Object.assign(found, { rings, ring_members }, figures && { figures });
    if (graph !== undefined) this.#graph = { ...graph, at: found.at, position };
    if (!isWanted) found.reason = "credibility is switched off";
    else if (rules === undefined) found.reason = "no seeds are named (TRUSTRANK_SEEDS)";
    else found.reason = isTrial ? TRIAL : describeWhyNoBatch(!figures, payloads.length);
    for (const payload of isTrial ? [] : payloads) {
      this.#stop.signal.throwIfAborted();
      await ledger.appendStandings(payload);
      found.records++;
    }
    found.duration_ms = clock() - startedMs;
    this.#restUntilMs = clock() + REST_FACTOR * found.duration_ms;
    this.#readUptoLsn = position;
    // A trial's figures stay, though no batch of the schedule finds any.
    if (rules !== undefined || this.#last?.figures === undefined) this.#last = found;
    this.#options.log.info("credibility", { ...found.figures, reason: found.reason });
    return found;
  }
}

/** Share of praise among believed reporters that are no seeds from which it is warned of. */
const CLOSED_SHARE_WARNED = 0.5;

const TRIAL =
  "on trial with the sample's seeds: every reporter counts fully until TRUSTRANK_SEEDS is set";

function describeWhyNoBatch(isEmpty: boolean, records: number): string {
  if (isEmpty) return "none of the seeds has a history: standings stay as they are";
  return records === 0 ? "nothing changed" : "written";
}

export interface OpenCredibility {
  readonly credibility: CredibilityService;
  close(): Promise<void>;
}

/** Applies the switch, starts a first batch, and one every hour with new outcomes. */
export async function openCredibility(
  options: CredibilityServiceOptions,
): Promise<OpenCredibility> {
  const credibility = new CredibilityService(options);
  await credibility.open();
  void credibility.refreshIfDue();
  options.leadership?.onTaken(() => {
    credibility.open().catch((error: unknown) => {
      options.log.error("credibility_failed", { detail: (error as Error).message });
    });
    void credibility.refreshIfDue();
  });
  const schedule = scheduleHourly(() => credibility.refreshIfDue());
  return {
    credibility,
    async close() {
      schedule.close();
      await credibility.close();
    },
  };
}
