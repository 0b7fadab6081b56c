// Events that the stream thread sends to the thread that started it.
import type { AppliedNodes } from "./applied-nodes.ts";
import type { ClusterJob } from "./metrics.ts";
import type { ClusterView } from "./reports.ts";

/** To the thread that started this one. */
export type StreamEvent =
  /** Connected: the ledger may begin. */
  | { kind: "ready"; generation: number }
  /** This node may not join: the sentence says why. A further start may, unless it is permanent. */
  | { kind: "refused"; detail: string; isPermanent: boolean }
  | { kind: "note"; event: string; detail: string }
  /** Another process has this node's name. */
  | { kind: "displaced"; detail: string }
  /** A job of the whole cluster has become this node's, or is not any more. */
  | { kind: "leads"; job: ClusterJob; isHeld: boolean }
  /** Which nodes have in force what was in the log when this was asked. */
  | ({ kind: "spread"; id: number } & AppliedNodes)
  /** What a look at the whole cluster has found. */
  | { kind: "view"; view: ClusterView }
  /** Exit code 65: this journal is not the cluster's. */
  | { kind: "diverged"; detail: string }
  /** The ledger has let go of the thread, which ends now. */
  | { kind: "ended" };
