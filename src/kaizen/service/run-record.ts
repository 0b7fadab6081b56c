// Records of runs: a new one, its row in the store's `kaizen_runs`, and the status of kaizen. Files are the
// source: rows that the store misses (down, rebuilt or full) are written at the next start.
import type { EvidenceKind } from "../../contract/vocabulary.ts";
import type { KaizenStatus, WatchRecord, RunRecord, RunRequest } from "../kaizen.ts";
import type { Champion } from "./champion.ts";
import { KAIZEN_STAGES } from "./worker-pool.ts";
import { invalidRequest } from "../../contract/faults.ts";
import type { KaizenState } from "./files.ts";
import type { KaizenService } from "./service.ts";
import type { Log } from "../../platform/log.ts";
import type { Store, StoreEvents } from "../../store/store.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

export interface KaizenActivity {
  readonly watch: WatchRecord | undefined;
  readonly running: KaizenStatus["running"];
  /** Epoch ms. */
  readonly nextRunMs: number | undefined;
}

/** `stage` and `share`, in thousandths, as the run's thread writes them. */
export function describeProgress(stage: number, share: number) {
  return { stage: KAIZEN_STAGES[stage] ?? "waiting", share: share / 1000 };
}

export function buildKaizenStatus(
  champion: Pick<Champion, "live" | "version" | "state">,
  { watch, running, nextRunMs }: KaizenActivity,
): KaizenStatus {
  const last = champion.live();
  return {
    config_version: champion.version,
    ...(last && { promoted_by: last.run_id, promoted_at: new Date(last.at_ms).toISOString() }),
    ...(watch && { watch }),
    ...(running && { running }),
    cool_down_runs: champion.state.cool_down_runs,
    ...(nextRunMs === undefined ? {} : { next_run_at: new Date(nextRunMs).toISOString() }),
  };
}

/** Which evidence had been in a test by then is not on record. */
const NOTHING_TESTED_MS = { check: 0, handshake: 0 };

/** Evidence that a run may not test again: of an earlier time that is not known any more. */
export function selectTestedToMs<Tested>(asOfMs: number | undefined, tested: Tested) {
  return asOfMs === undefined ? tested : NOTHING_TESTED_MS;
}

/** The time in the record of a run; nothing for a run as of now. */
function buildAsOfMember({ asOfMs }: RunRequest): Pick<RunRecord, "as_of"> {
  return asOfMs === undefined ? {} : { as_of: new Date(asOfMs).toISOString() };
}

/** @throws ServiceFault `invalid_request` for a time that has not come. */
export function assertAsOfPast({ asOfMs }: RunRequest, nowMs: number): void {
  if (asOfMs === undefined || asOfMs <= nowMs) return;
  throw invalidRequest([{ pointer: "/as_of", code: "range", detail: "is in the future" }]);
}

/** State of the service when a run begins. */
interface RunStart {
  readonly nowMs: number;
  /** Version of the weights that the run challenges. */
  readonly championVersion: string;
  /** Durable end of the journal. */
  readonly position: number;
  readonly evidenceKinds: readonly EvidenceKind[];
}

/** The record of a run that begins now. */
export function createRunRecord(
  id: string,
  request: RunRequest,
  { nowMs, championVersion, position, evidenceKinds }: RunStart,
): RunRecord {
  return {
    run_id: id,
    kind: request.kind ?? "full",
    state: "running",
    started_at: new Date(nowMs).toISOString(),
    started_by: request.startedBy,
    champion_version: championVersion,
    ...buildAsOfMember(request),
    reason: "under way",
    rows: 0,
    evidence_kinds: [...evidenceKinds],
    position,
  };
}

/** The weights that a run challenges: those live now, or at the time it runs as of. */
export function selectChallengedVersion(
  { state }: Pick<Champion, "state">,
  { asOfMs }: RunRequest,
): string {
  return asOfMs === undefined ? state.champion : findLiveVersionAt(state, asOfMs);
}

/** Version of the config that was live at a time, as far as promotions are on record. */
function findLiveVersionAt({ promotions, champion }: KaizenState, atMs: number): string {
  const live = promotions.findLast(
    ({ at_ms: sinceMs, rolled_back: back }) =>
      sinceMs <= atMs && (back === undefined || back.at_ms > atMs),
  );
  // An older one that was taken back since has left other weights than the newest made live.
  const left = promotions.flatMap(({ rolled_back: back }) =>
    back !== undefined && back.at_ms <= atMs && back.at_ms > (live?.at_ms ?? 0) ? [back] : [],
  );
  const newest = left.reduce<(typeof left)[number] | undefined>(
    (found, back) => (found === undefined || back.at_ms > found.at_ms ? back : found),
    undefined,
  );
  return newest?.left ?? live?.version ?? promotions[0]?.parent ?? champion;
}

const readRunStatus = (run: RunRecord): string =>
  run.rolled_back === undefined ? run.state : "rolled_back";

/** A run as a row: its state now, every gate with its numbers, and the whole record. */
export function buildRunRow(run: RunRecord, recordedAtMs: number): StoreEvents["kaizen_runs"] {
  const gates = run.findings?.sides.flatMap(({ side, gates: found }) =>
    found.map((gate) => ({ side, ...gate })),
  );
  return {
    recorded_at: recordedAtMs,
    run_id: run.run_id,
    started_at: Date.parse(run.started_at),
    finished_at: run.finished_at === undefined ? null : Date.parse(run.finished_at),
    started_by: run.started_by,
    status: readRunStatus(run),
    promoted: run.state === "promoted",
    reason: run.rolled_back?.reason ?? run.reason,
    config_from: run.champion_version,
    config_to: run.challenger_version ?? null,
    outcome_count: run.rows,
    gates: gates ?? [],
    record: run,
  };
}

/** Writes runs to the store, each state in one transaction; a failing store is no fault. */
export class RunRowWriter {
  readonly #store: Pick<Store, "recordRun" | "queryTrusted">;
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #writes = new SerialQueue();

  constructor(store: Pick<Store, "recordRun" | "queryTrusted">, clock: () => number, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves once all rows so far are committed or have failed. */
  get settled(): Promise<void> {
    return this.#writes.drained();
  }

  write(run: RunRecord): void {
    // A copy: the record changes with its run, the row does not. In order: the newest row wins.
    const row = structuredClone(buildRunRow(run, this.#clock()));
    void this.#writes
      .run(() => this.#store.recordRun("kaizen_runs", row))
      .catch((error: Error) => {
        this.#log.warn("kaizen_row_missing", { run: run.run_id, detail: error.message });
      });
  }

  /** Writes the rows that the store lacks, oldest first. */
  async catchUp(kaizen: Pick<KaizenService, "runs" | "find">): Promise<void> {
    const runs = kaizen.runs().toReversed();
    if (runs.length === 0) return;
    try {
      const sql = "SELECT run_id, status FROM kaizen_runs";
      const rows = await this.#store.queryTrusted(sql);
      const known = new Map(rows.map(([id, status]) => [id, status]));
      for (const { run_id: id } of runs) {
        const run = kaizen.find(id);
        if (run !== undefined && known.get(id) !== readRunStatus(run)) this.write(run);
      }
    } catch (error) {
      this.#log.warn("kaizen_rows_unread", { detail: (error as Error).message });
    }
    await this.#writes.drained();
  }
}
