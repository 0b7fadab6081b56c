// Streams that the query process has open, as the store thread counts them: whose they are, in which
// life of the process, and how much of its work each may still cost.
import { ServiceFault } from "../../contract/faults.ts";
import {
  createStreamEndedFault,
  STREAM_IDLE_MS_MAX,
  STREAMS_MAX,
  STREAMS_PER_TENANT_MAX,
} from "../query/row-streams.ts";
import type { LiableCaller, SandboxProcess } from "./process.ts";

/** The process closes an idle stream itself; then its place is given away here. */
const IDLE_FORGET_MS = STREAM_IDLE_MS_MAX + 5000;

/** Longest time that a stream takes to stop. */
const CLOSE_MS_MAX = 5000;

interface SandboxStream {
  readonly process: SandboxProcess;
  /** Its number in the process. */
  readonly stream: number;
  /** Its tenant, and the time that the database may work on it. */
  readonly liable: LiableCaller;
  leftMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class StreamTable {
  readonly #open = new Map<number, SandboxStream>();
  /** Tenants of the streams that are open or being opened. */
  readonly #tenants: string[] = [];
  readonly #graceMs: number;
  #nextId = 1;

  /** `graceMs`: how much later than its time a part may come before the process is killed. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /** Streams that are open or being opened. */
  get reservedCount(): number {
    return this.#tenants.length;
  }

  /** Streams that would end with the process. */
  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Keeps a place until `add` or `giveUp`.
   * @throws ServiceFault `overloaded` when there is none.
   */
  reserve(tenant: string): void {
    const own = this.#tenants.filter((each) => each === tenant).length;
    if (this.#tenants.length >= STREAMS_MAX || own >= STREAMS_PER_TENANT_MAX) {
      throw new ServiceFault("overloaded", "too many answers are being streamed");
    }
    this.#tenants.push(tenant);
  }

  release(tenant: string): void {
    this.#tenants.splice(this.#tenants.indexOf(tenant), 1);
  }

  /** @returns the number by which `next` and `close` know it. */
  add(process: SandboxProcess, stream: number, liable: LiableCaller, usedMs: number): number {
    const id = this.#nextId++;
    const leftMs = liable.limitMs - usedMs;
    this.#open.set(id, { process, stream, liable, leftMs, timer: undefined });
    this.#startIdleTimer(id);
    return id;
  }

  /**
   * The next part, undefined after the last.
   * @throws ServiceFault as the process gives it, or `store_unavailable` when the stream has ended.
   */
  async next(id: number): Promise<Uint8Array | undefined> {
    const open = this.#open.get(id);
    if (open === undefined) throw createStreamEndedFault();
    clearTimeout(open.timer);
    const { process, stream, liable, leftMs } = open;
    const startedAt = performance.now();
    try {
      const deadlineMs = Math.max(0, leftMs) + this.#graceMs;
      const part = await process.call<Uint8Array | undefined>(
        { name: "nextPart", stream },
        deadlineMs,
        liable,
      );
      open.leftMs -= performance.now() - startedAt;
      if (part === undefined) this.#removeStream(id);
      else this.#startIdleTimer(id);
      return part;
    } catch (error) {
      this.#removeStream(id);
      throw error instanceof ServiceFault ? error : createStreamEndedFault();
    }
  }

  /** Ends a stream before its end; harmless after it. */
  close(id: number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#removeStream(id);
    const { process, stream, liable } = open;
    // It ends once its running step has stopped.
    process.call({ name: "closeStream", stream }, CLOSE_MS_MAX, liable).catch(() => undefined);
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.#removeStream(id);
  }

  #startIdleTimer(id: number): void {
    const open = this.#open.get(id);
    if (open !== undefined) open.timer = setTimeout(() => this.close(id), IDLE_FORGET_MS);
  }

  #removeStream(id: number): void {
    const open = this.#open.get(id);
    if (open === undefined || !this.#open.delete(id)) return;
    clearTimeout(open.timer);
    this.release(open.liable.tenant);
  }
}
