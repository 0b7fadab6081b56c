// Request watch of a serving thread, with the chance and the time of its process.
import { RequestWatch, type WatchedBatch, type WatchShares } from "../../http/request-watch.ts";

/** `clock` is epoch ms. */
export function createRequestWatch(
  shares: WatchShares,
  clock: () => number,
  deliver: (batch: WatchedBatch) => void,
): RequestWatch {
  const monotonic = () => performance.now();
  return new RequestWatch({ shares, clock, monotonic, random: Math.random, deliver });
}
