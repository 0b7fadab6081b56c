// Formats in a journal's files: versions of segments, kinds of records, versions of payloads. Bytes of
// a newer release are not damage: their checksums hold, and their version or kind is unknown to this
// release. Cutting or repairing those would destroy evidence, so they are looked for first.
import { decodeAgentKey, isScoredId } from "../contract/identifiers.ts";
import { type FileLayer, readWhole } from "../platform/files.ts";
import { ASSESSMENT_VERSION } from "./assessments.ts";
import { FileUnusable } from "./faults.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KIND_MAX,
  FRAME_KINDS,
  readFrameKind,
  SEGMENT_HEADER_BYTES,
  readSegmentVersion,
  measureIntactFrame,
  JOURNAL_VERSION,
  parseSegmentNames,
} from "./format.ts";
import { decodeOutcome, OUTCOME_VERSION } from "./outcome.ts";
import { STANDINGS_VERSION } from "./standings.ts";

const ADVICE =
  "start the release that wrote it, or restore a backup of before; `trustrank upgrade --check` says what else there is";
/** A kind is one byte. */
const KIND_BYTE_MAX = 255;

/** @throws FileUnusable when the header is whole and of a version after this release's. */
export function assertSupportedHeader(bytes: Buffer, directory: string, name: string): void {
  const version = readSegmentVersion(bytes);
  if (version === undefined || version <= JOURNAL_VERSION) return;
  const reason = `it is of version ${version} of the journal, and this release reads ${JOURNAL_VERSION}`;
  throw new FileUnusable({ path: `${directory}/${name}`, reason, advice: ADVICE });
}

/**
 * Looks at the frames from `from` on, as far as their checksums hold.
 * @throws FileUnusable when one of them is of a kind after those of this release.
 */
export function assertSupportedFrames(
  bytes: Buffer,
  from: number,
  directory: string,
  name: string,
): void {
  let at = from;
  for (;;) {
    const total = measureIntactFrame(bytes, at, bytes.byteLength, KIND_BYTE_MAX);
    if (total === 0) return;
    const kind = readFrameKind(bytes, at);
    if (kind > FRAME_KIND_MAX) {
      const reason = `it holds records of kind ${kind}, and this release reads those up to ${FRAME_KIND_MAX}`;
      throw new FileUnusable({ path: `${directory}/${name}`, reason, advice: ADVICE });
    }
    at += total;
  }
}

export interface JournalFormats {
  /** Segments without a header that verifies are left out: damage is not for us to judge. */
  readonly versions: ReadonlySet<number>;
  /** Kinds of records, by number. */
  readonly kinds: ReadonlySet<number>;
  /** What of it this release cannot read, in words; empty when it reads all. */
  readonly unread: readonly string[];
  /** Kinds that it reads and makes nothing of: they were given to releases beside this one. */
  readonly passedOver: readonly number[];
  /** Names of agents in outcomes that have no agent's form by now: read, but not written or judged. */
  readonly refusedNames: readonly string[];
}

/** Kinds whose payload begins with a version of its own, and the one that is read. */
const PAYLOAD_VERSIONS: ReadonlyMap<number, number> = new Map([
  [FRAME_KINDS.outcome, OUTCOME_VERSION],
  [FRAME_KINDS.standings, STANDINGS_VERSION],
  [FRAME_KINDS.assessment, ASSESSMENT_VERSION],
]);
const KIND_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(FRAME_KINDS).map(([name, kind]) => [kind, name]),
);

/** Name of a kind; its number when this release has none. */
export function formatFrameKind(kind: number): string {
  return KIND_NAMES.get(kind) ?? String(kind);
}

/** `visit` gets the place of each record that this release reads, in order; the bytes are used again. */
export function readJournalFormats(
  files: FileLayer,
  directory: string,
  visit: (bytes: Buffer, at: number) => void = () => undefined,
): JournalFormats {
  const versions = new Set<number>();
  const kinds = new Set<number>();
  const unread = new Set<string>();
  const refusedNames = new Set<string>();
  let buffer: Buffer = Buffer.alloc(0);
  for (const { name } of parseSegmentNames(files.list(directory))) {
    const bytes = readWhole(files, `${directory}/${name}`, buffer);
    // Segments are of one size: keep the buffer for the next one.
    if (bytes.byteLength > buffer.byteLength) buffer = bytes;
    const version = readSegmentVersion(bytes);
    if (version === undefined) continue;
    versions.add(version);
    // The layout of another version's frames is not known.
    const found = { kinds, unread, refusedNames };
    if (version === JOURNAL_VERSION) collectFrameFormats(bytes, found, visit);
    else unread.add(`segments of version ${version}`);
  }
  const passedOver = [...kinds].filter((kind) => !KIND_NAMES.has(kind) && kind <= FRAME_KIND_MAX);
  return { versions, kinds, unread: [...unread], passedOver, refusedNames: [...refusedNames] };
}

function collectFrameFormats(
  bytes: Buffer,
  {
    kinds,
    unread,
    refusedNames,
  }: Record<"unread" | "refusedNames", Set<string>> & {
    kinds: Set<number>;
  },
  visit: (bytes: Buffer, at: number) => void,
): void {
  for (let at = SEGMENT_HEADER_BYTES, total = 0; ; at += total) {
    total = measureIntactFrame(bytes, at, bytes.byteLength, KIND_BYTE_MAX);
    if (total === 0) return;
    const kind = readFrameKind(bytes, at);
    kinds.add(kind);
    if (kind > FRAME_KIND_MAX) unread.add(`records of kind ${kind}`);
    const known = PAYLOAD_VERSIONS.get(kind);
    const found = bytes[at + FRAME_HEAD_BYTES];
    if (known !== undefined && found !== known) {
      unread.add(`records \`${formatFrameKind(kind)}\` of version ${found}`);
      continue;
    }
    if (KIND_NAMES.has(kind)) visit(bytes, at);
    if (kind === FRAME_KINDS.outcome) {
      const { subject, reporter } = decodeOutcome(bytes, at);
      for (const name of [subject, reporter].map(decodeAgentKey)) {
        if (!isScoredId(name)) refusedNames.add(name);
      }
    }
  }
}
