// Figures of a node's place along the ordered log, and of what it put there, in memory that all threads
// share: the stream thread writes, a request reads its age and a scrape the rest.
import { type Moment, readMonotonicMs } from "../platform/moment.ts";
import { DURATION_BOUNDS_SEC, type HistogramCounts, Histograms } from "../platform/histogram.ts";

const APPLIED = 0;
const KNOWN = 1;
const CAUGHT_UP = 2;
const ANSWERED = 3;
const FOLLOWED = 4;
const LED = 5;
const CONNECTED = 6;
const LOST = 7;
const MESSAGES = 8;
const FAILED = 9;
const AWAY = 10;
/** Until when each job is this node's. */
const LEADS = 11;
/** Jobs that one node does for the whole cluster. */
export const CLUSTER_JOBS = ["kaizen", "credibility"] as const;
export type ClusterJob = (typeof CLUSTER_JOBS)[number];
const TABLES_DIFFER = LEADS + CLUSTER_JOBS.length;
const BYTES = TABLES_DIFFER + 1;
const BYTES_MAX = BYTES + 1;
const SHIPPED = BYTES_MAX + 1;
const COLLECTED = SHIPPED + 1;
const PARTS_BEHIND = COLLECTED + 1;
/** Of the moment at `CAUGHT_UP`, on the monotonic clock. */
const CAUGHT_UP_MONOTONIC = PARTS_BEHIND + 1;
const IGNORED = CAUGHT_UP_MONOTONIC + 1;
const IGNORED_SEQ = IGNORED + 1;
const IGNORED_AT = IGNORED_SEQ + 1;
const COUNT = IGNORED_AT + 1;
const PUBLISHED_AT = COUNT * Float64Array.BYTES_PER_ELEMENT;
const MS_PER_S = 1000;
/** So long after the log's last proof of a leader, in ms, it counts as having none. */
export const LEADER_SILENCE_MS_MAX = 4000;

export class StreamMetrics {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Float64Array;
  readonly #published: Histograms;

  /** Over the memory of another thread's, or new. */
  constructor(memory?: SharedArrayBuffer) {
    const bytes = PUBLISHED_AT + Histograms.bytesOf(1, DURATION_BOUNDS_SEC);
    this.memory = memory ?? new SharedArrayBuffer(bytes);
    this.#numbers = new Float64Array(this.memory, 0, COUNT);
    this.#published = new Histograms(1, DURATION_BOUNDS_SEC, this.memory, PUBLISHED_AT);
  }

  /** Place of the last message applied here. */
  get applied(): number {
    return this.#numbers[APPLIED]!;
  }

  /** Newest place in the log that this node knows of. */
  get known(): number {
    return this.#numbers[KNOWN]!;
  }

  /** When a majority of the log's servers last answered, epoch ms; 0 for never. */
  get answeredMs(): number {
    return this.#numbers[ANSWERED]!;
  }

  /** How often the log was followed anew. */
  get followCount(): number {
    return this.#numbers[FOLLOWED]!;
  }

  /** Whether this node has a connection to a server of the log. */
  get isConnected(): boolean {
    return this.#numbers[CONNECTED] === 1;
  }

  /** How often that connection was lost since the start. */
  get connectionsLost(): number {
    return this.#numbers[LOST]!;
  }

  /** Messages applied since the start. */
  get appliedMessages(): number {
    return this.#numbers[MESSAGES]!;
  }

  /** Messages that found no place in the log in time. */
  get failedMessages(): number {
    return this.#numbers[FAILED]!;
  }

  /** Since when the log takes nothing, epoch ms; 0 while it does. */
  get unavailableSinceMs(): number {
    return this.#numbers[AWAY]!;
  }

