// MCP server over a running service: the only file that imports the MCP SDK. One server a connection
// over standard input and output; over HTTP one a request, which brings the caller's own key.
import http from "node:http";
import type { AddressInfo } from "node:net";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describeError, TrustRankError } from "../client/errors.ts";
import { type FetchLike, callGlobalFetch } from "../client/runtime.ts";
import { createRequestSender } from "../client/nodes/fail-over.ts";
import type { SendOptions, RequestSender } from "../client/transport.ts";
import { MCP_RESOURCES, listTools, type McpTool } from "./tools.ts";

/** Where the service is, and what is offered of it. */
export interface McpOptions {
  /** Several: the nodes of one bureau. */
  readonly baseUrl: string | readonly string[];
  /** Requests go out by it; by the platform's own unless given. */
  readonly fetch?: FetchLike;
  readonly version: string;
  /** Offers `report_outcome` too. */
  readonly allowsReports: boolean;
}

/** Largest body of a request over HTTP; an outcome is far smaller. */
const BODY_BYTES_MAX = 64 * 1024;
const MCP_PATH = "/mcp";
/** Subscriptions are refused: tools and resources do not change while the server runs. */
const NO_SUBSCRIPTIONS = { maxSubscriptions: 0 };

/** One for all callers: what it knows of the nodes is nobody's in particular. */
const createServiceSender = ({ baseUrl, fetch = callGlobalFetch }: McpOptions) =>
  createRequestSender({ baseUrl, apiKey: undefined, fetch });

function bindApiKey(sender: RequestSender, apiKey: string): RequestSender {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const own = (call: SendOptions) => ({ ...call, headers: { ...call.headers, ...headers } });
  return {
    post: (path, body, call) => sender.post(path, body, own(call)),
    send: (method, path, body, call) => sender.send(method, path, body, own(call)),
    reach: (call) => sender.reach(call),
  };
}

function createMcpServer({ version, allowsReports }: McpOptions, service: RequestSender): Server {
  const tools = listTools(allowsReports);
  const capabilities = { tools: {}, resources: {} };
  const server = new Server({ name: "trustrank", version }, { capabilities });
  server.setRequestHandler("tools/list", () => ({
    tools: tools.map(({ name, title, description, inputSchema, isReadOnly }) => ({
      name,
      title,
      description,
      inputSchema,
      annotations: { title, readOnlyHint: isReadOnly, destructiveHint: false, openWorldHint: true },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool \`${params.name}\``,
      );
    }
    try {
      const value = await tool.call(service, params.arguments ?? {});
      const text = JSON.stringify(value, undefined, 1);
      const structuredContent = value as Record<string, unknown>;
      return { content: [{ type: "text", text }], structuredContent };
    } catch (error) {
      return {
        isError: true,
        content: [{ type: "text", text: describeServiceError(error, tool) }],
      };
    }
  });
  server.setRequestHandler("resources/list", () => ({
    resources: MCP_RESOURCES.map(({ uri, name, description }) => {
      return { uri, name, description, mimeType: "application/json" };
    }),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const resource = MCP_RESOURCES.find((known) => known.uri === uri);
    if (resource === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no resource \`${uri}\``);
    }
    try {
      const text = JSON.stringify(await resource.read(service), undefined, 1);
      return { contents: [{ uri, mimeType: "application/json", text }] };
    } catch (error) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, describeServiceError(error));
    }
  });
  return server;
}

/** The service's own words, with the arguments at fault by their names, for a model to correct its question. */
function describeServiceError(error: unknown, tool?: McpTool): string {
  if (!(error instanceof TrustRankError)) return "the question failed";
  return describeError(error, (pointer) => {
    const [name = "", ...rest] = pointer.slice(1).split("/");
    return [tool?.argumentNames?.[name] ?? name, ...rest].join("/");
  });
}

/** Serves one client on standard input and output until it hangs up. */
export async function serveMcpStdio(options: McpOptions, apiKey: string): Promise<void> {
  const service = bindApiKey(createServiceSender(options), apiKey);
  const connection = serveStdio(() => createMcpServer(options, service), NO_SUBSCRIPTIONS);
  await new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
    process.stdout.once("error", () => resolve());
  });
  await connection.close();
}

/** A listening MCP face. */
export interface McpListener {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves streamable HTTP on `host` and `port` (0: any free one), without sessions. Every request
 * brings its own API key as bearer token: this face lends nobody a key.
 */
export async function serveMcpHttp(
  options: McpOptions,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<McpListener> {
  const answer = createMcpResponder(options);
  const server = http.createServer((request, response) => {
    handleMcpRequest(answer, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}${MCP_PATH}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type McpResponder = (request: Request, apiKey: string, body: unknown) => Promise<Response>;

/**
 * Answers one request in its own protocol revision. Revisions up to 2025-11-25 are named by a handshake or a header,
 * later ones in every request.
 */
function createMcpResponder(options: McpOptions): McpResponder {
  const sender = createServiceSender(options);
  const createServer = (apiKey: string) => createMcpServer(options, bindApiKey(sender, apiKey));
  const handler = createMcpHandler(({ authInfo }) => createServer(authInfo!.token), {
    ...NO_SUBSCRIPTIONS,
    legacy: "reject",
  });
  return async (request, apiKey, parsedBody) => {
    if (!(await isLegacyRequest(request, parsedBody))) {
      const authInfo = { token: apiKey, clientId: "", scopes: [] };
      return handler.fetch(request, { authInfo, parsedBody });
    }
    const server = createServer(apiKey);
    // The SDK's own handler for these revisions would answer with an event stream.
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    request.signal.addEventListener("abort", () => void server.close());
    await server.connect(transport);
    return transport.handleRequest(request, { parsedBody });
  };
}

async function handleMcpRequest(
  answer: McpResponder,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const refuse = (status: number, detail: string, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    const error = { code: -32_000, message: detail };
    response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
  };
  // A page of another site must not use the reader's network: browsers name it in `Origin`.
  if (request.headers.origin !== undefined) return refuse(403, "no requests from web pages");
  if (request.url?.split("?")[0] !== MCP_PATH) return refuse(404, `the only path is ${MCP_PATH}`);
  if (request.method !== "POST") return refuse(405, "only POST", { Allow: "POST" });
  const [, apiKey] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
  if (apiKey === undefined) {
    return refuse(401, "an API key as bearer token is needed", { "WWW-Authenticate": "Bearer" });
  }
  const text = await readRequestBody(request);
  if (text === undefined) return refuse(413, `a request has at most ${BODY_BYTES_MAX} bytes`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refuse(400, "the request is not JSON");
  }
  const hangUp = new AbortController();
  response.once("close", () => hangUp.abort());
  const webRequest = new Request(`http://localhost${MCP_PATH}`, {
    method: "POST",
    headers: request.headers as Record<string, string>,
    signal: hangUp.signal,
  });
  const answered = await answer(webRequest, apiKey, body);
  response.statusCode = answered.status;
  response.setHeaders(answered.headers);
  response.end(await answered.text());
}

async function readRequestBody(request: http.IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.byteLength;
    if (bytes > BODY_BYTES_MAX) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
