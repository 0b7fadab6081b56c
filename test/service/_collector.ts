// A collector of OTLP over HTTP for tests: takes spans as JSON on a real socket, and can be made to refuse.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly Attribute[];
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

/** Values by name. */
export function attributesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}

export async function openCollector() {
  const spans: CollectedSpan[] = [];
  const resources: Record<string, unknown>[] = [];
  const paths = new Set<string>();
  const headers: Record<string, unknown>[] = [];
  const state = { status: 200 };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const piece of request) text += String(piece);
    paths.add(`${request.method} ${request.url}`);
    headers.push(request.headers);
    response.writeHead(state.status, { "content-type": "application/json" }).end("{}");
    if (state.status !== 200) return;
    for (const { resource, scopeSpans } of (JSON.parse(text) as TraceRequest).resourceSpans) {
      resources.push(attributesOf(resource.attributes));
      spans.push(...scopeSpans.flatMap((scope) => scope.spans));
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    resources,
    paths,
    headers,
    state,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
