// Schemas of the declarative configurations that no program runs here, as far as the examples use
// them, closed: a name that is not in them is a mistake. Written from the documentation of Traefik 3
// (file provider, forwardAuth), Kong 3 (declarative configuration, post-function) and APISIX 3.14
// (standalone mode, forward-auth, proxy-rewrite), because neither npm nor Debian has their own.
import { Errors } from "typebox/schema";

type JsonSchema = Readonly<Record<string, unknown>>;

const TEXT = { type: "string", minLength: 1 };
const TEXT_OR_NONE = { type: "string" };
const TEXTS = { type: "array", items: TEXT, minItems: 1 };
const YES_OR_NO = { type: "boolean" };
const COUNT = { type: "integer", minimum: 0 };
const HTTP_ADDRESS = { type: "string", pattern: "^https?://[^/]+" };

const listOf = (items: JsonSchema) => ({ type: "array", items, minItems: 1 });
const mapOf = (additionalProperties: JsonSchema) => ({ type: "object", additionalProperties });

/** An object with these members and no others; those whose name ends in `?` may be absent. */
function closed(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const entries = Object.entries(members);
  return {
    type: "object",
    additionalProperties: false,
    required: entries.map(([name]) => name).filter((name) => !name.endsWith("?")),
    properties: Object.fromEntries(entries.map(([name, is]) => [name.replace(/\?$/, ""), is])),
  };
}

const TRAEFIK = closed({
  http: closed({
    middlewares: mapOf({
      oneOf: [
        closed({ headers: closed({ customRequestHeaders: mapOf(TEXT_OR_NONE) }) }),
        closed({
          forwardAuth: closed({
            address: HTTP_ADDRESS,
            "trustForwardHeader?": YES_OR_NO,
            "authResponseHeaders?": TEXTS,
            "authResponseHeadersRegex?": TEXT,
            "authRequestHeaders?": TEXTS,
            "forwardBody?": YES_OR_NO,
            "maxBodySize?": COUNT,
            "preserveRequestMethod?": YES_OR_NO,
          }),
        }),
      ],
    }),
    routers: mapOf(
      closed({ rule: TEXT, service: TEXT, "middlewares?": TEXTS, "priority?": COUNT }),
    ),
    services: mapOf(
      closed({ loadBalancer: closed({ servers: listOf(closed({ url: HTTP_ADDRESS })) }) }),
    ),
  }),
});

const KONG_PLUGIN = {
  oneOf: [
    closed({ name: { const: "key-auth" }, config: closed({ hide_credentials: YES_OR_NO }) }),
    closed({
      name: { const: "post-function" },
      config: closed({ "access?": TEXTS, "header_filter?": TEXTS }),
    }),
  ],
};

const KONG = closed({
  _format_version: { const: "3.0" },
  consumers: listOf(
    closed({
      username: TEXT,
      custom_id: TEXT,
      keyauth_credentials: listOf(closed({ key: TEXT })),
    }),
  ),
  services: listOf(
    closed({
      name: TEXT,
      url: HTTP_ADDRESS,
      retries: COUNT,
      routes: listOf(closed({ name: TEXT, paths: TEXTS, strip_path: YES_OR_NO, "tags?": TEXTS })),
      plugins: listOf(KONG_PLUGIN),
    }),
  ),
});

const APISIX_PLUGINS = closed({
  "key-auth": closed({ hide_credentials: YES_OR_NO }),
  "proxy-rewrite": closed({
    _meta: closed({ priority: COUNT }),
    headers: closed({ set: mapOf(TEXT), remove: TEXTS }),
  }),
  "forward-auth": closed({
    uri: HTTP_ADDRESS,
    "request_method?": { enum: ["GET", "POST"] },
    "request_headers?": TEXTS,
    "extra_headers?": mapOf(TEXT),
    "upstream_headers?": TEXTS,
    "client_headers?": TEXTS,
    "timeout?": { type: "integer", minimum: 1, maximum: 60_000 },
    "status_on_error?": { type: "integer", minimum: 200, maximum: 599 },
    "allow_degradation?": YES_OR_NO,
    "ssl_verify?": YES_OR_NO,
  }),
});

const APISIX = closed({
  consumers: listOf(
    closed({
      // A consumer's name has no other characters, and is part of an agent's name here.
      username: { type: "string", pattern: "^[a-zA-Z0-9_-]+$" },
      plugins: closed({ "key-auth": closed({ key: TEXT }) }),
    }),
  ),
  plugin_configs: listOf(closed({ id: TEXT, plugins: APISIX_PLUGINS })),
  routes: listOf(closed({ id: TEXT, uri: TEXT, plugin_config_id: TEXT, upstream_id: TEXT })),
  upstreams: listOf(
    closed({ id: TEXT, type: { const: "roundrobin" }, nodes: mapOf(COUNT), retries: COUNT }),
  ),
});

const SCHEMAS = { traefik: TRAEFIK, kong: KONG, apisix: APISIX };

/** What a gateway would not take of a configuration: the places, and why. */
export function refusalsOf(gateway: keyof typeof SCHEMAS, configuration: unknown): string[] {
  const [, errors] = Errors(SCHEMAS[gateway], configuration);
  return errors.map(({ instancePath, message }) => `${instancePath}: ${message}`);
}
