// Deadline of a reply that is computed asynchronously.
import { withDeadline } from "../concurrency/deadline.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { Reply } from "./server/port.ts";

const LATE_DETAIL =
  "the answer did not come in time; a change may still take effect, repeat its id";

/** `reply`; cancels its stream when it arrives too late. @throws ServiceFault `deadline_exceeded` after `ms`. */
export function withReplyDeadline(reply: Promise<Reply>, ms: number): Promise<Reply> {
  return withDeadline(reply, ms, () => {
    reply.then(({ stream }) => stream?.cancel()).catch(() => undefined);
    throw new ServiceFault("deadline_exceeded", LATE_DETAIL);
  });
}
