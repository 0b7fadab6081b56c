// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";

export const ATTACKS: readonly Attack[] = [unreadReplies];
