// Daily scores of a replay, as they come from its thread: each day replaces what is on record for it, in the
// rows and in the file that keeps them.
import type { MessagePort } from "node:worker_threads";
import { recordProjectionProgress } from "./decisions/projector.ts";
import { type JournalFollower, tryCheckpoint } from "./journal-follower.ts";
import { inTransaction } from "./rows/outcomes.ts";
import { replaceDailyScores, selectSampledAgents, type ScoreRow } from "./rows/scores.ts";
import { SAMPLED_AGENTS_MAX } from "./score-refresh.ts";

/** Messages of the replay; each is answered before the next is sent. */
export type MessageFromReplay =
  /** All agents of the history: which of them are wanted? */
  | { kind: "agents"; agents: string[] }
  /** Some rows of the next day. */
  | { kind: "rows"; rows: ScoreRow[] }
  /** All rows of this day are there (since 1970; read at that time, epoch ms): it can be put on record. */
  | { kind: "day"; day: number; readAtMs: number; position: number; share: number }
  | { kind: "end" };

/** `sampled` answers `agents`; `fault`: nothing more is taken. */
export interface ReplyToReplay {
  readonly sampled?: string[];
  readonly share?: number;
  readonly fault?: string;
}

export class DailyScoreWriter {
  readonly #core: JournalFollower;
  readonly #agentsMax: number;
  /** Of the database that the replay began with. */
  #rebuildCount: number | undefined;
  #rows: ScoreRow[] = [];

  /** @param agentsMax of more agents the daily scores are a sample. */
  constructor(core: JournalFollower, agentsMax = SAMPLED_AGENTS_MAX) {
    this.#core = core;
    this.#agentsMax = agentsMax;
  }

  /** Serves one replay until its port closes. */
  serve(port: MessagePort): void {
    port.on("message", (message: MessageFromReplay) => {
      this.take(message).then(
        (reply) => port.postMessage(reply),
        (error: unknown) => {
          const reply: ReplyToReplay = { fault: String(error) };
          port.postMessage(reply);
        },
      );
    });
  }

  /** Rejects with the error of the database, or when it was made anew since the replay began. */
  async take(message: MessageFromReplay): Promise<ReplyToReplay> {
    const core = this.#core;
    this.#rebuildCount ??= core.rebuildCount;
    if (core.rebuildCount !== this.#rebuildCount)
      throw new Error("the database was rebuilt meanwhile");
    if (message.kind === "agents") return this.#selectAgents(message.agents);
    if (message.kind === "rows") this.#rows.push(...message.rows);
    else if (message.kind === "day") await this.#writeDay(message);
    else await core.write(tryCheckpoint);
    return {};
  }

  async #selectAgents(agents: readonly string[]): Promise<ReplyToReplay> {
    let reply: ReplyToReplay = {};
    await this.#core.write(async (writer) => {
      reply = await selectSampledAgents(writer, agents, this.#agentsMax);
    });
    return reply;
  }

  async #writeDay({ day, readAtMs: nowMs, position, share }: DayMessage): Promise<void> {
    const rows = this.#rows.splice(0);
    const { keptRows } = this.#core;
    const file = keptRows.formatName("scores", day);
    await this.#core.write(async (writer) => {
      await inTransaction(writer, async () => {
        await replaceDailyScores(writer, { day, share, position, nowMs }, rows);
        await recordProjectionProgress(writer, file, 0, true);
      });
      await keptRows.save(writer, "scores", day, `day = DATE '1970-01-01' + ${day}`);
    });
  }
}

type DayMessage = Extract<MessageFromReplay, { kind: "day" }>;
