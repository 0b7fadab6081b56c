// Batches of a thousand evaluations over eight connections at once, beside one caller with single
// questions.
import type { Attack } from "../attack.ts";
import { type AttackStage, figuresOf } from "../stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";

const CONNECTIONS = 8;
const ITEMS = 1000;
const LASTS_MS = 15_000;
const LASTS_SHORT_MS = 3000;
/** Of the other's p99 during the attack to that before it: in one piece each, eight batches made 11. */
const RATIO_MAX = 5;
/** Added, so that a calm machine's millisecond is no measure. */
const SLACK_MS = 20;

export const longBatches: Attack = {
  name: "long-batches",
  what: "eight connections ask a thousand evaluations at a time, without a pause",
  async play(stage) {
    const service = await stage.start();
    const key = await stage.makeKey(service, "batches", ["score:read"]);
    let batches = 0;
    const watched = await stage.watch(service, async () => {
      const untilMs = performance.now() + (stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
      const ask = async () => {
        while (performance.now() < untilMs) {
          if (await evaluate(stage, service, key)) batches++;
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, ask));
    });
    const broken: string[] = [];
    if (watched.during.failed > 0) broken.push(`${watched.during.failed} questions failed`);
    const p99 = watched.during.p99;
    if (p99 > RATIO_MAX * watched.before.p99 + SLACK_MS) {
      broken.push(`the other's p99 was ${Math.round(p99)} ms`);
    }
    return { broken, figures: { ...figuresOf(watched), batches_answered: batches } };
  },
};

/** Whether it was answered in time; on a machine that has no time left it is told to come back. */
async function evaluate(stage: AttackStage, service: ServerProcess, key: string): Promise<boolean> {
  const evaluations = Array.from({ length: ITEMS }, (_, n) => ({
    subject: { type: "agent", id: `agent://shop/seller-${n % 50}` },
  }));
  const body = {
    action: { name: "order.place" },
    resource: { type: "order", id: "1" },
    context: {},
    evaluations,
  };
  const reply = await stage.ask(service, "/access/v1/evaluations", { key, body });
  if (reply.status !== 200 && reply.status !== 503) {
    throw new Error(`evaluations: ${reply.status} ${reply.text}`);
  }
  return reply.status === 200;
}
