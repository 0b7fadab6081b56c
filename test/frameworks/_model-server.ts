// Local model server: speaks the chat completions API of OpenAI on loopback, whole and streamed. Scripted: the
// first answer to a prompt that names an agent calls the tool `transfer` for it; once the tool has answered, done.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export interface ModelServer {
  /** Ends in `/v1`, as clients of the API want it. */
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startModelServer(): Promise<ModelServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    response.writeHead(404).end();
    return;
  }
  const { stream = false, messages } = JSON.parse(await text(request)) as ChatRequest;
  const message = chooseMessage(messages);
  const finish = message.tool_calls === undefined ? "stop" : "tool_calls";
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const reply = { id: "chat-1", created: 0, model: "local", usage };
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ ...reply, object: "chat.completion", choices }));
    return;
  }
  response.setHeader("Content-Type", "text/event-stream");
  for (const [delta, reason] of [
    [message, null],
    [{}, finish],
  ]) {
    const choices = [{ index: 0, delta, finish_reason: reason }];
    const chunk = { ...reply, object: "chat.completion.chunk", choices };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

interface ChatMessage {
  readonly role: "assistant";
  readonly content: string | null;
  readonly tool_calls?: readonly object[];
}

function chooseMessage(messages: ChatRequest["messages"]): ChatMessage {
  const isAnswered = messages.at(-1)?.role === "tool";
  const [counterparty] = /agent:\/\/test\/\w+/.exec(JSON.stringify(messages)) ?? [];
  if (isAnswered || counterparty === undefined) return { role: "assistant", content: "done" };
  const input = JSON.stringify({ counterparty, amount: 40 });
  const id = `call-${counterparty.split("/").at(-1)}`;
  const call = { index: 0, id, type: "function", function: { name: "transfer", arguments: input } };
  return { role: "assistant", content: null, tool_calls: [call] };
}