  /** Size of the log and its bound in bytes, as they were last told; 0 for never, or for none. */
  get size(): { readonly bytes: number; readonly bytesMax: number } {
    return { bytes: this.#numbers[BYTES]!, bytesMax: this.#numbers[BYTES_MAX]! };
  }

  /** Messages passed over since the start: how many, the newest one's place, and when (epoch ms; 0 for never). */
  get ignored(): { readonly count: number; readonly seq: number; readonly atMs: number } {
    const [count, seq, atMs] = [IGNORED, IGNORED_SEQ, IGNORED_AT].map((at) => this.#numbers[at]!);
    return { count: count!, seq: seq!, atMs: atMs! };
  }

  /** So many more messages were passed over, the newest at that place. */
  addIgnored(count: number, seq: number, atMs: number): void {
    this.#numbers[IGNORED]! += count;
    this.#numbers[IGNORED_SEQ] = seq;
    this.#numbers[IGNORED_AT] = atMs;
  }

  /** Whether agent tables of nodes differed when they were last compared. */
  get tablesDiffer(): boolean {
    return this.#numbers[TABLES_DIFFER] === 1;
  }

  /** Bytes of own decisions sent to nodes that keep copies. */
  get shippedBytes(): number {
    return this.#numbers[SHIPPED]!;
  }

  /** Bytes of other nodes' decisions copied here, and parts of them that the stream has beyond those. */
  get collected(): { readonly bytes: number; readonly behind: number } {
    return { bytes: this.#numbers[COLLECTED]!, behind: this.#numbers[PARTS_BEHIND]! };
  }

  /** Seconds from offering a message to the log until a majority had it. */
  get publishDurationsSec(): HistogramCounts {
    return this.#published.counts(0);
  }

  /** Whether a majority of the log's servers had a leader a moment ago. */
  hasLeader(monotonicMs = readMonotonicMs()): boolean {
    const ledMs = this.#numbers[LED]!;
    return ledMs > 0 && monotonicMs - ledMs <= LEADER_SILENCE_MS_MAX;
  }

  /** The newest moment of which this node is known to have applied everything, on the monotonic clock; 0 for none. */
  get caughtUpMonotonicMs(): number {
    return this.#numbers[CAUGHT_UP_MONOTONIC]!;
  }

  /**
   * Age in ms of the newest moment at which this node is known to have applied everything that stood in
   * the log: an upper bound of how old its answers are. Infinite before the first. The larger of the ages by the
   * wall clock (`nowMs`, epoch ms) and the monotonic one.
   */
  lagMs(nowMs: number, monotonicMs = readMonotonicMs()): number {
    const caughtUpMs = this.#numbers[CAUGHT_UP]!;
    if (caughtUpMs === 0) return Number.POSITIVE_INFINITY;
    // Between the two writes of another thread, one of the two is old: the larger age is never too small.
    return Math.max(0, nowMs - caughtUpMs, monotonicMs - this.caughtUpMonotonicMs);
  }

  set applied(seq: number) {
    this.#numbers[APPLIED] = seq;
  }

  set known(seq: number) {
    this.#numbers[KNOWN] = Math.max(seq, this.known);
  }

  set answeredMs(ms: number) {
    this.#numbers[ANSWERED] = ms;
  }

  set followCount(count: number) {
    this.#numbers[FOLLOWED] = count;
  }

  /** A majority of the log's servers had a leader at that moment of the monotonic clock. */
  setLedAt(monotonicMs: number): void {
    this.#numbers[LED] = Math.max(monotonicMs, this.#numbers[LED]!);
  }

  set appliedMessages(count: number) {
    this.#numbers[MESSAGES] = count;
  }

  set failedMessages(count: number) {
    this.#numbers[FAILED] = count;
  }

  set unavailableSinceMs(ms: number) {
    this.#numbers[AWAY] = ms;
  }

  set size({ bytes = 0, bytesMax = 0 }: { readonly bytes?: number; readonly bytesMax?: number }) {
    this.#numbers[BYTES] = bytes;
    this.#numbers[BYTES_MAX] = bytesMax;
  }

  set tablesDiffer(isSo: boolean) {
    this.#numbers[TABLES_DIFFER] = isSo ? 1 : 0;
  }

  addShipped(bytes: number): void {
    this.#numbers[SHIPPED] = this.shippedBytes + bytes;
  }

  addCollected(bytes: number, behind: number): void {
    this.#numbers[COLLECTED] = this.collected.bytes + bytes;
    this.#numbers[PARTS_BEHIND] = behind;
  }

  /** The job is this node's until then, epoch ms; 0: it is not. */
  setLeaseEnd(job: ClusterJob, untilMs: number): void {
    this.#numbers[LEADS + CLUSTER_JOBS.indexOf(job)] = untilMs;
  }

  /** Whether the job is this node's: a process that stood still finds that its time has run out. */
  isJobOwner(job: ClusterJob, nowMs: number): boolean {
    return nowMs < this.#numbers[LEADS + CLUSTER_JOBS.indexOf(job)]!;
  }

  /** As the connection is now. */
  setConnection({ isUp, lost }: { readonly isUp: boolean; readonly lost: number }): void {
    this.#numbers[CONNECTED] = isUp ? 1 : 0;
    this.#numbers[LOST] = lost;
  }

  /** A message has a place in the log, which took so many ms. */
  recordPublishMs(ms: number): void {
    this.#published.add(0, ms / MS_PER_S);
  }

  /** Everything that stood in the log at that moment is applied; an earlier one than the last says nothing. */
  setCaughtUpAt({ epochMs, monotonicMs }: Moment): void {
    if (monotonicMs <= this.caughtUpMonotonicMs) return;
    this.#numbers[CAUGHT_UP] = epochMs;
    this.#numbers[CAUGHT_UP_MONOTONIC] = monotonicMs;
  }
}
