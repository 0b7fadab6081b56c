// Envoy's external authorization over gRPC, by grpc-js, of which this is the only file that knows.
// It owns sockets, bounds and the end; the question goes to the application of the main thread's
// HTTP server and takes the same path as `GET /v1/gateway/authorize`.
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from "@grpc/grpc-js";
import net from "node:net";
import type { HttpLogger } from "../services.ts";
import type { Peer, Reply, RequestHead } from "../server/port.ts";
import { type EnvoyCheckAnswer, buildCheckAnswer } from "./check-answer.ts";
import {
  GRPC_CALLS_MAX,
  GRPC_CONNECTIONS_MAX,
  GRPC_IDLE_MS,
  GRPC_MESSAGE_BYTES_MAX,
  GRPC_SESSION_MEGABYTES,
} from "./bounds.ts";
import type { CallerSource } from "./caller.ts";
import {
  type EnvoyCheckMessages,
  type EnvoyCheckRequest,
  type EnvoyCheckResponse,
  loadCheckMessages,
} from "./messages.ts";
import { buildRequestHead, type EnvoyCheckCall } from "./check-request.ts";
import { withDeadline } from "../../concurrency/deadline.ts";

const CHECK_PATH = "/envoy.service.auth.v3.Authorization/Check";

export interface ExtAuthzOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly source: CallerSource;
  /** The application's answer. Never throws and never rejects. */
  readonly ask: (head: RequestHead, peer: Peer) => Reply | Promise<Reply>;
  /** Epoch milliseconds of the system, by which grpc-js counts deadlines. */
  readonly systemClock: () => number;
  readonly logger: HttpLogger;
}

export interface ExtAuthzServer {
  readonly port: number;
  /** No new calls; those under way have up to `graceMs`, then every connection is cut. */
  close(graceMs: number): Promise<void>;
}

type GrpcServerCall = ServerUnaryCall<EnvoyCheckRequest, EnvoyCheckResponse>;

/** Listens, without TLS. Rejects when the port is taken. */
export async function listenExtAuthz(options: ExtAuthzOptions): Promise<ExtAuthzServer> {
  const server = new Server({
    "grpc.max_receive_message_length": GRPC_MESSAGE_BYTES_MAX,
    "grpc.max_concurrent_streams": GRPC_CALLS_MAX,
    "grpc.max_connection_idle_ms": GRPC_IDLE_MS,
    "grpc-node.max_session_memory": GRPC_SESSION_MEGABYTES,
    "grpc.enable_channelz": 0,
  });
  server.addService(defineCheckService(loadCheckMessages()), {
    check: (call: GrpcServerCall, callback: sendUnaryData<EnvoyCheckResponse>) =>
      handleExtAuthzCheck(options, call, callback),
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  // A listener of our own: grpc-js bounds no connections, and without channelz it cuts none.
  const sockets = new Set<net.Socket>();
  const listener = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  listener.maxConnections = GRPC_CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen({ host: options.host, port: options.port, exclusive: true }, () => {
      listener.off("error", reject);
      resolve();
    });
  });
  // From now on an error is a connection that could not be taken, no reason to end.
  listener.on("error", (error) =>
    options.logger.warn("grpc_accept_failed", { error: error.message }),
  );
  const { port } = listener.address() as net.AddressInfo;
  return {
    port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      await shutDownGracefully(server, graceMs);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function defineCheckService({ request, response }: EnvoyCheckMessages) {
  return {
    check: {
      path: CHECK_PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: request.encode,
      requestDeserialize: request.decode,
      responseSerialize: response.encode,
      responseDeserialize: response.decode,
    },
  } as const;
}

function handleExtAuthzCheck(
  options: ExtAuthzOptions,
  call: GrpcServerCall,
  callback: sendUnaryData<EnvoyCheckResponse>,
): void {
  const fail = (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    options.logger.error("grpc_call_failed", { error: text });
    callback({ code: status.INTERNAL, details: "internal: the failure is logged" });
  };
  try {
    const reply = options.ask(
      buildRequestHead(readCheckCall(call, options), options.source),
      createPeer(call),
    );
    if (reply instanceof Promise) void sendWhenSettled(reply, callback, fail);
    else sendCheckAnswer(buildCheckAnswer(reply), callback);
  } catch (error) {
    fail(error);
  }
}

async function sendWhenSettled(
  reply: Promise<Reply>,
  callback: sendUnaryData<EnvoyCheckResponse>,
  fail: (error: unknown) => void,
): Promise<void> {
  try {
    sendCheckAnswer(buildCheckAnswer(await reply), callback);
  } catch (error) {
    fail(error);
  }
}

function sendCheckAnswer(
  given: EnvoyCheckAnswer,
  callback: sendUnaryData<EnvoyCheckResponse>,
): void {
  if ("failure" in given) callback(given.failure);
  else callback(null, given.response);
}

function readCheckCall(call: GrpcServerCall, { systemClock }: ExtAuthzOptions): EnvoyCheckCall {
  return {
    request: call.request,
    metadata: (name) => call.metadata.get(name).map(String),
    remainingMs: Number(call.getDeadline()) - systemClock(),
  };
}

/** grpc-js has `address:port`. */
function createPeer(call: GrpcServerCall): Peer {
  return { address: () => call.getPeer().replace(/:\d+$/, "") };
}

/** Ends every connection once its calls are answered; resolves then, or after `graceMs`. */
async function shutDownGracefully(server: Server, graceMs: number): Promise<void> {
  const ended = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  await withDeadline(ended, graceMs, () => undefined);
  server.forceShutdown();
}
