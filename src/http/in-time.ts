// Deadline of an answer that has to be waited for.
import { ServiceFault } from "../contract/faults.ts";
import type { Reply } from "./server/port.ts";

const LATE_DETAIL =
  "the answer did not come in time; a change may still take effect, repeat its id";

/** `answer`, or a rejection with ServiceFault `deadline_exceeded` when it takes longer. */
export async function inTime(answer: Promise<Reply>, waitMs: number): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // Made only when it is late: an error captures its stack, which costs more than an answer.
    const refuse = () => reject(new ServiceFault("deadline_exceeded", LATE_DETAIL));
    timer = setTimeout(refuse, waitMs);
  });
  try {
    return await Promise.race([answer, late]);
  } catch (thrown) {
    // An answer that comes too late has nobody to take its stream.
    answer.then(({ stream }) => stream?.cancel()).catch(() => undefined);
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}
