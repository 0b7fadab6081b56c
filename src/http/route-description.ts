// Description of a route as data, read by the matcher, the guards, the metrics and the OpenAPI
// document. Apart from its handler, so that none of them depends on a request.
import type { Scope } from "../contract/vocabulary.ts";
import type { RateClass } from "./access/rate-limits.ts";
import type { RequestHeader, ResponseHeader } from "./openapi/headers.ts";

/** `none`: open to all. `key`: any valid key. Else the scope the key must hold (or `admin`). */
export type RouteAccess = Scope | "none" | "key";

/** A route without its handler: everything that is data. */
export interface RouteDescription {
  /** Operation id and metrics label. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  /**
   * Exact path, or a prefix and one `{parameter}`: the last part, where it may hold slashes, or
   * followed by more, where they must be percent-encoded.
   */
  readonly path: string;
  readonly summary: string;
  readonly access: RouteAccess;
  /** Of a route that is open to all: a key is read where one is sent. */
  readonly isKeyOptional?: boolean;
  readonly rateClass?: RateClass;
  /**
   * A paid read beside those of the rate class `score`: refused once the tenant's quota is used up.
   * `by_view`: where the view that is read has current scores; the handler refuses then.
   */
  readonly isPaidRead?: true | "by_view";
  readonly body?: RouteBody;
  /** Query parameters by name, with their meaning. Asynchronous or `GET` routes only. */
  readonly query?: Readonly<Record<string, RouteParameter>>;
  /** Meaning of the path's `{parameter}`, where its name does not say it. */
  readonly parameter?: RouteParameter;
  /** Headers it reads beside those that every route reads. */
  readonly requestHeaders?: readonly RequestHeader[];
  /** Status -> its content. Problems are common to all routes and not listed. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Answered in the callback that completed the body; holds for all reads of scores. False by default. */
  readonly isSynchronous?: boolean;
  /** True where `Accept` is not negotiated: probes and scrapers send all sorts. */
  readonly isFixedFormat?: boolean;
  /** True where it may wait for something to happen: its times say nothing of the next answer. */
  readonly isLongPoll?: boolean;
  /** Longest time of an asynchronous answer, milliseconds; after it `deadline_exceeded`. */
  readonly deadlineMs?: number;
}

/** A parameter of the query or the path: its meaning, or that and what it may be. */
export type RouteParameter = string | ParameterDescription;

export interface ParameterDescription {
  readonly description: string;
  readonly isRequired?: boolean;
  /** All values that there are; any text without them. */
  readonly values?: readonly string[];
  readonly example?: string;
}

export interface RouteBody {
  /**
   * `batch`: a document that is an array, or lines. `token`: the text of a security event token. `rows`: a document, or
   * CSV with a header.
   */
  readonly kind: "document" | "ndjson" | "batch" | "token" | "rows";
  readonly bytesMax: number;
  /** Name of the schema in the OpenAPI document. */
  readonly schema: string;
}

export interface RouteResponse {
  readonly description: string;
  /** Name of the schema; absent for text. */
  readonly schema?: string;
  /** Media types that are not negotiated; beside a schema, of the same content as text. */
  readonly mediaType?: string | readonly string[];
  /** True where status and headers say all: the body is empty. */
  readonly isEmpty?: boolean;
  /** Headers beside those of every answer. */
  readonly headers?: readonly ResponseHeader[];
}
