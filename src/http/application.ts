// HTTP application behind the server port: admits a request (route, key, scope, rate, deadline),
// answers it, turns every fault into a problem and counts the reply. Guards run in this order for
// every route; handlers hold no copy of it.
import { type FaultCode, ServiceFault } from "../contract/faults.ts";
import { BODY_BYTES_MAX } from "../contract/limits.ts";
import { Exchange, type ExchangeServices } from "./exchange.ts";
import type { Keyring } from "./access/keyring.ts";
import { assertDecidedKey } from "./access/lag-guard.ts";
import { RequestRecorder } from "./metrics/recorder.ts";
import type { Principal } from "../contract/principal.ts";
import { isBodyOptional } from "./optional-body.ts";
import { ApiDocumentation } from "./openapi/api-documentation.ts";
import { assertIdentityEncoding, negotiateReplyFormat } from "./codec/negotiation.ts";
import { EventLoopYield } from "./event-loop-yield.ts";
import { RateLimiter } from "./access/rate-limits.ts";
import { buildFaultReply, dropOverriddenHeaders } from "./codec/reply.ts";
import { RequestIdGenerator } from "./codec/request-id.ts";
import type { RequestWatch } from "./request-watch.ts";
import { ASYNC_DEADLINE_MS, isExactPathPost, type Route, RouteTable } from "./route.ts";
import type { RequestAdmission, HttpApplication, Peer, Reply, RequestHead } from "./server/port.ts";
import { LoadShedder } from "./load-shedder.ts";
import type { HttpDependencies, HttpLogger } from "./services.ts";
import { enforceQuota } from "./access/quotas.ts";
import { UsageMeter } from "./access/usage.ts";
import { withDeadline } from "../concurrency/deadline.ts";

/** Asynchronous answers under way before new ones are shed. */
const PENDING_ANSWERS_MAX = 10_000;
const UNMATCHED_ROUTE = "unmatched";
const DEADLINE_PATTERN = /^[0-9]{1,7}$/;

export class Application implements HttpApplication {
  isDraining = false;
  readonly exactPosts: readonly string[];
  readonly services: ExchangeServices;
  readonly turningAway: LoadShedder;
  readonly #table: RouteTable;
  readonly #metrics: RequestRecorder;
  readonly #limiter: RateLimiter;
  readonly #requestIds: RequestIdGenerator;
  readonly #keyring: Keyring;
  readonly #logger: HttpLogger;
  readonly #monotonic: () => number;
  readonly #estimates: DurationEstimate[];
  readonly #watch: RequestWatch | undefined;
  #pendingCount = 0;

  constructor(dependencies: HttpDependencies, routes: readonly Route[]) {
    this.#table = new RouteTable(routes);
    this.exactPosts = routes
      .filter(
        ({ method, path, isSynchronous }) =>
          isExactPathPost(method, path) && isSynchronous === true,
      )
      .map((route) => route.path);
    const names = [...routes.map((route) => route.name), UNMATCHED_ROUTE];
    this.#metrics = new RequestRecorder(names, dependencies.tallies);
    this.#limiter = new RateLimiter(
      dependencies.rateLimits ?? {},
      dependencies.clock,
      dependencies.rateBuckets,
    );
    this.#requestIds = new RequestIdGenerator(dependencies.clock);
    this.#keyring = dependencies.keyring;
    this.#logger = dependencies.logger;
    this.#watch = dependencies.watch;
    this.#monotonic = dependencies.monotonic ?? (() => performance.now());
    this.#estimates = routes.map(() => new DurationEstimate());
    this.services = this.#makeServices(dependencies);
    this.turningAway = new LoadShedder(this.#table, this.services);
  }

