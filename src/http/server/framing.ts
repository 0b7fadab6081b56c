// Framing rules for both adapters: the headers that decide where a message ends are counted and
// checked here, before any route sees the request. One line of doubt about a length is a refused
// connection (RFC 9112 §6.3, §11.2).
import type { FaultCode } from "../../contract/faults.ts";
import type { HttpApplication, RequestHead } from "./port.ts";

/** Digits of a Content-Length: 7 hold every body limit. */
const LENGTH_DIGITS_MAX = 7;

/** Paths on which forwarded headers are read; elsewhere they are ignored. */
const FORWARDED_PATHS = ["/v1/gateway/", "/.well-known/", "/console"] as const;
const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  "x-trust-agent-id",
  "x-trust-action",
  "x-trust-tool-level",
  "x-trust-stakes",
  "x-trust-session-sec",
  "x-trust-challenge",
  "x-trust-acr-values",
  "x-trust-max-age",
  "x-original-method",
  "x-forwarded-method",
  "x-forwarded-proto",
  // What a browser says of a request to the console.
  "cookie",
  "origin",
  "sec-fetch-site",
  "x-tr-csrf",
  "x-tr-background",
]);

/** One request's head while its header lines come in, in any order, any number of times. */
export class HeadReader implements RequestHead {
  readonly method: string;
  readonly path: string;
  query = "";
  authorization: string | undefined = undefined;
  contentType: string | undefined = undefined;
  contentEncoding: string | undefined = undefined;
  accept: string | undefined = undefined;
  requestId: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  deadlineMs: string | undefined = undefined;
  idempotencyKey: string | undefined = undefined;
  signature: string | undefined = undefined;
  wantsTiming = false;
  /** Bytes announced; -1 without Content-Length. Meaningful once `framingFault` found nothing. */
  contentLength = -1;
  readonly #forwarded: Map<string, string> | undefined;
  #contentLengthText: string | undefined = undefined;
  #host: string | undefined = undefined;
  #repeated: string | undefined = undefined;
  #hasTransferEncoding = false;

  constructor(method: string, path: string) {
    this.method = method;
    this.path = path;
    const isForwarded =
      path.startsWith(FORWARDED_PATHS[0]) ||
      path.startsWith(FORWARDED_PATHS[1]) ||
      path.startsWith(FORWARDED_PATHS[2]);
    this.#forwarded = isForwarded ? new Map() : undefined;
  }

  get host(): string | undefined {
    return this.#host;
  }

  get forwarded(): ReadonlyMap<string, string> | undefined {
    return this.#forwarded;
  }

  /** One header line, name in lower case. Selected by length first: this runs for every line. */
  add(name: string, value: string): void {
    if (this.#forwarded !== undefined && FORWARDED_HEADERS.has(name)) {
      // Two agent ids are one too many: it is unknown which of them was proved.
      this.#once(name, this.#forwarded.get(name), value);
      this.#forwarded.set(name, value);
    }
    switch (name.length) {
      case 4:
        if (name === "host") this.#host = this.#once(name, this.#host, value);
        return;
      case 6:
        if (name === "accept") {
          this.accept = this.accept === undefined ? value : `${this.accept}, ${value}`;
        }
        return;
      case 11:
        if (name === "traceparent") this.traceparent = value;
        return;
      case 12:
        if (name === "content-type") {
          this.contentType = this.#once(name, this.contentType, value);
        } else if (name === "x-request-id") this.requestId = value;
        return;
      case 13:
        if (name === "authorization") {
          this.authorization = this.#once(name, this.authorization, value);
        } else if (name === "x-deadline-ms") this.deadlineMs = value;
        return;
      case 14:
        if (name === "content-length") {
          this.#contentLengthText = this.#once(name, this.#contentLengthText, value);
        }
        return;
      case 15:
        if (name === "idempotency-key") {
          this.idempotencyKey = this.#once(name, this.idempotencyKey, value);
        } else if (name === "x-jws-signature") {
          this.signature = this.#once(name, this.signature, value);
        } else if (name === "x-server-timing") this.wantsTiming = value === "1";
        return;
      case 16:
        if (name === "content-encoding") {
          this.contentEncoding =
            this.contentEncoding === undefined ? value : `${this.contentEncoding}, ${value}`;
        }
        return;
      case 17:
        if (name === "transfer-encoding") this.#hasTransferEncoding = true;
        return;
      default:
    }
  }

  /**
   * Undefined when the message's end is certain; else the refusal to send before closing. A `POST`
   * without a length has no body (RFC 9112 §6.3), which `application` takes on some paths.
   */
  framingFault(application: Pick<HttpApplication, "isBodyOptional">): FramingFault | undefined {
    if (this.#repeated !== undefined)
      return createFramingFault(`header \`${this.#repeated}\` is repeated`);
    if (this.#host === undefined || this.#host === "")
      return createFramingFault("header `host` is missing");
    if (this.#hasTransferEncoding) return createFramingFault("transfer-encoding is not accepted");
    if (!this.path.startsWith("/")) return createFramingFault("the request target must be a path");
    const text = this.#contentLengthText;
    if (text === undefined) {
      if (this.method !== "POST" || application.isBodyOptional(this.path)) return undefined;
      return { code: "length_required", detail: "a `POST` needs `content-length`" };
    }
    const length = parseContentLength(text);
    if (length < 0) return createFramingFault("header `content-length` is not a length");
    this.contentLength = length;
    if (this.contentLength > 0 && (this.method === "GET" || this.method === "HEAD")) {
      return createFramingFault("this method takes no body");
    }
    return undefined;
  }

  /** A `POST` without Content-Length: a length that was lost on the way shows in the bytes behind it. */
  get hasUnprovedEnd(): boolean {
    return this.contentLength < 0 && this.method === "POST";
  }

  #once(name: string, before: string | undefined, value: string): string {
    if (before !== undefined) this.#repeated = name;
    return value;
  }
}

/** The number in one to seven digits and nothing else; -1 for any other text. */
function parseContentLength(text: string): number {
  if (text.length === 0 || text.length > LENGTH_DIGITS_MAX) return -1;
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const digit = text.charCodeAt(index) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    length = 10 * length + digit;
  }
  return length;
}

export interface FramingFault {
  code: FaultCode;
  detail: string;
}

function createFramingFault(detail: string): FramingFault {
  return { code: "invalid_framing", detail };
}

/** Path and query of a request target. */
export function splitTarget(target: string): [string, string] {
  const mark = target.indexOf("?");
  return mark < 0 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)];
}
