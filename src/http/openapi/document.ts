// The OpenAPI 3.1 document, generated from the route table that serves. Nothing is written twice:
// paths, methods, scopes, limits and parameters come from the table, shapes from contract/schemas.
import { isObject } from "../../contract/parse/json-object.ts";
import { QUERY_MEDIA_TYPES, SIGNAL_MEDIA_TYPE } from "../codec/negotiation.ts";
import type {
  RouteParameter,
  ParameterDescription,
  RouteBody,
  RouteDescription,
} from "../route-description.ts";
import { isBodyOptional } from "../optional-body.ts";
import { EXAMPLES_BY_PARAMETER } from "./example-values.ts";
import { buildMessageExample } from "./examples.ts";
import {
  COMMON_REQUEST_HEADERS,
  buildHeaderComponents,
  buildHeaderParameters,
  type RequestHeader,
} from "./headers.ts";
import {
  buildDocumentContent,
  buildProblemComponents,
  buildProblemExamples,
  buildResponses,
} from "./responses.ts";
import { SCHEMAS } from "./schemas.ts";
import { findTagName, TAGS } from "./tags.ts";

type Json = Record<string, unknown>;

const DESCRIPTION = [
  "Trust scores, verdicts and reasons for autonomous agents.",
  "Every reply carries `X-Request-Id`: yours when it is 1 to 128 token characters, else our own. " +
    "`request_id` in a body is always our own, a UUIDv7: outcomes and reviews name a decision by it.",
  "`X-JWS-Signature` signs a reported outcome: a detached JWS (`b64:false`) over the raw body. " +
    "`Idempotency-Key` (or the member `id`) makes reporting an outcome repeatable.",
  "A refused handshake is a 403 whose body is the verdict, as `application/json`; a 403 that is an " +
    "error is `application/problem+json`, as every error is.",
].join("\n\n");

const API_KEY = {
  type: "http",
  scheme: "bearer",
  description:
    "An API key, made by `POST /v1/keys` or `trustrank keys create`. `x-required-scope` of an " +
    "operation names the scope that the key must hold; `admin` holds all. Operations without it " +
    "take any valid key.",
};

/** The document for `routes`. */
export function buildOpenApiDocument(routes: readonly RouteDescription[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const item = (paths[route.path] ??= {});
    item[route.method.toLowerCase()] = buildOperation(route);
  }
  const used = new Set(routes.map((route) => findTagName(route.path)));
  return {
    openapi: "3.1.0",
    info: {
      title: "TrustRank",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The service that gives out this document" }],
    tags: TAGS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({
      name,
      description,
    })),
    paths,
    components: {
      schemas: SCHEMAS,
      parameters: buildHeaderParameters(),
      headers: buildHeaderComponents(),
      responses: buildProblemComponents(),
      examples: { ...buildMessageExamples(routes), ...buildProblemExamples() },
      securitySchemes: { apiKey: API_KEY },
    },
  };
}

function buildOperation(route: RouteDescription): Json {
  const { access } = route;
  const described: Json = {
    operationId: route.name,
    summary: route.summary,
    tags: [findTagName(route.path)],
    parameters: buildParameters(route),
    responses: buildResponses(route),
    security: buildSecurity(route),
  };
  if (access !== "none" && access !== "key") described["x-required-scope"] = access;
  if (route.body !== undefined) {
    described["requestBody"] = buildRequestBody(route.body, !isBodyOptional(route));
  }
  return described;
}

/** An empty requirement beside another makes that one optional. */
function buildSecurity({ access, isKeyOptional }: RouteDescription): Json[] {
  if (access !== "none") return [{ apiKey: [] }];
  return isKeyOptional === true ? [{ apiKey: [] }, {}] : [];
}

function buildParameters(route: RouteDescription): Json[] {
  const found = /\{(\w+)\}/.exec(route.path)?.[1];
  const given = route.parameter ?? PATH_PARAMETERS[found ?? ""] ?? "";
  const inPath =
    found === undefined ? [] : [{ ...buildParameter(found, "path", given), required: true }];
  const inQuery = Object.entries(route.query ?? {}).map(([name, each]) =>
    buildParameter(name, "query", each),
  );
  const headers: readonly RequestHeader[] = [
    ...COMMON_REQUEST_HEADERS,
    ...(route.requestHeaders ?? []),
  ];
  return [
    ...inPath,
    ...inQuery,
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** Parameters that mean the same wherever they stand in a path. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: "The agent by its identifier, percent-encoded where more follows it",
  source_id: "Identifier of the source, percent-encoded",
  namespace: "The namespace: the first part of its agents' names",
  request_id: "Id of the decision: `request_id` of its answer",
};

function buildParameter(name: string, place: "path" | "query", given: RouteParameter): Json {
  const told: ParameterDescription = typeof given === "string" ? { description: given } : given;
  const { description, isRequired = false, values } = told;
  const schema = values === undefined ? { type: "string" } : { type: "string", enum: [...values] };
  const example = told.example ?? values?.[0] ?? EXAMPLES_BY_PARAMETER[name];
  const described = { name, in: place, required: isRequired, description, schema };
  return example === undefined ? described : { ...described, example };
}

function buildRequestBody(body: RouteBody, required: boolean): Json {
  const documents = buildDocumentContent(body.schema);
  const lines = { "application/x-ndjson": { schema: buildLineSchema(body) } };
  const contents = {
    document: documents,
    ndjson: lines,
    batch: { ...documents, ...lines },
    rows: {
      ...documents,
      [QUERY_MEDIA_TYPES.csv]: { schema: { type: "string" }, example: CSV_EXAMPLE },
    },
    token: { [SIGNAL_MEDIA_TYPE]: { schema: { $ref: `#/components/schemas/${body.schema}` } } },
  };
  const content = contents[body.kind];
  const omission = required ? "" : "; may be left out, which means `{}`";
  return { required, description: `At most ${body.bytesMax} bytes${omission}`, content };
}

/** Of the one route that takes CSV. */
const CSV_EXAMPLE = `agent,state,reason_code,reason_text,until,max_stakes,levels
agent://acme/price-bot,suspended,fraud,forged invoices,,,
`;

/** Schema of one line: of a batch, which as a document is an array, that of an item. */
function buildLineSchema({ kind, schema }: RouteBody): Json {
  const items = SCHEMAS[schema]?.["items"];
  return kind === "batch" && isObject(items) ? items : { $ref: `#/components/schemas/${schema}` };
}

/** `components.examples` of the messages that routes take and give. */
function buildMessageExamples(routes: readonly RouteDescription[]): Json {
  const named = routes.flatMap(({ body, responses }) => [
    ...(body === undefined || body.kind === "ndjson" || body.kind === "token" ? [] : [body.schema]),
    ...Object.values(responses).flatMap(({ schema }) => (schema === undefined ? [] : [schema])),
  ]);
  return Object.fromEntries(
    [...new Set(named)].map((name) => [name, { summary: name, value: buildMessageExample(name) }]),
  );
}
