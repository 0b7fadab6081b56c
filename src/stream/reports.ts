// What nodes tell of themselves, and whether they agree: the chain of a journal at a place of the log is
// the same on every node, or one of them is wrong.

/** The newest checkpoints told: others may lag behind. */
const CHECKPOINTS_MAX = 32;

export interface NodeReport {
  readonly generation: number;
  readonly seq: number;
  readonly lsn: number;
  readonly chain: string;
  readonly version: string;
  /** Base URL under which other nodes reach this one; undefined where it was not named. */
  readonly url?: string | undefined;
  readonly atMs: number;
  /** Place of the log and chain of the journal there, oldest first. */
  readonly checkpoints: readonly (readonly [seq: number, chain: string])[];
}

export class Checkpoints {
  #list: (readonly [seq: number, chain: string])[] = [];

  get list(): readonly (readonly [seq: number, chain: string])[] {
    return this.#list;
  }

  add(seq: number, chain: string): void {
    this.#list = [...this.#list, [seq, chain] as const].slice(-CHECKPOINTS_MAX);
  }
}

/**
 * The place at which most nodes have another chain than this one; undefined where none is known. Where
 * two nodes contradict each other nobody knows which one is right: both are told.
 */
export function divergedAt(
  own: NodeReport,
  others: readonly NodeReport[],
): { readonly seq: number; readonly isOutvoted: boolean } | undefined {
  for (const [seq, chain] of own.checkpoints) {
    const votes = others.flatMap(({ generation, checkpoints }) => {
      if (generation !== own.generation) return [];
      const found = checkpoints.find(([at]) => at === seq);
      return found === undefined ? [] : [found[1]];
    });
    const against = votes.filter((vote) => vote !== chain).length;
    const isOutvoted = against > votes.length - against + 1;
    if (against > 0) return { seq, isOutvoted };
  }
  return undefined;
}
