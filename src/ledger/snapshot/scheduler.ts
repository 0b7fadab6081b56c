// Schedule of snapshots: decides when one is due and takes it between two batches. Only the copy of
// the used memory happens here; another thread has allocated memory for it before (touching fresh
// pages costs ten times the copy) and hashes, writes and syncs it afterwards.
//
//   idle --due--> buffer requested --buffer ready: copy--> writing --written or failed--> idle
import { SNAPSHOT_OUTCOMES } from "../../contract/setting-defaults.ts";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { TableImage } from "../../engine/image.ts";
import type { ReplayTable } from "../replay-table.ts";
import { type SnapshotContents, writeSnapshot } from "./files.ts";
import {
  encodePayloads,
  encodePlaces,
  type EngineIdentity,
  type SnapshotHeader,
  computeSnapshotBodyBytes,
} from "./format.ts";
import type { FileLayer } from "../../platform/files.ts";

/**
 * Pace of snapshots: one is due after so many outcomes, or after so long with at least the lesser
 * number.
 */
export interface SnapshotPace {
  outcomes: number;
  ms: number;
  outcomesMin: number;
}

export const SNAPSHOT_PACE: SnapshotPace = computeSnapshotPace(SNAPSHOT_OUTCOMES);

/** A snapshot every so many outcomes, or every five minutes with a twentieth of that. */
export function computeSnapshotPace(outcomes: number): SnapshotPace {
  return { outcomes, ms: 300_000, outcomesMin: Math.ceil(outcomes / 20) };
}

/** To the writing thread. */
export type ToSnapshotWriter =
  | { kind: "buffer"; bytes: number }
  | { kind: "write"; header: SnapshotHeader };

/** From the writing thread. */
export type FromSnapshotWriter =
  | { kind: "buffer"; buffer: SharedArrayBuffer }
  | { kind: "written"; lsn: number }
  | { kind: "failed"; detail: string };

export interface SnapshotSchedulerOptions {
  /** The table's position; called between batches only. */
  point: () => SnapshotContents;
  /** True during a re-fold: the table is not at `point` then. */
  isRefolding: () => boolean;
  guard: ReplayTable;
  /** Image of the live table. */
  image: () => TableImage;
  identity: EngineIdentity;
  pace: SnapshotPace;
  /** Outcomes in the snapshot that this start came from, 0 without one. */
  outcomesSaved: number;
  nowMs: number;
  /** Starts the writing thread and gives our end of the channel to it. */
  startWriter: (died: (detail: string) => void) => MessagePort;
  /** Called once a snapshot is on disk. */
  written?: () => void;
  log: (event: string, detail: string) => void;
}

/** Space beyond the present need: the table grows while the space is made. */
const SPARE_FACTOR = 1.125;
const SPARE_BYTES = 1024 * 1024;

/** One per ledger thread. */
export class SnapshotScheduler {
  readonly #options: SnapshotSchedulerOptions;
  #port: MessagePort | undefined;
  #outcomesSaved: number;
  #triedAtMs: number;

  constructor(options: SnapshotSchedulerOptions) {
    this.#options = options;
    this.#outcomesSaved = options.outcomesSaved;
    this.#triedAtMs = options.nowMs;
  }

  /** Call between batches. Costs nothing most of the time, one copy of the table when due. */
  runIfDue(nowMs: number): void {
    if (this.#options.isRefolding()) return;
    if (this.#port === undefined) {
      if (this.#isDue(nowMs)) this.#requestSnapshot(nowMs);
      return;
    }
    // Under load the ledger never returns to its event loop.
    const received = receiveMessageOnPort(this.#port);
    if (received !== undefined) this.#receive(received.message as FromSnapshotWriter);
  }

  /** Ends the writing thread once it has finished its present work. */
  close(): void {
    this.#port?.close();
    this.#port = undefined;
  }

  #isDue(nowMs: number): boolean {
    const { pace, point } = this.#options;
    const fresh = point().outcomes - this.#outcomesSaved;
    if (fresh >= pace.outcomes) return true;
    return fresh >= pace.outcomesMin && nowMs - this.#triedAtMs >= pace.ms;
  }

  #requestSnapshot(nowMs: number): void {
    this.#triedAtMs = nowMs;
    this.#port = this.#options.startWriter((detail) => this.#abandon(detail));
    this.#port.on("message", (message: FromSnapshotWriter) => this.#receive(message));
    this.#requestBuffer(this.#port);
  }

  #computeBytesNeeded(): number {
    const { image, guard, point } = this.#options;
    const { keyEvents, policies, sources, reviews, conditions, stream } = point();
    const payloads = [...keyEvents, ...policies, ...reviews, ...conditions];
    const rest = encodePayloads(payloads).byteLength + encodePlaces(sources).byteLength;
    return image().countBytes() + guard.byteCount + rest + stream.byteLength;
  }

