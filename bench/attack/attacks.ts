// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { lostTail } from "./attacks/lost-tail.ts";
import { provenanceFlood } from "./attacks/provenance-flood.ts";
import { storeLoss } from "./attacks/store-loss.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [unreadReplies, storeLoss, provenanceFlood, lostTail];
