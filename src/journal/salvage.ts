// Builds the mended form of one damaged segment: verified batches are copied byte for byte, single
// records whose checksums hold are committed anew, and lost ones become a signed gap. Pure: bytes
// in, bytes out.
import { createHash, hash } from "node:crypto";
import type { BureauKey } from "./signing-key.ts";
import {
  readChainBefore,
  encodeCommitFrame,
  encodeGapFrame,
  encodeGapStatement,
  SEGMENT_HEADER_BYTES,
} from "./format.ts";
import {
  findBadRanges,
  findIntactFrames,
  type IntactFrame,
  isRecordKind,
  scanBatches,
} from "./scan.ts";

export interface LostRange {
  firstLost: number;
  lastLost: number;
}

export interface SalvageInput {
  /** The segment; its header must be in order (rebuilt if need be). */
  bytes: Buffer;
  /** Position before the segment's first record. */
  lsn: number;
  /** Start of the next segment; undefined for the newest one. */
  next: { firstLsn: number; chain: Buffer } | undefined;
  key: BureauKey;
  timeUs: number;
}

export interface SalvagedSegment {
  parts: Uint8Array[];
  lost: LostRange[];
  /** Bytes that belong to no intact frame. */
  bytesLost: number;
}

/** The mended segment. It verifies from its header to its end and leads on to `next`. */
export function salvageSegment(input: SalvageInput): SalvagedSegment {
  const output = new SalvageOutput(input);
  const { bytes, next } = input;
  let at = SEGMENT_HEADER_BYTES;
  for (;;) {
    const scan = scanBatches(bytes, at, output.lsn);
    output.copyBatches(bytes.subarray(at, scan.end), scan.lsn, readChainBefore(bytes, scan.end));
    if (scan.end === bytes.byteLength) break;
    const frames = findIntactFrames(bytes, scan.end, scan.lsn);
    const closing = frames.findIndex((frame) => !isRecordKind(frame.kind));
    if (closing < 0) {
      output.bytesLost += countBadBytes(frames, scan.end, bytes.byteLength);
      output.recommitRecords(bytes, frames);
      break;
    }
    const close = frames[closing] as IntactFrame;
    output.bytesLost += countBadBytes(frames.slice(0, closing + 1), scan.end, close.end);
    output.recommitRecords(bytes, frames.slice(0, closing));
    output.continueChain(close.lsn, readChainBefore(bytes, close.end));
    at = close.end;
  }
  if (next !== undefined) output.continueChain(next.firstLsn - 1, next.chain);
  return { parts: output.parts, lost: output.lost, bytesLost: output.bytesLost };
}

function countBadBytes(frames: readonly IntactFrame[], from: number, to: number): number {
  return findBadRanges(frames, from, to).reduce((sum, [start, end]) => sum + end - start, 0);
}

class SalvageOutput {
  lsn: number;
  bytesLost = 0;
  readonly parts: Uint8Array[];
  readonly lost: LostRange[] = [];
  #chain: Buffer;
  readonly #key: BureauKey;
  readonly #timeUs: number;

  constructor(input: SalvageInput) {
    this.lsn = input.lsn;
    this.#key = input.key;
    this.#timeUs = input.timeUs;
    this.parts = [input.bytes.subarray(0, SEGMENT_HEADER_BYTES)];
    this.#chain = readChainBefore(input.bytes, SEGMENT_HEADER_BYTES);
  }

  /** Copies batches that verify as they are. */
  copyBatches(batches: Buffer, lsn: number, chain: Buffer): void {
    this.parts.push(batches);
    this.lsn = lsn;
    this.#chain = chain;
  }

  /** Re-commits records that stand alone: runs without holes become commits, holes become gaps. */
  recommitRecords(bytes: Buffer, frames: readonly IntactFrame[]): void {
    let run: IntactFrame[] = [];
    for (const frame of frames) {
      const expected = this.lsn + run.length + 1;
      if (frame.lsn < expected) continue;
      if (frame.lsn > expected) {
        this.#writeCommit(bytes, run);
        run = [];
        // The chain goes on through the gap's own statement.
        this.#writeGap(frame.lsn - 1, undefined);
      }
      run.push(frame);
    }
    this.#writeCommit(bytes, run);
  }

  /** Makes the next byte continue `chain` behind position `lsn`. */
  continueChain(lsn: number, chain: Buffer): void {
    if (lsn > this.lsn || !chain.equals(this.#chain))
      this.#writeGap(Math.max(lsn, this.lsn), chain);
  }

  #writeCommit(bytes: Buffer, run: readonly IntactFrame[]): void {
    if (run.length === 0) return;
    const frames = run.map((frame) => bytes.subarray(frame.at, frame.end));
    const digest = createHash("sha256").update(this.#chain);
    for (const frame of frames) digest.update(frame);
    this.#chain = digest.digest();
    this.lsn += run.length;
    const { lsn } = this;
    const timeUs = this.#timeUs;
    const chain = this.#chain;
    const signature = this.#key.sign(chain);
    this.parts.push(
      ...frames,
      encodeCommitFrame({ lsn, timeUs, count: run.length, chain, signature }),
    );
  }

  #writeGap(lastLost: number, resumeAt: Buffer | undefined): void {
    const gap = { firstLost: this.lsn + 1, lastLost, bytesLost: this.bytesLost };
    const resume =
      resumeAt ?? hash("sha256", encodeGapStatement(this.#chain, gap, this.#chain), "buffer");
    const signature = this.#key.sign(encodeGapStatement(this.#chain, gap, resume));
    this.parts.push(encodeGapFrame(gap, this.#timeUs, signature, resume));
    if (lastLost > this.lsn) this.lost.push({ firstLost: gap.firstLost, lastLost });
    this.lsn = lastLost;
    this.#chain = resume;
  }
}
