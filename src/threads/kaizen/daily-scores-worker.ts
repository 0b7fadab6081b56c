// Worker entry of a replay of daily scores: reads the journal, folds it day by day into a private table, and sends
// every day's scores to the store. Changes nothing else.
import { type MessagePort, workerData } from "node:worker_threads";
import { decodeAgentKey } from "../../contract/identifiers.ts";
import { readOutcomeHistory } from "../../kaizen/replay/history.ts";
import type { OutcomeHistory } from "../../kaizen/replay/history.ts";
import { replayDays } from "../../kaizen/replay/daily-replay.ts";
import type { DailyScoresResult, DailyScoresTask } from "../../kaizen/service/daily-scores.ts";
import type { KaizenWorkerData } from "../../kaizen/service/worker-pool.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import type { MessageFromReplay, ReplyToReplay } from "../../store/daily-scores.ts";
import { openScoreSource } from "../score-source.ts";

/** Agents of one message. */
const AGENTS_PER_PART = 2048;

const { progress } = workerData as KaizenWorkerData;

const reportShare = (share: number) => Atomics.store(progress, 1, Math.round(share * 1000));

/** Sends to the store, one message at a time. */
function openStoreLink(port: MessagePort) {
  let settle: ((reply: ReplyToReplay) => void) | undefined;
  port.on("message", (reply: ReplyToReplay) => settle?.(reply));
  port.on("close", () => settle?.({ fault: "the store has ended" }));
  return async (message: MessageFromReplay): Promise<ReplyToReplay> => {
    const replied = new Promise<ReplyToReplay>((resolve) => (settle = resolve));
    port.postMessage(message);
    const reply = await replied;
    if (reply.fault !== undefined) throw new Error(reply.fault);
    return reply;
  };
}

function listAgents({ agents, assessments }: OutcomeHistory): string[] {
  const keys = new Set([...agents, ...assessments.map(({ assessment }) => assessment.agent)]);
  return [...keys].map(decodeAgentKey);
}

/** The task function that the pool calls. */
export default async function runDailyScoresTask(
  task: DailyScoresTask,
): Promise<DailyScoresResult> {
  lowerThreadPriority();
  const { journal, uptoLsn, fromDay, endDay, port } = task;
  const send = openStoreLink(port);
  try {
    const history = readOutcomeHistory(journal, uptoLsn, (share) => reportShare(share / 4));
    const { sampled = [], share = 1 } = await send({ kind: "agents", agents: listAgents(history) });
    const wanted = new Set(sampled);
    const isWanted = share === 1 ? undefined : (agent: string) => wanted.has(agent);
    const result = { days: 0, rows: 0, firstDay: 0 };
    for (const { day, readAtMs, memory } of replayDays(history, task)) {
      const source = openScoreSource(memory);
      for (let first = 0; first < source.agentCount; first += AGENTS_PER_PART) {
        const rows = source.read(first, AGENTS_PER_PART, readAtMs, isWanted);
        result.rows += rows.length;
        await send({ kind: "rows", rows });
      }
      await send({ kind: "day", day, readAtMs, position: uptoLsn, share });
      if (result.days++ === 0) result.firstDay = day;
      reportShare(1 / 4 + (3 / 4) * ((day + 1 - fromDay) / (endDay - fromDay)));
    }
    await send({ kind: "end" });
    return result;
  } finally {
    port.close();
  }
}
