// The bits of an agent's standing, as the table, the journal and explanations share them. The
// engine holds the same numbers (FLAG_* of assembly/layout.ts); test/engine/abi.test.ts compares.

export const STANDING_BITS = {
  /** The operator vouches for this reporter. */
  seed: 1,
  /** Its credibility holds; without this bit it is a stranger. */
  believed: 8,
  /** It has a signing key: what is reported unsigned in its name counts as a stranger's. */
  signs: 16,
  /** Most of what is reported of it comes from strangers. */
  discounted: 32,
} as const;

/**
 * In the number of a reporter cluster: the cluster is a ring, a closed group that praises one another and
 * fails outsiders. CLUSTER_RING_BIT of the engine.
 */
export const RING_BIT = 0x20000000;

/** Number of a cluster without the mark of a ring; 0 for none. */
export function readClusterNumber(cluster: number): number {
  return cluster & ~RING_BIT;
}
