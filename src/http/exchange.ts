// One request in progress: its admission, its principal, and the completion of its reply. Handlers
// read from it; only application.ts makes it.
import type { CallContext } from "../bureau/bureau.ts";
import { type FaultCode, ServiceFault } from "../contract/faults.ts";
import type { Principal } from "../contract/principal.ts";
import { isBodyOptional } from "./optional-body.ts";
import { parseJson } from "../contract/parse/json.ts";
import { parseMsgpack } from "./codec/msgpack.ts";
import { parseBodyFormat, type WireFormat } from "./codec/negotiation.ts";
import { buildBodyReply, buildDocumentReply } from "./codec/reply.ts";
import { selectEchoedRequestId } from "./codec/request-id.ts";
import { parseTraceId } from "./codec/trace-context.ts";
import type { RequestAdmission, Peer, Reply, RequestHead } from "./server/port.ts";
import type { RequestObservation } from "./request-watch.ts";
import { type HttpServices, MISSING_SERVICE_DETAILS, type OptionalService } from "./services.ts";

/** Principal on routes that need no key. */
const ANONYMOUS_PRINCIPAL: Principal = {
  keyId: "",
  tenant: "",
  scopes: new Set(),
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 0,
};

/** The services, and the application's own steps for an exchange. */
export interface ExchangeServices extends HttpServices {
  answer(exchange: Exchange): Reply | Promise<Reply>;
  refuse(exchange: Exchange, fault: ServiceFault): Reply;
  /** Answers `head` as asked by `principal`, under the id of the request that it came in. */
  askAs(
    principal: Principal,
    head: RequestHead,
    body: Buffer,
    requestId: string,
  ): Reply | Promise<Reply>;
}

export class Exchange implements RequestAdmission {
  readonly services: ExchangeServices;
  readonly head: RequestHead;
  /** Our own id of the request, and of the decision that answers it. */
  readonly requestId: string;
  /** What the reply's `X-Request-Id` is: the caller's where it sent one. */
  readonly echoedId: string;
  /** The trace that it is part of, 32 hexadecimal digits; empty for none. */
  traceId: string;
  /** Set while it is watched (request-watch.ts). */
  watching: RequestObservation | undefined = undefined;
  /** Index of the route for metrics; one past the last route when none matched. */
  routeIndex: number;
  /** Set by the server that received it, while the connection's address can be read. */
  peer: Peer | undefined = undefined;
  parameter = "";
  principal: Principal = ANONYMOUS_PRINCIPAL;
  replyFormat: WireFormat = "json";
  body: Buffer = EMPTY;
  bodyBytesMax = 0;
  keepsBody = false;
  /** True once the answer had to be waited for. */
  isDelayed = false;
  /** True once a problem was answered in place of the handler's reply, which may still come. */
  hasFailed = false;
  refusal: Reply | undefined = undefined;
  /** Extra header lines of the reply: rate status, timing. */
  extraHeaders: readonly string[] | undefined = undefined;
  /** Monotonic ms when its body was whole and its answer began; -1 before that. */
  wholeMs = -1;
  /** Monotonic ms at admission; 0 when no clock was started. */
  startedMs = 0;
  /** Longest the answer may take, measured from `startedMs`. */
  deadlineMs = Number.POSITIVE_INFINITY;

  constructor(
    services: ExchangeServices,
    head: RequestHead,
    requestId: string,
    routeIndex: number,
  ) {
    this.services = services;
    this.head = head;
    this.requestId = requestId;
    this.echoedId = selectEchoedRequestId(head.requestId, requestId);
    this.traceId = head.traceparent === undefined ? "" : parseTraceId(head.traceparent);
    this.routeIndex = routeIndex;
  }

  /** Origin of the request, as known to the server; empty when it is no longer known. */
  peerAddress(): string {
    return this.head.peerAddress ?? this.peer?.address() ?? "";
  }

  get sender(): string {
    return this.principal.tenant;
  }

  answer(body: Buffer): Reply | Promise<Reply> {
    this.body = body;
    return this.services.answer(this);
  }

  refuse(code: FaultCode, detail: string): Reply {
    return this.services.refuse(this, new ServiceFault(code, detail));
  }

  /** The body as a value, by its media type; `{}` for an empty one that may be left out. */
  readDocument(): unknown {
    if (this.body.length === 0 && this.#isBodyOptional()) return {};
    const format = parseBodyFormat(this.head.contentType);
    return format === "json" ? parseJson(this.body) : parseMsgpack(this.body);
  }

  #isBodyOptional(): boolean {
    const route = this.services.routes[this.routeIndex];
    return route !== undefined && isBodyOptional(route);
  }

  /** Parameters of the query, decoded. An adapter may set the query after the admission. */
  get query(): URLSearchParams {
    return new URLSearchParams(this.head.query);
  }

  /**
   * A service that this process may run without.
   * @throws ServiceFault `not_found`.
   */
  require<Name extends OptionalService>(name: Name): NonNullable<HttpServices[Name]> {
    const service = this.services[name];
    if (service !== undefined) return service;
    throw new ServiceFault("not_found", MISSING_SERVICE_DETAILS[name]);
  }

  /** Writes an event to `audit_events`; resolves when it is durable. */
  async recordAuditEvent(event: string, tenant: string, detail: object): Promise<void> {
    const { notes, clock } = this.services;
    const { keyId: actor, via } = this.principal;
    const marked = via === undefined ? detail : { ...detail, via };
    const recorded_at = clock();
    await notes.recordNote("audit_events", { recorded_at, event, tenant, actor, detail: marked });
  }

  /** The body through a parser of plain JSON, which may decline; not called for other formats. */
  plainJson<Value>(parse: (bytes: Buffer) => Value | undefined): Value | undefined {
    return parseBodyFormat(this.head.contentType) === "json" ? parse(this.body) : undefined;
  }

  /** Context of the call for the bureau; a fresh object, safe to keep. */
  call(): CallContext {
    return { requestId: this.requestId, principal: this.principal, traceId: this.traceId };
  }

  /**
   * The path parameter, percent-decoded.
   * @throws ServiceFault `invalid_parameter`.
   */
  decodedParameter(): string {
    if (!this.parameter.includes("%")) return this.parameter;
    try {
      return decodeURIComponent(this.parameter);
    } catch {
      throw new ServiceFault("invalid_parameter", "the path is not valid percent-encoding");
    }
  }

  /** An uncacheable reply in the caller's format. */
  document(status: number, value: unknown): Reply {
    return buildDocumentReply(status, value, this.replyFormat, this.echoedId);
  }

  text(status: number, mediaType: string, body: string): Reply {
    return buildBodyReply(status, mediaType, body, this.echoedId);
  }
}

const EMPTY = Buffer.alloc(0);
