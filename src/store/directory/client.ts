// Lists of agents and outcomes, as the main thread asks the store thread for them: few wait at a time.
import { AdmissionLimit } from "../../concurrency/admission-limit.ts";
import type { DirectoryAnswers, DirectoryAsk } from "./asks.ts";

/** Reads waiting or running: people page through lists, and programs have SQL. */
const READS_MAX = 16;

type FilterOf<List extends DirectoryAsk["list"]> = Extract<DirectoryAsk, { list: List }>["filter"];

/** Port of the lists. */
export interface Directory {
  /**
   * One page, or one agent's days.
   * @throws ServiceFault `overloaded` when too many reads wait, `store_unavailable` when the store
   *   cannot answer.
   */
  read<List extends DirectoryAsk["list"]>(
    list: List,
    filter: FilterOf<List>,
  ): Promise<DirectoryAnswers[List]>;
}

/** The lists by way of `send`, which asks the store thread. */
export function directoryBy(send: (ask: DirectoryAsk) => Promise<unknown>): Directory {
  const reads = new AdmissionLimit({ countMax: READS_MAX, detail: "too many lists are waiting" });
  return {
    read<List extends DirectoryAsk["list"]>(list: List, filter: FilterOf<List>) {
      const ask = { list, filter } as unknown as DirectoryAsk;
      return reads.run(() => send(ask) as Promise<DirectoryAnswers[List]>);
    },
  };
}
