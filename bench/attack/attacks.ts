// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { fullTable } from "./attacks/full-table.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";
import { vaultSlots } from "./attacks/vault-slots.ts";

export const ATTACKS: readonly Attack[] = [unreadReplies, fullTable, vaultSlots];
