// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { forgedReporter } from "./attacks/forged-reporter.ts";
import { namespaceTaken } from "./attacks/namespace-taken.ts";
import { requestId } from "./attacks/request-id.ts";
import { clockJump } from "./attacks/clock-jump.ts";
import { denialFlood } from "./attacks/denial-flood.ts";
import { idleConnections } from "./attacks/idle-connections.ts";
import { longBatches } from "./attacks/long-batches.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [
  unreadReplies,
  namespaceTaken,
  forgedReporter,
  requestId,
  denialFlood,
  idleConnections,
  clockJump,
  longBatches,
];
