// The OpenAPI 3.1 document, generated from the route table that serves. Nothing is written twice:
// paths, methods, scopes, limits and parameters come from the table, shapes from contract/schemas.
import { FAULTS } from "../../contract/faults.ts";
import { MEDIA_TYPES } from "../codec/negotiation.ts";
import { SCHEMAS } from "./schemas.ts";
import { PROBLEM_MEDIA_TYPE } from "../codec/reply.ts";
import type { RouteBody, RouteDescription, RouteResponse } from "../route-description.ts";

type Json = Record<string, unknown>;

const DESCRIPTION = [
  "Trust scores, verdicts and reasons for autonomous agents.",
  "Every reply carries `X-Request-Id`: yours when it is 1 to 128 token characters, else our own.",
  "`request_id` in a body is always our own, a UUIDv7: outcomes and reviews name a decision by it.",
  "`X-Deadline-Ms` asks for an answer within so many milliseconds or a 503 at once.",
  "`X-Server-Timing: 1` asks for a `Server-Timing` header.",
  "`X-JWS-Signature` signs a reported outcome: a detached JWS (`b64:false`) over the raw body.",
  "`Idempotency-Key` (or the member `id`) makes reporting an outcome repeatable.",
  "A refused handshake is a 403 whose body is the verdict, as `application/json`; a 403 that is an",
  "error is `application/problem+json`, as every error is.",
].join("\n");

/** The document for `routes`. */
export function openApiDocument(routes: readonly RouteDescription[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const item = (paths[route.path] ??= {});
    item[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "TrustRank",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: { apiKey: { type: "http", scheme: "bearer" } },
    },
  };
}

function operation(route: RouteDescription): Json {
  const { access } = route;
  const described: Json = {
    operationId: route.name,
    summary: route.summary,
    parameters: parameters(route),
    responses: responses(route),
    security: access === "none" ? [] : [{ apiKey: [] }],
  };
  if (access !== "none" && access !== "key") described["x-required-scope"] = access;
  if (route.body !== undefined) described["requestBody"] = requestBody(route.body);
  return described;
}

function parameters(route: RouteDescription): Json[] {
  const found = /\{(\w+)\}/.exec(route.path);
  const schema = { type: "string" };
  const inPath = found === null ? [] : [{ name: found[1], in: "path", required: true, schema }];
  const inQuery = Object.entries(route.query ?? {}).map(([name, description]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema,
  }));
  return [...inPath, ...inQuery];
}

function requestBody(body: RouteBody): Json {
  const schema = reference(body.schema);
  const lines = { "application/x-ndjson": { schema } };
  const documents = { [MEDIA_TYPES.json]: { schema }, [MEDIA_TYPES.msgpack]: { schema } };
  const content =
    body.kind === "batch" ? { ...documents, ...lines } : body.kind === "ndjson" ? lines : documents;
  return { required: true, description: `At most ${body.bytesMax} bytes`, content };
}

function responses(route: RouteDescription): Json {
  const described: Json = {};
  for (const [status, response] of Object.entries(route.responses)) {
    described[status] = { description: response.description, content: contentOf(response) };
  }
  const codes = Object.keys(FAULTS).join(", ");
  described["default"] = {
    description: `A problem; \`code\` is one of ${codes}`,
    content: { [PROBLEM_MEDIA_TYPE]: { schema: reference("Problem") } },
  };
  return described;
}

function contentOf(response: RouteResponse): Json {
  const text = { schema: { type: "string" } };
  if (response.schema === undefined) return { [response.mediaType ?? "text/plain"]: text };
  const schema = reference(response.schema);
  const documents = { [MEDIA_TYPES.json]: { schema }, [MEDIA_TYPES.msgpack]: { schema } };
  return response.mediaType === undefined
    ? documents
    : { ...documents, [response.mediaType]: text };
}

function reference(schema: string): Json {
  return { $ref: `#/components/schemas/${schema}` };
}
