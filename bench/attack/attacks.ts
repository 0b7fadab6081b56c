// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { clockJump } from "./attacks/clock-jump.ts";
import { denialFlood } from "./attacks/denial-flood.ts";
import { idleConnections } from "./attacks/idle-connections.ts";
import { longBatches } from "./attacks/long-batches.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [
  unreadReplies,
  denialFlood,
  idleConnections,
  clockJump,
  longBatches,
];
