// Port between an HTTP server and the application. An adapter owns sockets, framing, buffering and
// the pace of replies; the application owns routes, keys and texts. Neither sees the other's types,
// so the suite in test/http runs unchanged over every adapter.
import type { FaultCode } from "../../contract/faults.ts";
import type { ConnectionLimit } from "./connections.ts";
import { STATUS_CODES } from "node:http";

/**
 * Head of a request, given to the application before the body: copied out of the server's own
 * memory.
 */
export interface RequestHead {
  /** As received, in its case: methods are case-sensitive. */
  readonly method: string;
  /** Raw path without the query, neither decoded nor normalised. */
  readonly path: string;
  /** Raw query without `?`. May be empty for `POST` when the body is not kept. */
  readonly query: string;
  /**
   * Absent headers are undefined. A request that repeats one that must not be repeated never gets
   * here.
   */
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly accept: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly deadlineMs: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** `X-JWS-Signature`: a detached JWS over the raw body. */
  readonly signature: string | undefined;
  readonly wantsTiming: boolean;
  readonly host: string | undefined;
  /** Headers of a gateway about the request it asks for; only on the paths that read them. */
  readonly forwarded: ForwardedHeaders | undefined;
  /** Set for a request that another thread has received: the peer, and the id that it gave it. */
  readonly peerAddress?: string;
  readonly relayedId?: string;
}

/** Sender of a request; read only when needed, and only while the request is open. */
export interface Peer {
  /** Address of the other end of the connection, a proxy's where there is one. */
  address(): string;
}

/** Header lines by lower-case name; see FORWARDED_HEADERS. None was repeated. */
export type ForwardedHeaders = ReadonlyMap<string, string>;

/** Body that is sent part by part, at the pace of the client. */
export interface BodyStream {
  /** The next part, or undefined at the end. Rejects when the rest will not come. */
  next(): Promise<Uint8Array | undefined>;
  /** Ends it early; harmless after the end. */
  cancel(): void;
}

/** One complete reply. `Content-Length` is set by the adapter. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value; values hold no line breaks. */
  readonly headers: readonly string[];
  /**
   * Status and the same headers for an adapter that can write lines raw: the text after `HTTP/1.1
   * `, without the last line break. Only replies of the hot routes carry it; they build `headers`
   * on access. The bytes are valid until the next reply of this thread is made.
   */
  readonly headLines?: Uint8Array;
  readonly body: string | Uint8Array;
  /**
   * The same body for an adapter that writes it before it does anything else: bytes valid until the
   * next reply of this thread is made.
   */
  lentBody?(): Uint8Array;
  /** The body instead of `body`, without a length: chunked, and cut short when it fails. */
  readonly stream?: BodyStream;
}

/** The application's answer to a head: its needs before it can answer the request. */
export interface RequestAdmission {
  /** Set when the body no longer matters: sent once the body has been read and dropped. */
  readonly refusal: Reply | undefined;
  readonly bodyBytesMax: number;
  /**
   * False: `answer` has finished with the bytes when it returns, so the adapter may lend its
   * buffer.
   */
  readonly keepsBody: boolean;
  /** On whose account a body is kept that comes in pieces: the tenant of a proved key. */
  readonly sender: string;
  /** Never throws and never rejects. */
  answer(body: Buffer): Reply | Promise<Reply>;
  /** The reply when the adapter cannot take the body. */
  refuse(code: FaultCode, detail: string): Reply;
}

/** Application that an adapter serves. None of these methods throw. */
export interface HttpApplication {
  /**
   * Paths whose `POST` an adapter may match by itself, exactly; it passes on all else unchanged.
   */
  readonly exactPosts: readonly string[];
  /** Whether a `POST` to this path may come without a body and without its length. */
  isBodyOptional(path: string): boolean;
  admit(head: RequestHead, peer?: Peer): RequestAdmission;
  /** The reply for a request that an adapter refuses by itself (framing, size, overload). */
  refuse(code: FaultCode, detail: string, path: string): Reply;
  /** Called when a client disconnected before its reply. */
  onAborted(): void;
  /** Called with an unexpected error; the adapter has answered 500 by itself. */
  onFailure(error: unknown): void;
}

export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /**
   * Other threads of this process listen on the port too, and the system distributes connections
   * among them. Otherwise a second copy of the service is refused the port.
   */
  isPortShared?: boolean;
  /** False: host and port are not listened on. */
  isTcpWanted?: boolean;
  limits?: Partial<ServerLimits>;
  /** Counts this server's connections, bounded by itself. */
  connections: ConnectionLimit;
}

/** As the operator chooses; `auto` takes the native server where it loads. */
export const HTTP_ADAPTERS = ["auto", "uws", "node"] as const;
export type HttpAdapterName = (typeof HTTP_ADAPTERS)[number];

/** Limits an adapter enforces by itself, whatever the route. */
export interface ServerLimits {
  /** Requests whose body has begun but not ended, and their bytes; a quarter of each for a tenant. */
  pendingBodiesMax: number;
  pendingBodyBytesMax: number;
  headerBytesMax: number;
  /** Open connections; beyond it idle ones are closed, or new ones. */
  connectionsMax: number;
}

export const SERVER_LIMITS: ServerLimits = {
  pendingBodiesMax: 1024,
  pendingBodyBytesMax: 64 * 1024 * 1024,
  // A bearer key, traceparent, a proxy's headers and a signature fit in half of this.
  headerBytesMax: 8192,
  connectionsMax: 20_000,
};

export interface HttpServer {
  readonly adapter: "uws" | "node";
  readonly port: number;
  /** Requests accepted and not yet answered. */
  readonly inflight: number;
  readonly connections: ConnectionLimit;
  /** Listens on a socket of the file system too, made at this path: nothing may lie there. */
  listenAt(path: string): Promise<void>;
  /** From now on each reply ends its connection; new connections are still accepted. */
  drain(): void;
  /** Drains, and accepts no new connections. */
  stopAccepting(): void;
  /** Stops accepting, waits up to `graceMs` for requests in flight, then closes every socket. */
  close(graceMs?: number): Promise<void>;
}

export const CLOSE_GRACE_MS = 8000;

// Status lines, as both adapters send them.
const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase}`]),
);

/** `404 Not Found` for 404. */
export function formatStatusLine(status: number): string {
  return STATUS_LINES.get(status) ?? String(status);
}
