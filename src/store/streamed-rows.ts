// The store thread's stream of rows as its client sees it. One part is fetched ahead, so that the store
// makes the next while the last is on its way: at most two parts are held for each stream.
import type { StoreCall } from "./messages.ts";
import type { RowStreamHandle } from "./query/row-streams.ts";
import type { StreamedRows } from "./store.ts";

/** Sends a call to the store thread. */
export type StoreCaller = <T>(call: StoreCall) => Promise<T>;

export function createStreamedRows(opened: RowStreamHandle, ask: StoreCaller): StreamedRows {
  const { id: stream, columns, asOf } = opened;
  const fetch = () => {
    const part = ask<Uint8Array | undefined>({ name: "nextPart", stream });
    // Its error belongs to whoever takes the part.
    part.catch(() => undefined);
    return part;
  };
  let ahead = fetch();
  let isOver = false;
  return {
    columns,
    asOf,
    async next() {
      const part = await ahead;
      if (part === undefined) isOver = true;
      else ahead = fetch();
      return part;
    },
    cancel() {
      if (isOver) return;
      isOver = true;
      ask({ name: "closeStream", stream }).catch(() => undefined);
    },
  };
}
