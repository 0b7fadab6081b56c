// The attacks of the suite, in the order in which they are played.
import type { Attack } from "./attack.ts";
import { forgedReporter } from "./attacks/forged-reporter.ts";
import { namespaceTaken } from "./attacks/namespace-taken.ts";
import { requestId } from "./attacks/request-id.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";
import { unstoppableSql } from "./attacks/unstoppable-sql.ts";

export const ATTACKS: readonly Attack[] = [
  unreadReplies,
  namespaceTaken,
  forgedReporter,
  requestId,
  unstoppableSql,
];