  isBodyOptional(path: string): boolean {
    const index = this.#table.match(path)?.methods.byMethod.get("POST");
    return index !== undefined && isBodyOptional(this.#table.routes[index] as Route);
  }

  admit(head: RequestHead, peer?: Peer): RequestAdmission {
    const { queue } = this.turningAway;
    queue.asked += 1;
    if (queue.isBusy) {
      const turnedAway = this.turningAway.refuseIfOverloaded(head);
      if (turnedAway !== undefined) return turnedAway;
    }
    const requestId = head.relayedId ?? this.#requestIds.next();
    const unmatched = this.#table.routes.length;
    const exchange = new Exchange(this.services, head, requestId, unmatched);
    exchange.peer = peer;
    this.#watch?.begin(exchange);
    try {
      this.#guard(exchange, undefined);
    } catch (thrown) {
      exchange.bodyBytesMax = BODY_BYTES_MAX;
      exchange.refusal = this.#finish(exchange, this.#problem(exchange, thrown));
    }
    return exchange;
  }

  refuse(code: FaultCode, detail: string, path: string): Reply {
    this.#metrics.refusedFraming += 1;
    const id = this.#requestIds.next();
    return buildFaultReply(new ServiceFault(code, detail), path, { requestId: id, echoedId: id });
  }

  onAborted(): void {
    this.#metrics.aborted += 1;
  }

  onFailure(error: unknown): void {
    this.#logger.error("adapter failure", { error: describeError(error) });
  }

  /** Guards in order: route, authentication, lag, authorisation, rate limit, quota, deadline. */
  #guard(exchange: Exchange, known: Principal | undefined): void {
    const { head } = exchange;
    const match = this.#table.match(head.path);
    if (match === undefined) throw new ServiceFault("not_found", "no route has this path");
    const index = match.methods.byMethod.get(head.method);
    if (index === undefined) {
      exchange.extraHeaders = ["Allow", match.methods.allow];
      const detail = `this path takes ${match.methods.allow}`;
      throw new ServiceFault("method_not_allowed", detail);
    }
    const route = this.#table.routes[index] as Route;
    exchange.routeIndex = index;
    exchange.parameter = match.parameter;
    exchange.bodyBytesMax = route.body?.bytesMax ?? BODY_BYTES_MAX;
    exchange.keepsBody = route.isSynchronous !== true;
    if (route.body !== undefined) assertIdentityEncoding(head.contentEncoding);
    if (known !== undefined) exchange.principal = known;
    if (route.access !== "none") this.#authorize(exchange, route, known);
    if (route.rateClass !== undefined) this.#limit(exchange, route.rateClass);
    if (route.rateClass === "score" || route.isPaidRead === true) {
      enforceQuota(this.services.quotaGuard, exchange);
    }
    if (route.isFixedFormat !== true) exchange.replyFormat = negotiateReplyFormat(head.accept);
    if (head.wantsTiming || head.deadlineMs !== undefined || route.isSynchronous !== true) {
      this.#startClock(exchange, route);
    }
  }

