// Questions to all nodes over NATS, beside the log. A reply is sealed together with its question and a nonce of who asks,
// so that no other client can make it, nor replay an earlier reply of a node.
import { randomBytes } from "node:crypto";
import type { NodePolling } from "./applied-nodes.ts";
import {
  buildMessageHeaders,
  type LogConnection,
  type RepliableMessage,
} from "./nats-connection.ts";
import type { LogSeals } from "./seal.ts";

const NONCE = "Tr-Nonce";
const SEAL = "Tr-Seal";
const NONCE_BYTES = 16;
/** Replies looked at for each that is wanted: another client may send any number of them. */
const REPLIES_LOOKED_AT = 100;

export interface NatsPollingOptions {
  readonly connection: Pick<LogConnection, "requestMany" | "subscribe">;
  readonly subject: string;
  /** Left out: replies carry no seals. */
  readonly seals: LogSeals | undefined;
  /** Whether only sealed replies count. */
  readonly isSealDemanded: () => boolean;
}

export class NatsPolling implements NodePolling {
  readonly #options: NatsPollingOptions;

  constructor(options: NatsPollingOptions) {
    this.#options = options;
  }

  async collectReplies(question: string, countMax: number, ms: number): Promise<readonly string[]> {
    const { connection, subject, isSealDemanded } = this.#options;
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    const replies = new Set<string>();
    const messages = await connection.requestMany(subject, question, {
      strategy: "count",
      maxMessages: countMax * REPLIES_LOOKED_AT,
      maxWait: ms,
      headers: buildMessageHeaders({ [NONCE]: nonce }),
    });
    for await (const message of messages) {
      const text = message.string();
      const seal = message.headers?.get(SEAL) ?? "";
      if (text === "" || (isSealDemanded() && !this.#isSealed([question, nonce, text], seal)))
        continue;
      replies.add(text);
      if (replies.size >= countMax) break;
    }
    return [...replies];
  }

  serveReplies(reply: (question: string) => Promise<string | undefined>): void {
    const { connection, subject, seals } = this.#options;
    const respond = async (message: RepliableMessage) => {
      const question = message.string();
      const nonce = message.headers?.get(NONCE) ?? "";
      const text = await reply(question);
      if (text === undefined) return;
      const seal = seals?.computeSeal(["reply", subject, question, nonce, text]) ?? "";
      message.respond(text, { headers: buildMessageHeaders({ [SEAL]: seal }) });
    };
    connection.subscribe(subject, { callback: (_error, message) => void respond(message) });
  }

  #isSealed(parts: readonly [question: string, nonce: string, text: string], seal: string) {
    const { seals, subject } = this.#options;
    return seals?.isSealed(["reply", subject, ...parts], seal) ?? false;
  }
}
