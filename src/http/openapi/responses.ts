// Answers of an operation in the OpenAPI document: those that its route lists, and the problems that
// the guards in front of every route give, by status.
import { FAULTS, type FaultCode } from "../../contract/faults.ts";
import { MEDIA_TYPES } from "../codec/negotiation.ts";
import { PROBLEM_MEDIA_TYPE } from "../codec/reply.ts";
import type { RouteDescription, RouteResponse } from "../route-description.ts";
import { exampleProblem } from "./examples.ts";
import {
  COMMON_RESPONSE_HEADERS,
  headerReferences,
  KEY_HEADERS,
  RATE_HEADERS,
  type ResponseHeader,
} from "./headers.ts";

type Json = Record<string, unknown>;

interface Guard {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly example: FaultCode;
  readonly headers?: readonly ResponseHeader[];
  /** Whether a route is behind it. */
  readonly guards: (route: RouteDescription) => boolean;
}

const isKeyed = ({ access }: RouteDescription): boolean => access !== "none";
const isScoped = ({ access }: RouteDescription): boolean => access !== "none" && access !== "key";
const hasBody = ({ body }: RouteDescription): boolean => body !== undefined;

/** Problems by status, as far as every route of a kind may give them. */
const GUARDS: Readonly<Record<string, Guard>> = {
  400: {
    name: "BadRequest",
    description: "The request is not acceptable: its framing, a parameter or the body",
    example: "invalid_request",
    guards: () => true,
  },
  401: {
    name: "Unauthenticated",
    description: "No valid key was sent",
    example: "unauthenticated",
    headers: ["WWW-Authenticate"],
    guards: isKeyed,
  },
  403: {
    name: "Forbidden",
    description: "The key may not do this",
    example: "insufficient_scope",
    guards: isScoped,
  },
  406: {
    name: "NotAcceptable",
    description: "No representation that `Accept` takes",
    example: "not_acceptable",
    guards: ({ isFixedFormat }) => isFixedFormat !== true,
  },
  413: {
    name: "BodyTooLarge",
    description: "The body is too large",
    example: "body_too_large",
    guards: hasBody,
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body's media type is none that the route reads",
    example: "unsupported_media_type",
    guards: hasBody,
  },
  429: {
    name: "TooManyRequests",
    description: "A limit of the key is used up",
    example: "rate_limited",
    headers: ["Retry-After"],
    guards: ({ rateClass }) => rateClass !== undefined,
  },
  503: {
    name: "Unavailable",
    description: "Saturated, shutting down, or the deadline would be missed",
    example: "overloaded",
    headers: ["Retry-After"],
    guards: () => true,
  },
};
const FALLBACK = "Problem";

/** `components.responses`. */
export function problemComponents(): Json {
  const described = Object.values(GUARDS).map(({ name, description, example, headers = [] }) => [
    name,
    {
      description,
      headers: headerReferences([
        ...COMMON_RESPONSE_HEADERS,
        ...KEY_HEADERS,
        ...RATE_HEADERS,
        ...headers,
      ]),
      content: problemContent(example),
    },
  ]);
  const all: readonly ResponseHeader[] = ["Retry-After", "WWW-Authenticate", "Allow"];
  const fallback = {
    description: "A problem; `code` says which",
    headers: headerReferences([
      ...COMMON_RESPONSE_HEADERS,
      ...KEY_HEADERS,
      ...RATE_HEADERS,
      ...all,
    ]),
    content: problemContent("internal"),
  };
  return { ...Object.fromEntries(described), [FALLBACK]: fallback };
}

/** `components.examples` of problems. */
export function problemExamples(): Json {
  const codes = [...Object.values(GUARDS).map(({ example }) => example), "internal" as const];
  return Object.fromEntries(
    codes.map((code) => [
      nameOf(code),
      { summary: FAULTS[code].title, value: exampleProblem(code) },
    ]),
  );
}

const nameOf = (code: FaultCode): string => `problem_${code}`;

function problemContent(code: FaultCode): Json {
  const example = { $ref: `#/components/examples/${nameOf(code)}` };
  const schema = { $ref: "#/components/schemas/Problem" };
  return { [PROBLEM_MEDIA_TYPE]: { schema, examples: { [code]: example } } };
}

/** `responses` of the operation of `route`. */
export function responsesOf(route: RouteDescription): Json {
  const described: Json = {};
  for (const [status, response] of Object.entries(route.responses)) {
    described[status] = responseOf(route, status, response);
  }
  for (const [status, { name, guards }] of Object.entries(GUARDS)) {
    if (guards(route)) described[status] ??= { $ref: `#/components/responses/${name}` };
  }
  described["default"] = { $ref: `#/components/responses/${FALLBACK}` };
  return described;
}

/** An answer of the route's own; where a guard gives the same status, either's content. */
function responseOf(route: RouteDescription, status: string, response: RouteResponse): Json {
  const guard = GUARDS[status];
  const isShared = guard?.guards(route) === true;
  const headers = new Set([
    ...COMMON_RESPONSE_HEADERS,
    ...(route.access === "none" ? [] : KEY_HEADERS),
    ...(route.rateClass === undefined ? [] : RATE_HEADERS),
    ...(response.headers ?? []),
    ...(isShared ? (guard?.headers ?? []) : []),
  ]);
  const content = {
    ...contentOf(route, response),
    ...(isShared ? problemContent(guard.example) : {}),
  };
  const { description } = response;
  const described = { description, headers: headerReferences([...headers]) };
  return Object.keys(content).length === 0 ? described : { ...described, content };
}

function contentOf(route: RouteDescription, response: RouteResponse): Json {
  const { schema: name, mediaType = [], isEmpty } = response;
  if (isEmpty === true) return {};
  const types = [mediaType].flat();
  const texts = Object.fromEntries(types.map((type) => [type, { schema: textOf(type) }]));
  if (name === undefined) return types.length > 0 ? texts : { "text/plain": TEXT };
  const isJsonAlone = route.isFixedFormat === true && types.length === 0;
  return { ...documentContent(name, isJsonAlone), ...texts };
}

const TEXT = { schema: { type: "string" } };

function textOf(mediaType: string): Json {
  const isText = mediaType.startsWith("text/") || mediaType.endsWith("ndjson");
  return isText ? TEXT.schema : { type: "string", format: "binary" };
}

/** A message as JSON, with its example, and as MessagePack. */
export function documentContent(name: string, isJsonAlone = false): Json {
  const schema = { $ref: `#/components/schemas/${name}` };
  const examples = { [name]: { $ref: `#/components/examples/${name}` } };
  const json = { [MEDIA_TYPES.json]: { schema, examples } };
  return isJsonAlone ? json : { ...json, [MEDIA_TYPES.msgpack]: { schema } };
}
