// Merkle tree over the vault's records as in RFC 6962 §2.1: leaves are hashed behind 0x00, nodes
// behind 0x01, so that no node can pass for a leaf. Appends store all levels, so that the root and
// a proof cost the depth of the tree and nothing is hashed twice.
import { hash } from "node:crypto";

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

/**
 * In one call: a start hashes every record three times, and a hash object costs more than its
 * bytes.
 */
function hashConcatenated(...parts: Uint8Array[]): Buffer {
  return hash("sha256", Buffer.concat(parts), "buffer");
}

/** Hash of a leaf's bytes. */
export function computeLeafHash(bytes: Uint8Array): Buffer {
  return hashConcatenated(LEAF, bytes);
}

/** Levels of complete subtrees: `levels[k][i]` is the root of leaves i*2^k to (i+1)*2^k - 1. */
export class MerkleTree {
  readonly #levels: Buffer[][] = [[]];

  get size(): number {
    return this.#levels[0]!.length;
  }

  append(leaf: Buffer): void {
    this.#levels[0]!.push(leaf);
    for (let level = 0; this.#levels[level]!.length % 2 === 0; level++) {
      const [left, right] = this.#levels[level]!.slice(-2) as [Buffer, Buffer];
      (this.#levels[level + 1] ??= []).push(hashConcatenated(NODE, left, right));
    }
  }

  /** The tree head; for an empty tree the hash of the empty string. */
  computeRoot(): Buffer {
    if (this.size === 0) return hashConcatenated();
    return this.#computeSubtreeRoot(0, this.size);
  }

  /** The sibling hashes from leaf `index` to the root, nearest first. */
  computeInclusionPath(index: number): Buffer[] {
    return this.#computeSubtreePath(index, 0, this.size);
  }

  #computeSubtreeRoot(from: number, count: number): Buffer {
    const level = Math.log2(count);
    if (Number.isInteger(level) && from % count === 0) return this.#levels[level]![from / count]!;
    const left = computeSplit(count);
    return hashConcatenated(
      NODE,
      this.#computeSubtreeRoot(from, left),
      this.#computeSubtreeRoot(from + left, count - left),
    );
  }

  #computeSubtreePath(index: number, from: number, count: number): Buffer[] {
    if (count <= 1) return [];
    const left = computeSplit(count);
    if (index < left) {
      return [
        ...this.#computeSubtreePath(index, from, left),
        this.#computeSubtreeRoot(from + left, count - left),
      ];
    }
    return [
      ...this.#computeSubtreePath(index - left, from + left, count - left),
      this.#computeSubtreeRoot(from, left),
    ];
  }
}

/** The largest power of two below `count`. */
function computeSplit(count: number): number {
  return 2 ** Math.floor(Math.log2(count - 1));
}

/** A leaf's index in a tree of `size` leaves, and the siblings' hashes from the leaf up. */
export interface LeafPath {
  readonly index: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
}

/** Whether a path leads from a leaf to a root: the check by the holder of a proof. */
export function isIncluded(
  leaf: Uint8Array,
  { index, size, path }: LeafPath,
  root: Uint8Array,
): boolean {
  if (index >= size) return false;
  let node = index;
  let last = size - 1;
  let found: Uint8Array = leaf;
  for (const sibling of path) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      found = hashConcatenated(NODE, sibling, found);
      while (node % 2 === 0 && node !== 0) {
        node >>>= 1;
        last >>>= 1;
      }
    } else {
      found = hashConcatenated(NODE, found, sibling);
    }
    node >>>= 1;
    last >>>= 1;
  }
  return last === 0 && Buffer.from(found).equals(root);
}
