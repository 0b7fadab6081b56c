// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";
import { unstoppableSql } from "./attacks/unstoppable-sql.ts";

export const ATTACKS: readonly Attack[] = [unreadReplies, unstoppableSql];
