// Keeps the archive up to date: asks the archive's thread for a shipment at each interval, knows how old
// the archive is, and tells of trouble once. Nothing here waits for the thread but the service's end, and
// that for a moment only.
import { randomUUID } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { Log } from "../../platform/log.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

/** An end waits so long for the last shipment, and for the thread to end after it. */
const LAST_UPLOAD_MS_MAX = 1500;
const END_MS_MAX = 500;
/** A shipment that takes so many intervals, and a minute, is told of: the target may hang. */
const LATE_INTERVALS = 3;
const LATE_MS_MIN = 60_000;
/** Kinds of trouble told of until all is well again. */
const LOGGED_FAILURES_MAX = 16;

/** The thread, or what stands for it in a test. */
export interface ArchiveThread {
  post(request: ArchiveRequest): void;
  onReply(take: (reply: ArchiveReply) => void): void;
  /** Called when the thread has ended, by itself or not. */
  onEnd(take: (why: string) => void): void;
  /** Resolves once it has ended; never where native code does not come back. */
  terminate(): Promise<unknown>;
}

export interface ArchiveSchedulerOptions {
  readonly thread: ArchiveThread;
  readonly everyMs: number;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Position of the newest durable record. */
  readonly durable: () => number;
  readonly log: Pick<Log, "info" | "error">;
  /** Calls back at each interval until what it returns is called; the system's timer when left out. */
  readonly repeat?: (act: () => void, everyMs: number) => () => void;
}

export interface ArchiveStatus {
  /** Since the newest moment at which all that was durable had been shipped, or the start. */
  readonly ageMs: number;
  readonly everyMs: number;
  /** Up to which the archive goes; undefined before the first shipment. */
  readonly position: number | undefined;
  /** Shipments that failed. */
  readonly failures: number;
  /** Why the last one failed; empty while all is well. */
  readonly why: string;
  /** Name of the state kept because the journal had parted from the archive. */
  readonly parted: string | undefined;
}

export class ArchiveScheduler {
  readonly #options: ArchiveSchedulerOptions;
  readonly #stop: () => void;
  /** When the shipment under way was asked for, epoch ms. */
  #askedMs: number | undefined;
  #freshMs: number;
  #position: number | undefined;
  #failures = 0;
  #why = "";
  /** Told of since all was well. */
  readonly #told = new Set<string>();
  #parted: string | undefined;
  #isLateTold = false;
  #whenAnswered: () => void = () => undefined;
  #hasEnded = false;
  /** The thread did not end: native code still runs there. */
  isLate = false;

  constructor(options: ArchiveSchedulerOptions) {
    this.#options = options;
    this.#freshMs = options.clock();
    const { thread, everyMs, repeat = startUnrefInterval } = options;
    thread.onReply((reply) => this.#take(reply));
    thread.onEnd((why) => {
      this.#hasEnded = true;
      this.#whenAnswered();
      if (why !== "") this.#fail(`the archive's thread has ended: ${why}`);
    });
    this.#stop = repeat(() => this.#tick(), everyMs);
    this.#tick();
  }

  status(): ArchiveStatus {
    const { clock, everyMs } = this.#options;
    return {
      ageMs: Math.max(0, clock() - this.#freshMs),
      everyMs,
      position: this.#position,
      failures: this.#failures,
      why: this.#why,
      parted: this.#parted,
    };
  }

  /** Ships once more what is durable by now, if the target answers in time. */
  async close(): Promise<void> {
    this.#stop();
    const { thread } = this.#options;
    const isFree = this.#askedMs === undefined || (await this.#answeredWithin(LAST_UPLOAD_MS_MAX));
    if (isFree && !this.#hasEnded) {
      this.#ask(true);
      await this.#answeredWithin(LAST_UPLOAD_MS_MAX);
    }
    this.#hasEnded = true;
    this.isLate = !(await endsWithin(END_MS_MAX, thread.terminate()));
  }

  #tick(): void {
    if (this.#hasEnded) return;
    if (this.#askedMs === undefined) return this.#ask(false);
    const { clock, everyMs } = this.#options;
    const sinceMs = clock() - this.#askedMs;
    if (this.#isLateTold || sinceMs < Math.max(LATE_MS_MIN, LATE_INTERVALS * everyMs)) return;
    this.#isLateTold = true;
    this.#options.log.error("archive_late", {
      detail: `a shipment takes ${Math.round(sinceMs / 1000)} s so far`,
    });
  }

  #ask(isLast: boolean): void {
    const { clock, durable, thread } = this.#options;
    this.#askedMs = clock();
    thread.post({ nowMs: this.#askedMs, durable: durable(), isLast });
  }

  #take(reply: ArchiveReply): void {
    const askedMs = this.#askedMs ?? this.#freshMs;
    this.#askedMs = undefined;
    this.#isLateTold = false;
    if (reply.kind === "failed") this.#fail(reply.why);
    else {
      this.#freshMs = askedMs;
      this.#position = reply.position;
      if (this.#why !== "")
        this.#options.log.info("archive_recovered", { detail: `position ${reply.position}` });
      this.#why = "";
      this.#told.clear();
      this.#hasParted(reply.parted);
    }
    this.#whenAnswered();
  }

  #hasParted(parted: string | undefined): void {
    if (parted === undefined || parted === this.#parted) return;
    this.#parted = parted;
    const detail =
      "the archive held another history than the journal: that one stays there as the state " +
      `\`${parted}\`. If this directory was not restored on purpose, records are missing here`;
    this.#options.log.error("archive_parted", { detail });
  }

  #fail(why: string): void {
    this.#failures++;
    this.#why = why;
    if (this.#told.has(why) || this.#told.size >= LOGGED_FAILURES_MAX) return;
    this.#told.add(why);
    this.#options.log.error("archive_failed", { detail: why });
  }

  #answeredWithin(ms: number): Promise<boolean> {
    return endsWithin(ms, new Promise<void>((resolve) => (this.#whenAnswered = resolve)));
  }
}

/** Starts the thread of an archive. */
export function startArchiveThread(data: Omit<ArchiveThreadData, "writer">): ArchiveThread {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    name: "archive",
    workerData: { ...data, writer: randomUUID() } satisfies ArchiveThreadData,
  });
  worker.unref();
  return {
    post: (request) => worker.postMessage(request),
    onReply: (take) => worker.on("message", take),
    onEnd: (take) => {
      worker.once("error", (error) => take(String(error)));
      worker.once("exit", () => take(""));
    },
    terminate: () => worker.terminate(),
  };
}

function startUnrefInterval(act: () => void, everyMs: number): () => void {
  const timer = setInterval(act, everyMs).unref();
  return () => clearInterval(timer);
}

/** Whether `work` resolves within `ms`. */
function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return withDeadline(
    work.then(() => true),
    ms,
    () => false,
  );
}

export interface ArchiveThreadData {
  readonly dataDir: string;
  readonly target: string;
  readonly serviceId: string;
  /** Random; names this process as the archive's writer. */
  readonly writer: string;
  readonly madeBy: string;
  /** Of the ledger thread: how far the journal is on disk. */
  readonly figures: SharedArrayBuffer;
}

/** Asks for one shipment; the next one is asked for once it has been answered. */
export interface ArchiveRequest {
  readonly nowMs: number;
  /** Position that is durable at least. */
  readonly durable: number;
  /** The thread ends behind it. */
  readonly isLast?: boolean;
}

export type ArchiveReply =
  | { readonly kind: "shipped"; readonly position: number; readonly parted: string | undefined }
  | { readonly kind: "failed"; readonly why: string };
