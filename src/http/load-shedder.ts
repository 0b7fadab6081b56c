// Load shedding: rejects paid reads that have waited too long, with as little work as possible. While the queue is
// long, each saved microsecond goes to a request that is answered.
import { ServiceFault } from "../contract/faults.ts";
import { BODY_BYTES_MAX } from "../contract/limits.ts";
import { selectEchoedRequestId } from "./codec/request-id.ts";
import { buildFaultReply } from "./codec/reply.ts";
import type { RouteTable } from "./route.ts";
import type { RequestAdmission, Reply, RequestHead } from "./server/port.ts";
import { OverloadDetector } from "./server/overload-detector.ts";
import type { HttpServices } from "./services.ts";

/** Stands in the text of the refusal for what each one has of its own. */
const PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000";
const US_PER_MS = 1000;
const NO_PRINCIPAL = { keyId: "", tenant: "" };
const OVERLOADED_DETAIL = "the queue is too long";

/** Turning away for one serving thread. Nobody is while its queue is not started. */
export class LoadShedder {
  readonly queue: OverloadDetector;
  readonly #table: RouteTable;
  readonly #services: HttpServices;
  readonly #texts = new Map<string, readonly [string, string]>();

  constructor(table: RouteTable, services: HttpServices) {
    this.#table = table;
    this.#services = services;
    const {
      queueMsMax = 0,
      monotonic = () => performance.now(),
      cpuMs = readThreadCpuMs,
    } = services;
    this.queue = new OverloadDetector(queueMsMax, monotonic, cpuMs);
    this.queue.onChange = (isBusy) => this.#tell(isBusy);
  }

  /**
   * The refusal of this request, or undefined when it is to be answered; asked only while busy. Only
   * paid reads are refused: whoever asks for a verdict waits for it. Reports wait in a queue that has
   * bounds of its own, and probes and the operator's own requests are needed now.
   */
  refuseIfOverloaded(head: RequestHead): RequestAdmission | undefined {
    const { path, authorization, relayedId } = head;
    // Relayed by another thread it has had its turn there.
    if (relayedId !== undefined) return undefined;
    const index = this.#table.match(path)?.methods.byMethod.get(head.method);
    if (index === undefined || this.#table.routes[index]?.rateClass !== "score") return undefined;
    const { keyring, requestIds } = this.#services;
    const principal = keyring.authenticate(authorization) ?? NO_PRINCIPAL;
    if (!this.queue.turnsAway(principal.keyId)) return undefined;
    this.#services.metrics.countRequest(index, STATUS);
    this.#services.metrics.tallies.countFault("overloaded");
    const requestId = requestIds.next();
    const reply = this.#replyTo(path, head.requestId, requestId);
    const named = { principal, requestId, traceId: "", routeIndex: index };
    this.#services.watch?.endAtOnce(head, this.#table.routes, named, reply);
    return new ShedRequestAdmission(reply);
  }

  #tell(isBusy: boolean): void {
    if (isBusy) this.#services.logger.warn("the queue is too long, requests are turned away");
    else {
      const requests = this.queue.turnedAway;
      this.#services.logger.warn("the queue is short again", { turned_away: requests });
    }
  }

  #replyTo(path: string, given: string | undefined, id: string): Reply {
    const [before, after] = this.#texts.get(path) ?? this.#splitBody(path);
    const headers = [...HEADERS];
    headers[ID_INDEX] = selectEchoedRequestId(given, id);
    return { status: STATUS, headers, body: before + id + after };
  }

  /** The body around the id: the same for all requests of a path. */
  #splitBody(path: string): readonly [string, string] {
    const [before = "", after = ""] = String(buildOverloadedReply(path).body).split(PLACEHOLDER_ID);
    // Paths with a parameter are as many as callers like.
    if (this.#table.isExact(path)) this.#texts.set(path, [before, after]);
    return [before, after];
  }
}

/** Of the whole process on a Node that does not tell it of one thread. */
function readThreadCpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / US_PER_MS;
}

/** A request whose body no longer matters. */
class ShedRequestAdmission implements RequestAdmission {
  readonly refusal: Reply;
  readonly bodyBytesMax = BODY_BYTES_MAX;
  readonly keepsBody = false;
  readonly sender = "";

  constructor(refusal: Reply) {
    this.refusal = refusal;
  }

  answer(): Reply {
    return this.refusal;
  }

  refuse(): Reply {
    return this.refusal;
  }
}

function buildOverloadedReply(path: string): Reply {
  const names = { requestId: PLACEHOLDER_ID, echoedId: PLACEHOLDER_ID };
  return buildFaultReply(new ServiceFault("overloaded", OVERLOADED_DETAIL), path, names);
}

const { status: STATUS, headers: HEADERS } = buildOverloadedReply("/");
const ID_INDEX = HEADERS.indexOf(PLACEHOLDER_ID);
