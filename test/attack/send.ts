// One request of the stage over node:http, whole: for what an operator or a well-behaved tenant asks. Attacks
// that send bytes of their own use wire.ts.
import { type Agent, request } from "node:http";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

interface Sending {
  agent: Agent;
  method: string;
  headers: Record<string, string>;
}

/** Sends a request and reads its reply as text. Rejects when the connection fails. */
export function send(url: string, options: Sending, body?: string | Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (piece: string) => (text += piece));
      reply.on("error", reject);
      reply.on("end", () => resolve({ status: reply.statusCode!, headers: reply.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
