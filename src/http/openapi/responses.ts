// Answers of an operation in the OpenAPI document: those that its route lists, and the problems that
// the guards in front of every route give, by status.
import { FAULTS, type FaultCode } from "../../contract/faults.ts";
import { MEDIA_TYPES } from "../codec/negotiation.ts";
import { PROBLEM_MEDIA_TYPE } from "../codec/reply.ts";
import type { RouteDescription, RouteResponse } from "../route-description.ts";
import { buildProblemExample } from "./examples.ts";
import {
  COMMON_RESPONSE_HEADERS,
  buildHeaderReferences,
  CLUSTER_HEADERS,
  RATE_HEADERS,
  type ResponseHeader,
} from "./headers.ts";

type Json = Record<string, unknown>;

interface ProblemResponse {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly example: FaultCode;
  readonly headers?: readonly ResponseHeader[];
  /** Whether a route is behind it. */
  readonly appliesTo: (route: RouteDescription) => boolean;
}

const isKeyRequired = ({ access }: RouteDescription): boolean => access !== "none";
const isScopeRequired = ({ access }: RouteDescription): boolean =>
  access !== "none" && access !== "key";
/** Limits and what is left of them: of the key's rate, or of its tenant's quota. */
const isLimited = ({ rateClass, isPaidRead }: RouteDescription): boolean =>
  rateClass !== undefined || isPaidRead !== undefined;
const hasBody = ({ body }: RouteDescription): boolean => body !== undefined;

/** Problems by status, as far as every route of a kind may give them. */
const PROBLEM_RESPONSES: Readonly<Record<string, ProblemResponse>> = {
  400: {
    name: "BadRequest",
    description: "The request is not acceptable: its framing, a parameter or the body",
    example: "invalid_request",
    appliesTo: () => true,
  },
  401: {
    name: "Unauthenticated",
    description: "No valid key was sent",
    example: "unauthenticated",
    headers: ["WWW-Authenticate"],
    appliesTo: isKeyRequired,
  },
  403: {
    name: "Forbidden",
    description: "The key may not do this",
    example: "insufficient_scope",
    appliesTo: isScopeRequired,
  },
  406: {
    name: "NotAcceptable",
    description: "No representation that `Accept` takes",
    example: "not_acceptable",
    appliesTo: ({ isFixedFormat }) => isFixedFormat !== true,
  },
  413: {
    name: "BodyTooLarge",
    description: "The body is too large",
    example: "body_too_large",
    appliesTo: hasBody,
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body's media type is none that the route reads",
    example: "unsupported_media_type",
    appliesTo: hasBody,
  },
  429: {
    name: "TooManyRequests",
    description: "A limit of the key is used up",
    example: "rate_limited",
    headers: ["Retry-After"],
    appliesTo: isLimited,
  },
  503: {
    name: "Unavailable",
    description: "Saturated, shutting down, or the deadline would be missed",
    example: "overloaded",
    headers: ["Retry-After"],
    appliesTo: () => true,
  },
};
const FALLBACK = "Problem";

/** `components.responses`. */
export function buildProblemComponents(): Json {
  const described = Object.values(PROBLEM_RESPONSES).map(
    ({ name, description, example, headers = [] }) => [
      name,
      {
        description,
        headers: buildHeaderReferences([
          ...COMMON_RESPONSE_HEADERS,
          ...CLUSTER_HEADERS,
          ...RATE_HEADERS,
          ...headers,
        ]),
        content: buildProblemContent(example),
      },
    ],
  );
  const all: readonly ResponseHeader[] = ["Retry-After", "WWW-Authenticate", "Allow"];
  const fallback = {
    description: "A problem; `code` says which",
    headers: buildHeaderReferences([
      ...COMMON_RESPONSE_HEADERS,
      ...CLUSTER_HEADERS,
      ...RATE_HEADERS,
      ...all,
    ]),
    content: buildProblemContent("internal"),
  };
  return { ...Object.fromEntries(described), [FALLBACK]: fallback };
}

/** `components.examples` of problems. */
export function buildProblemExamples(): Json {
  const codes = [
    ...Object.values(PROBLEM_RESPONSES).map(({ example }) => example),
    "internal" as const,
  ];
  return Object.fromEntries(
    codes.map((code) => [
      formatExampleName(code),
      { summary: FAULTS[code].title, value: buildProblemExample(code) },
    ]),
  );
}

const formatExampleName = (code: FaultCode): string => `problem_${code}`;

function buildProblemContent(code: FaultCode): Json {
  const example = { $ref: `#/components/examples/${formatExampleName(code)}` };
  const schema = { $ref: "#/components/schemas/Problem" };
  return { [PROBLEM_MEDIA_TYPE]: { schema, examples: { [code]: example } } };
}

/** `responses` of the operation of `route`. */
export function buildResponses(route: RouteDescription): Json {
  const described: Json = {};
  for (const [status, response] of Object.entries(route.responses)) {
    described[status] = buildRouteResponse(route, status, response);
  }
  for (const [status, { name, appliesTo }] of Object.entries(PROBLEM_RESPONSES)) {
    if (appliesTo(route)) described[status] ??= { $ref: `#/components/responses/${name}` };
  }
  described["default"] = { $ref: `#/components/responses/${FALLBACK}` };
  return described;
}

/** An answer of the route's own; where a guard gives the same status, either's content. */
function buildRouteResponse(
  route: RouteDescription,
  status: string,
  response: RouteResponse,
): Json {
  const guard = PROBLEM_RESPONSES[status];
  const isShared = guard?.appliesTo(route) === true;
  const headers = new Set([
    ...COMMON_RESPONSE_HEADERS,
    ...(route.access === "none" ? [] : CLUSTER_HEADERS),
    ...(isLimited(route) ? RATE_HEADERS : []),
    ...(response.headers ?? []),
    ...(isShared ? (guard?.headers ?? []) : []),
  ]);
  const content = {
    ...buildResponseContent(route, response),
    ...(isShared ? buildProblemContent(guard.example) : {}),
  };
  const { description } = response;
  const described = { description, headers: buildHeaderReferences([...headers]) };
  return Object.keys(content).length === 0 ? described : { ...described, content };
}

function buildResponseContent(route: RouteDescription, response: RouteResponse): Json {
  const { schema: name, mediaType = [], isEmpty } = response;
  if (isEmpty === true) return {};
  const types = [mediaType].flat();
  const texts = Object.fromEntries(types.map((type) => [type, { schema: selectBodySchema(type) }]));
  if (name === undefined) return types.length > 0 ? texts : { "text/plain": TEXT };
  const isJsonAlone = route.isFixedFormat === true && types.length === 0;
  return { ...buildDocumentContent(name, isJsonAlone), ...texts };
}

const TEXT = { schema: { type: "string" } };

function selectBodySchema(mediaType: string): Json {
  const isText = mediaType.startsWith("text/") || mediaType.endsWith("ndjson");
  return isText ? TEXT.schema : { type: "string", format: "binary" };
}

/** A message as JSON, with its example, and as MessagePack. */
export function buildDocumentContent(name: string, isJsonAlone = false): Json {
  const schema = { $ref: `#/components/schemas/${name}` };
  const examples = { [name]: { $ref: `#/components/examples/${name}` } };
  const json = { [MEDIA_TYPES.json]: { schema, examples } };
  return isJsonAlone ? json : { ...json, [MEDIA_TYPES.msgpack]: { schema } };
}
