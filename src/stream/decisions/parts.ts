// Port of the stream that takes decisions from the node that made them to nodes that keep copies of all: parts of
// segments, in each node's own order. It forgets the oldest; the log of record is on the node that decided.

/** A stretch of a decision segment of one node. */
export interface DecisionSegmentPart {
  readonly segment: string;
  /** Its first byte in the segment. */
  readonly from: number;
  readonly bytes: Uint8Array;
}

export interface NodeSegmentPart extends DecisionSegmentPart {
  /** Its place in the stream. */
  readonly seq: number;
  readonly node: string;
  /** Parts that the stream has behind it. */
  readonly behind: number;
}

/** Up to where a node's parts stand in the stream. */
export interface PartPlace {
  readonly segment: string;
  readonly byte: number;
}

export interface PartStreamState {
  /** Tells one stream from another that was made in its place. */
  readonly id: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface DecisionParts {
  /** Appends a part; a repeat is stored again, and known by its place. @throws StreamUnavailable */
  publish(node: string, part: DecisionSegmentPart): Promise<void>;
  /** Behind a node's newest part; undefined where there is none. @throws StreamUnavailable */
  findNewestPlace(node: string): Promise<PartPlace | undefined>;
  /** Makes the stream where there is none. @throws StreamUnavailable */
  state(): Promise<PartStreamState>;
  /**
   * Hands over the parts behind place `after`, in order, until the reading ends: by `close`, or because
   * its server has died.
   */
  read(
    after: number,
    take: (part: NodeSegmentPart) => Promise<void>,
  ): Promise<{ readonly ended: Promise<void>; close(): void }>;
}

/** Bytes of a part before compression: with it, below what NATS takes in a message by default. */
export const DECISION_PART_BYTES_MAX = 512 * 1024;