  #requestBuffer(port: MessagePort): void {
    const bytes = Math.ceil(this.#computeBytesNeeded() * SPARE_FACTOR) + SPARE_BYTES;
    port.postMessage({ kind: "buffer", bytes } satisfies ToSnapshotWriter);
  }

  #receive(message: FromSnapshotWriter): void {
    if (this.#port === undefined) return;
    if (message.kind === "buffer") {
      if (this.#options.isRefolding()) this.#abandon("a re-fold began");
      else if (message.buffer.byteLength < this.#computeBytesNeeded())
        this.#requestBuffer(this.#port);
      else this.#copyTable(this.#port, message.buffer);
    } else if (message.kind === "written") {
      this.#options.written?.();
      this.#options.log("snapshot_written", `position ${message.lsn}`);
      this.close();
    } else {
      this.#abandon(message.detail);
    }
  }

  /** The one pause: everything of one moment, at the speed of memory. */
  #copyTable(port: MessagePort, buffer: SharedArrayBuffer): void {
    const startedAt = performance.now();
    const { image, guard, identity } = this.#options;
    const { lsn, chain, outcomes, ...rest } = this.#options.point();
    const body = new Uint8Array(buffer);
    let at = 0;
    const add = (bytes: Uint8Array) => {
      body.set(bytes, at);
      at += bytes.byteLength;
      return bytes.byteLength;
    };
    for (const part of image().viewParts()) add(part);
    const tableBytes = at;
    guard.copyEntries(body.subarray(at));
    at += guard.byteCount;
    const { layoutVersion, engineDigest, seed } = identity;
    const header = {
      layoutVersion,
      engineDigest,
      seed,
      lsn,
      chain: Uint8Array.from(chain),
      outcomes,
      tableBytes,
      guardBytes: guard.byteCount,
      // In the order of the body.
      keyEventBytes: add(encodePayloads(rest.keyEvents)),
      policyBytes: add(encodePayloads(rest.policies)),
      sourceBytes: add(encodePlaces(rest.sources)),
      reviewBytes: add(encodePayloads([...rest.reviews])),
      streamBytes: add(rest.stream),
      conditionBytes: add(encodePayloads([...rest.conditions])),
    };
    this.#outcomesSaved = outcomes;
    port.postMessage({ kind: "write", header } satisfies ToSnapshotWriter);
    const ms = (performance.now() - startedAt).toFixed(1);
    this.#options.log("snapshot_copied", `${tableBytes} bytes at position ${lsn} in ${ms} ms`);
  }

  /** Evidence is safe in the journal: a snapshot that fails is tried again when the next is due. */
  #abandon(detail: string): void {
    if (this.#port === undefined) return;
    this.#options.log("snapshot_failed", detail);
    this.#outcomesSaved = this.#options.point().outcomes;
    this.close();
  }
}

/** Serves the ledger thread at the other end of `port`. Returns at once. */
export function serveSnapshotWriter(
  port: MessagePort,
  files: FileLayer,
  directory: string,
  spareBytes: number,
): void {
  let buffer: SharedArrayBuffer | undefined;
  const send = (message: FromSnapshotWriter) => port.postMessage(message);
  const write = (header: SnapshotHeader) => {
    const body = new Uint8Array(buffer!, 0, computeSnapshotBodyBytes(header));
    writeSnapshot(files, directory, { header, body }, spareBytes);
    send({ kind: "written", lsn: header.lsn });
  };
  port.on("message", (message: ToSnapshotWriter) => {
    try {
      if (message.kind === "write") {
        write(message.header);
      } else {
        buffer = growBuffer(buffer, message.bytes);
        send({ kind: "buffer", buffer });
      }
    } catch (error) {
      send({ kind: "failed", detail: String(error) });
    }
  });
}

/** Room to grow in place: address space, no memory. */
const GROWTH_FACTOR = 4;

/**
 * The buffer, made as large as asked. A table that has outgrown it meanwhile gets more of the same: one
 * beside it would hold memory until the garbage collectors of both threads have seen to it.
 */
function growBuffer(buffer: SharedArrayBuffer | undefined, bytes: number): SharedArrayBuffer {
  const isRoomy = buffer !== undefined && bytes <= buffer.maxByteLength;
  const next = isRoomy
    ? buffer
    : new SharedArrayBuffer(0, { maxByteLength: bytes * GROWTH_FACTOR });
  const from = next.byteLength;
  if (bytes > from) next.grow(bytes);
  // Every new page is touched here, so that the ledger's copy need not.
  new Uint8Array(next).fill(0, from);
  return next;
}
