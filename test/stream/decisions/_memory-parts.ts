// Stream of decision parts in memory for tests: it can refuse, take without saying so, drop its oldest, be another.
import type {
  DecisionParts,
  NodeSegmentPart,
  DecisionSegmentPart,
  PartPlace,
  PartStreamState,
} from "../../../src/stream/decisions/parts.ts";

export class MemoryParts implements DecisionParts {
  id = "first";
  /** With places from 1. */
  readonly stored: NodeSegmentPart[] = [];
  firstSeq = 1;
  isRefusing = false;
  /** Taken, and nobody is told. */
  isSilent = false;
  #wake = () => {};

  publish(node: string, part: DecisionSegmentPart): Promise<void> {
    if (this.isRefusing) return Promise.reject(new Error("refused by the test"));
    this.stored.push({ ...part, node, seq: this.stored.length + 1, behind: 0 });
    this.#wake();
    return this.isSilent ? Promise.reject(new Error("no answer")) : Promise.resolve();
  }

  findNewestPlace(node: string): Promise<PartPlace | undefined> {
    if (this.isRefusing) return Promise.reject(new Error("refused by the test"));
    const newest = this.stored.findLast((part) => part.node === node);
    const place = newest && {
      segment: newest.segment,
      byte: newest.from + newest.bytes.byteLength,
    };
    return Promise.resolve(place);
  }

  state(): Promise<PartStreamState> {
    const { id, firstSeq } = this;
    return Promise.resolve({ id, firstSeq, lastSeq: this.stored.length });
  }

  read(after: number, take: (part: NodeSegmentPart) => Promise<void>) {
    let isClosed = false;
    const run = async () => {
      for (let seq = Math.max(after + 1, this.firstSeq); !isClosed;) {
        const part = this.stored[seq - 1];
        if (part === undefined) {
          // oxlint-disable-next-line no-await-in-loop -- until there is one
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        // oxlint-disable-next-line no-await-in-loop -- in order
        await take(part);
        seq++;
      }
    };
    const close = () => {
      isClosed = true;
      this.#wake();
    };
    return Promise.resolve({ ended: run(), close });
  }
}