  #authorize(exchange: Exchange, route: Route, known: Principal | undefined): void {
    const principal = known ?? this.#keyring.authenticate(exchange.head.authorization);
    if (principal === undefined) {
      const detail = "send `Authorization: Bearer` and a key that is valid now";
      assertDecidedKey(this.services, exchange.head.authorization);
      throw new ServiceFault("unauthenticated", detail);
    }
    exchange.principal = principal;
    exchange.extraHeaders = this.services.lagGuard?.assertCurrent(principal, route.rateClass);
    const { access } = route;
    if (access === "none" || access === "key" || principal.scopes.has(access)) return;
    if (principal.scopes.has("admin")) return;
    throw new ServiceFault("insufficient_scope", `this route needs the scope \`${access}\``);
  }

  #limit(exchange: Exchange, rateClass: NonNullable<Route["rateClass"]>): void {
    const rateStatus = this.#limiter.take(exchange.principal, rateClass, 1);
    if (rateStatus === undefined) return;
    const { headers, retryAfterSec } = rateStatus;
    exchange.extraHeaders = exchange.extraHeaders?.concat(headers) ?? headers;
    if (retryAfterSec === undefined) return;
    exchange.extraHeaders = exchange.extraHeaders.concat("Retry-After", String(retryAfterSec));
    const holder = rateClass === "outcomes" ? "tenant" : "key";
    throw new ServiceFault("rate_limited", `the ${holder}'s limit for \`${rateClass}\` is used up`);
  }

  /** Deadline of the route, shortened by `X-Deadline-Ms`; refuses now if it cannot be met. */
  #startClock(exchange: Exchange, route: Route): void {
    exchange.startedMs = this.#monotonic();
    if (route.isSynchronous !== true) {
      exchange.deadlineMs = route.deadlineMs ?? ASYNC_DEADLINE_MS;
      if (this.#pendingCount >= PENDING_ANSWERS_MAX) {
        throw new ServiceFault("overloaded", "too many requests are under way");
      }
    }
    const header = exchange.head.deadlineMs;
    if (header === undefined) return;
    if (!DEADLINE_PATTERN.test(header)) {
      throw new ServiceFault("invalid_parameter", "`x-deadline-ms` must be whole milliseconds");
    }
    exchange.deadlineMs = Math.min(exchange.deadlineMs, Number(header));
    const estimate = this.#estimates[exchange.routeIndex] as DurationEstimate;
    if (exchange.deadlineMs === 0 || estimate.isBeyond(exchange.deadlineMs)) {
      throw new ServiceFault("deadline_exceeded", "the answer would come too late");
    }
  }

  /** Answers a request within another one, on behalf of somebody who was proved otherwise. */
  #askAs(principal: Principal, head: RequestHead, body: Buffer, requestId: string) {
    const exchange = new Exchange(this.services, head, requestId, this.#table.routes.length);
    try {
      this.#guard(exchange, principal);
    } catch (thrown) {
      return this.#finish(exchange, this.#problem(exchange, thrown));
    }
    if (body.length <= exchange.bodyBytesMax) return exchange.answer(body);
    const detail = `the body may be at most ${exchange.bodyBytesMax} bytes`;
    return exchange.refuse("body_too_large", detail);
  }

  #answer(exchange: Exchange): Reply | Promise<Reply> {
    exchange.wholeMs = this.#monotonic();
    const route = this.#table.routes[exchange.routeIndex] as Route;
    let reply: Reply | Promise<Reply>;
    try {
      reply = route.handle(exchange);
    } catch (thrown) {
      reply = this.#problem(exchange, thrown);
    }
    if (!(reply instanceof Promise)) return this.#finish(exchange, reply);
    return this.#answerLater(exchange, route, reply);
  }

  async #answerLater(exchange: Exchange, route: Route, answer: Promise<Reply>): Promise<Reply> {
    this.#pendingCount += 1;
    // A synchronous route with an asynchronous answer (`agent://test/slow`) has started no clock.
    const startedMs = exchange.startedMs === 0 ? exchange.wholeMs : exchange.startedMs;
    const deadlineMs = Math.min(exchange.deadlineMs, route.deadlineMs ?? ASYNC_DEADLINE_MS);
    const waitMs = Math.max(0, deadlineMs - (this.#monotonic() - startedMs));
    let reply: Reply;
    try {
      reply = await withReplyDeadline(answer, waitMs);
    } catch (thrown) {
      exchange.hasFailed = true;
      reply = this.#problem(exchange, thrown);
    } finally {
      this.#pendingCount -= 1;
    }
    if (route.isLongPoll !== true) {
      this.#estimates[exchange.routeIndex]?.add(this.#monotonic() - startedMs);
    }
    return this.#finish(exchange, reply);
  }

  /** Problem of a fault; any other error is `internal`, with its details in the log only. */
  #problem(exchange: Exchange, thrown: unknown): Reply {
    const { path } = exchange.head;
    if (thrown instanceof ServiceFault) {
      const { code, detail } = thrown;
      this.#countFault(exchange, code);
      this.services.refusals?.countRefusal(exchange, code);
      this.#logger.debug?.("request_refused", {
        ...this.#describeExchange(exchange),
        code,
        detail,
      });
      return buildFaultReply(thrown, path, exchange);
    }
    this.#countFault(exchange, "internal");
    this.#logger.error("request failed", {
      ...this.#describeExchange(exchange),
      error: describeError(thrown),
    });
    const fault = new ServiceFault("internal", "the failure is logged under this request id");
    return buildFaultReply(fault, path, exchange);
  }

  /** What a log line about a request begins with. */
  #describeExchange({ requestId, routeIndex, traceId, principal: { tenant } }: Exchange) {
    const route = this.#table.routes[routeIndex]?.name ?? UNMATCHED_ROUTE;
    // Members that are undefined are no members of a line.
    const known = { tenant: tenant || undefined, trace_id: traceId || undefined };
    return { request_id: requestId, route, ...known };
  }

  #countFault({ routeIndex }: Exchange, code: FaultCode): void {
    this.#metrics.tallies.countFault(code);
    const { rateClass } = this.#table.routes[routeIndex] ?? {};
    if (rateClass === "outcomes") this.#metrics.tallies.refuseOutcome(code);
  }

  #finish(exchange: Exchange, reply: Reply): Reply {
    const { routeIndex, wholeMs } = exchange;
    this.#metrics.countRequest(routeIndex, reply.status);
    this.#watch?.end(exchange, reply);
    if (wholeMs >= 0) {
      this.#metrics.timeRequest(routeIndex, reply.status, this.#monotonic() - wholeMs);
    }
    const { extraHeaders } = exchange;
    const wantsTiming = exchange.head.wantsTiming && exchange.startedMs !== 0;
    if (extraHeaders === undefined && !wantsTiming) return reply;
    const headers = [
      ...dropOverriddenHeaders(reply.headers, extraHeaders),
      ...(extraHeaders ?? []),
    ];
    if (wantsTiming) {
      const elapsedMs = this.#monotonic() - exchange.startedMs;
      headers.push("Server-Timing", `app;dur=${elapsedMs.toFixed(3)}`);
    }
    const { status, body, stream } = reply;
    return stream === undefined ? { status, headers, body } : { status, headers, body, stream };
  }

  #makeServices(dependencies: HttpDependencies): ExchangeServices {
    const [pendingCount, isDraining] = [() => this.#pendingCount, () => this.isDraining];
    return {
      ...dependencies,
      metrics: this.#metrics,
      tallies: this.#metrics.tallies,
      usage: dependencies.usage ?? new UsageMeter({ now: dependencies.clock }),
      limiter: this.#limiter,
      requestIds: this.#requestIds,
      turns: new EventLoopYield(),
      routes: this.#table.routes,
      pages: new ApiDocumentation(this.#table.routes, dependencies.version),
      answer: (exchange) => this.#answer(exchange),
      askAs: (...asked) => this.#askAs(...asked),
      refuse: (exchange, fault) => this.#finish(exchange, this.#problem(exchange, fault)),
      get isDraining() {
        return isDraining();
      },
      get pendingCount() {
        return pendingCount();
      },
    };
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

// Estimated duration of a route's asynchronous replies, to reject a deadline that cannot be met. It decays with each
// rejection, so that a slow hour cannot lock callers out: with nothing admitted there is nothing to measure.
const SAMPLE_WEIGHT = 0.1;
const REFUSAL_DECAY = 0.9;

export class DurationEstimate {
  #ms = 0;

  add(elapsedMs: number): void {
    this.#ms += (elapsedMs - this.#ms) * SAMPLE_WEIGHT;
  }

  /** True when an answer within `deadlineMs` is not to be expected. */
  isBeyond(deadlineMs: number): boolean {
    if (this.#ms <= deadlineMs) return false;
    this.#ms *= REFUSAL_DECAY;
    return true;
  }
}

const LATE_DETAIL =
  "the answer did not come in time; a change may still take effect, repeat its id";

/** `reply`; cancels its stream when it arrives too late. @throws ServiceFault `deadline_exceeded` after `ms`. */
export function withReplyDeadline(reply: Promise<Reply>, ms: number): Promise<Reply> {
  return withDeadline(reply, ms, () => {
    reply.then(({ stream }) => stream?.cancel()).catch(() => undefined);
    throw new ServiceFault("deadline_exceeded", LATE_DETAIL);
  });
}
