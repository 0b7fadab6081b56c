// Messages between the store thread and the process that runs callers' SQL.
import type { StoreCall } from "../messages.ts";
import { type EncodedFault } from "../../contract/encoded-fault.ts";

/** Rows that the copy lacks, as a Parquet file. */
export interface TableRowsFile {
  readonly table: string;
  readonly path: string;
  /** They take the place of all rows of the table. */
  readonly isWhole: boolean;
}

/** A caller's SQL, and the parts of its answer. */
export type CallerCall = Extract<
  StoreCall,
  { name: "query" | "cancelQuery" | "openStream" | "nextPart" | "closeStream" }
>;

export type SandboxCall =
  | {
      name: "open";
      /** Directory of the store's database, copied first; undefined: the copy is there. */
      copyFrom: string | undefined;
      directory: string;
      /** The one directory from which files of rows may be read. */
      partsDirectory: string;
      timeZone: string;
      /** Limit on the memory of the process, which it has to prove. */
      memoryBytes: number;
    }
  | { name: "add"; parts: readonly TableRowsFile[] }
  | CallerCall;

export interface MessageToSandbox {
  id: number;
  call: SandboxCall;
}

export type MessageFromSandbox =
  | { kind: "answer"; id: number; result: unknown }
  | { kind: "refusal"; id: number; fault: EncodedFault }
  /** Nothing of the copy can be trusted any more. */
  | { kind: "broken"; detail: string };
