// Messages of an ordered log for tests: repeats, contradictions, and events of every kind.
import { createHash } from "node:crypto";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { type OrderedMessage, MESSAGE_RULES_VERSION } from "../../../src/ledger/ordered/message.ts";
import { assessed, NOW_MS, outcomeIdOf, recordOf, seededRandom } from "../_fixtures.ts";
import { encodeAssessment } from "../../../src/journal/assessments.ts";

const ORIGINS = ["one:1", "two:1", "three:1", "one:2"];

/** `count` messages in order; some stand in the log twice, as logs may hold them. */
export function messagesOf(seed: number, count: number): OrderedMessage[] {
  const random = seededRandom(seed);
  const below = (max: number) => Math.floor(random() * max);
  const numbers = new Map<string, number>();
  const messages: OrderedMessage[] = [];
  let timeMs = NOW_MS;
  for (let seq = 1; seq <= count; seq++) {
    timeMs += below(2000);
    const earlier = messages[messages.length - 1 - below(6)];
    if (random() < 0.05 && earlier !== undefined) {
      messages.push({ ...earlier, seq, timeMs });
      continue;
    }
    const origin = ORIGINS[below(ORIGINS.length)]!;
    const n = (numbers.get(origin) ?? 0) + 1;
    numbers.set(origin, n);
    const { frames, records } = framesOf(seq, below, random);
    messages.push({
      seq,
      timeMs,
      origin,
      n,
      count: records,
      frames,
      rules: MESSAGE_RULES_VERSION,
      isSealed: true,
    });
  }
  return messages;
}

function framesOf(seq: number, below: (max: number) => number, random: () => number) {
  const batch = new FrameBatch();
  const size = 1 + below(12);
  for (let index = 0; index < size; index++) {
    const kind = random();
    if (kind < 0.03) batch.addEvent(FRAME_KINDS.policy, Buffer.from(`{"policy":${seq}}`));
    else if (kind < 0.06) batch.addEvent(FRAME_KINDS.audit, Buffer.from(`{"event":"e${seq}"}`));
    else if (kind < 0.09) batch.addEvent(FRAME_KINDS.assessment, encodeAssessment(assessedAt(seq)));
    else {
      // One in three repeats an earlier id, and some of those say something else.
      const id = below(400);
      const stakes = random() < 0.05 ? 7777 : id + 0.5;
      const idempotencyKey = random() < 0.7 ? `order-${id}` : "";
      const outcomeId = outcomeIdOf(seq * 100 + index);
      batch.addOutcome(recordOf(id, { outcomeId, idempotencyKey, stakes }));
    }
  }
  const { bytes, count } = batch.drain();
  return { frames: Uint8Array.from(bytes), records: count };
}

/** Another digest than of any other message. */
function assessedAt(seq: number) {
  return assessed(seq, { digest: createHash("sha256").update(String(seq)).digest("hex") });
}

/** Journaling seals frames in place, so that every node needs its own. */
export function copyOf(messages: readonly OrderedMessage[]): OrderedMessage[] {
  return messages.map((message) => ({ ...message, frames: Uint8Array.from(message.frames) }));
}
