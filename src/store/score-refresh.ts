// Scores of all agents in the store: read from the agent table when somebody asks for them, at most so
// often that the reading takes a small share of this thread's time, and once at the turn of a day for
// the daily sample.
import { DAY_MS } from "../contract/units.ts";
import { type JournalFollower, StoreEnds, tryCheckpoint } from "./journal-follower.ts";
import { recordProjectionProgress } from "./decisions/projector.ts";
import type { TierCounts } from "./messages.ts";
import type { Connection } from "./duckdb.ts";
import { inTransaction } from "./rows/outcomes.ts";
import {
  appendScores,
  readLastSampledDay,
  insertDailySample,
  type ScoreRow,
} from "./rows/scores.ts";
import { withDeadline } from "../concurrency/deadline.ts";

/** Agent table to read scores from. */
export interface ScoreSource {
  readonly agentCount: number;
  /** Scores of up to `countMax` agents from number `first` on. */
  read(first: number, countMax: number, nowMs: number): ScoreRow[];
}

/** Agents between two looks at what else there is to do: some 10 ms. */
const AGENTS_PER_SLICE = 2048;
/** Agents of a daily sample. */
export const SAMPLED_AGENTS_MAX = 20_000;
/** A snapshot is fresh for this long, and for this many times its duration; then a new one is read. */
const FRESH_MS_MIN = 1000;
const FRESH_FACTOR = 10;
/** While no outcome comes in, scores only fade. */
const FRESH_UNCHANGED_MS = 10 * 60_000;
/** A query waits for a new reading this long, then takes the last one. */
const REFRESH_WAIT_MS_MAX = 2000;
/** The first one it waits for: what an earlier process has read may be old, or nothing at all. */
const FIRST_REFRESH_WAIT_MS_MAX = 50_000;
/** After a start the service serves first. */
const FIRST_SAMPLE_MS = 60_000;

interface ScoreRefresherOptions {
  core: JournalFollower;
  /** Opens a table in shared memory; the composition injects it. */
  openSource: (engineMemory: WebAssembly.Memory) => ScoreSource;
  /** Durable position of the journal, which the table has folded. */
  position: () => number;
  /** Epoch ms. */
  clock: () => number;
  /** Days that daily samples are kept. */
  keptDays: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: (() => boolean) | undefined;
  /** Agents of a daily sample, 20,000 by default. */
  sampledAgentsMax?: number;
  log: (event: string, detail: string) => void;
}

export class ScoreRefresher {
  readonly #options: ScoreRefresherOptions;
  /** Agents by tier, as of the last reading. */
  tiers: TierCounts | undefined;
  #source: ScoreSource | undefined;
  #refreshing: Promise<void> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #readPosition = -1;
  #freshForMs = FRESH_MS_MIN;
  #sampledDay: number | undefined;
  #openedAtMs = 0;
  #isClosing = false;

  constructor(options: ScoreRefresherOptions) {
    this.#options = options;
  }

  /** Reads this table from now on. */
  setAgentTable(engineMemory: WebAssembly.Memory): void {
    const { openSource, clock } = this.#options;
    if (this.#source === undefined) this.#openedAtMs = clock();
    this.#source = openSource(engineMemory);
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether a new day asks for its sample. */
  isSampleDue(nowMs: number): boolean {
    if (this.#source === undefined || this.#refreshing !== undefined) return false;
    if (nowMs - this.#openedAtMs < FIRST_SAMPLE_MS) return false;
    return this.#sampledDay !== Math.floor(nowMs / DAY_MS) && this.#isStale(nowMs);
  }

  /** Refreshes the scores unless the last snapshot is fresh; waits a bounded time. */
  async refresh(
    waitMs = REFRESH_WAIT_MS_MAX,
    firstWaitMs = FIRST_REFRESH_WAIT_MS_MAX,
  ): Promise<void> {
    const source = this.#source;
    if (source === undefined) return;
    if (this.#refreshing === undefined && this.#isStale(this.#options.clock())) {
      this.#refreshing = this.#refreshRows(source).finally(() => (this.#refreshing = undefined));
    }
    if (this.#refreshing === undefined) return;
    const ms = this.#readPosition < 0 ? firstWaitMs : waitMs;
    await withDeadline(this.#refreshing, ms, () => undefined);
  }

  /** Aborts a refresh in progress: the rows stay as they were before it. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#source = undefined;
    await this.#refreshing;
  }

  #isStale(nowMs: number): boolean {
    const ageMs = nowMs - this.#readAtMs;
    const isSame = this.#readPosition === this.#options.position();
    return ageMs < 0 || ageMs >= (isSame ? FRESH_UNCHANGED_MS : this.#freshForMs);
  }

  /** Never rejects: the rows of the last reading stay. */
  async #refreshRows(source: ScoreSource): Promise<void> {
    const { core, position, clock, log } = this.#options;
    const startedAt = performance.now();
    const nowMs = clock();
    const readPosition = position();
    this.#readAtMs = nowMs;
    const counts: Record<string, number> = {};
    try {
      await core.write(async (writer) => {
        await inTransaction(writer, async () => {
          await writer.run("DELETE FROM agent_rows");
          for (let first = 0; first < source.agentCount; first += AGENTS_PER_SLICE) {
            const rows = source.read(first, AGENTS_PER_SLICE, nowMs);
            for (const { tier } of rows) counts[tier] = (counts[tier] ?? 0) + 1;
            await appendScores(writer, rows, { position: readPosition, nowMs });
            // Decisions and queries wait in this thread's line.
            await new Promise((resolve) => setImmediate(resolve));
            if (this.#isClosing) throw new StoreEnds("the store ends");
          }
          await this.#writeDailySample(writer, nowMs);
        });
        // No log that deletes is left for a restart to replay.
        await tryCheckpoint(writer);
        await this.#saveSampleFile(writer);
      });
      this.#readPosition = readPosition;
      this.tiers = { counts, readMs: nowMs };
    } catch (error) {
      if (!this.#isClosing) log("scores_not_read", String(error));
    }
    this.#freshForMs = Math.max(FRESH_MS_MIN, FRESH_FACTOR * (performance.now() - startedAt));
  }

  async #writeDailySample(writer: Connection, nowMs: number): Promise<void> {
    const today = Math.floor(nowMs / DAY_MS);
    const { core, keptDays, mayExpire } = this.#options;
    // A database that is being rebuilt may lack the sample that a file has.
    const kept = core.keptRows.list().filter(({ kind }) => kind === "scores");
    this.#sampledDay ??= Math.max(await readLastSampledDay(writer), kept.at(-1)?.number ?? -1);
    if (this.#sampledDay >= today) return;
    const cutoffDay = mayExpire?.() === false ? 0 : today - keptDays;
    const agentsMax = this.#options.sampledAgentsMax ?? SAMPLED_AGENTS_MAX;
    await insertDailySample(writer, today, cutoffDay, agentsMax);
    await recordProjectionProgress(writer, core.keptRows.formatName("scores", today), 0, true);
    for (const { number, name } of kept) if (number < cutoffDay) core.keptRows.remove(name);
    this.#sampledDay = today;
  }

  /** The sample as a file: nothing else gives it back. */
  async #saveSampleFile(writer: Connection): Promise<void> {
    const day = this.#sampledDay ?? -1;
    const { keptRows } = this.#options.core;
    const isKept = keptRows.list().some(({ kind, number }) => kind === "scores" && number === day);
    if (day < 0 || isKept) return;
    await keptRows.save(writer, "scores", day, `day = DATE '1970-01-01' + ${day}`);
  }
}
