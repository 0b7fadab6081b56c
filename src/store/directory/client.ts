// Lists of agents and outcomes, as the main thread asks the store thread for them: few wait at a time.
import { AdmissionLimit } from "../../concurrency/admission-limit.ts";
import type { AgentDirectoryResults, AgentDirectoryRequest } from "./asks.ts";

/** Reads waiting or running: people page through lists, and programs have SQL. */
const DIRECTORY_READS_MAX = 16;

type AgentDirectoryFilter<List extends AgentDirectoryRequest["list"]> = Extract<
  AgentDirectoryRequest,
  { list: List }
>["filter"];

/** Port of the lists. */
export interface AgentDirectory {
  /**
   * One page, or one agent's days.
   * @throws ServiceFault `overloaded` when too many reads wait, `store_unavailable` when the store
   *   cannot answer.
   */
  read<List extends AgentDirectoryRequest["list"]>(
    list: List,
    filter: AgentDirectoryFilter<List>,
  ): Promise<AgentDirectoryResults[List]>;
}

/** The lists by way of `send`, which asks the store thread. */
export function createAgentDirectory(
  send: (ask: AgentDirectoryRequest) => Promise<unknown>,
): AgentDirectory {
  const reads = new AdmissionLimit({
    countMax: DIRECTORY_READS_MAX,
    detail: "too many lists are waiting",
  });
  return {
    read<List extends AgentDirectoryRequest["list"]>(
      list: List,
      filter: AgentDirectoryFilter<List>,
    ) {
      const ask = { list, filter } as unknown as AgentDirectoryRequest;
      return reads.run(() => send(ask) as Promise<AgentDirectoryResults[List]>);
    },
  };
}
