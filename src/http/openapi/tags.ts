// Tags of the OpenAPI document: the family of a route by its path, so that a new route of a family has
// its tag at once.

interface Tag {
  readonly name: string;
  readonly description: string;
  /** Beginnings of its paths; of several that fit the longest counts. */
  readonly paths: readonly string[];
}

export const TAGS: readonly Tag[] = [
  {
    name: "Scores",
    description: "Verdicts, scores and reasons: the paid reads.",
    paths: ["/v1/trust/", "/v1/check", "/v1/handshake", "/v1/agents", "/v1/changes"],
  },
  {
    name: "Gateways",
    description:
      "The same verdict in the forms of gateways (status and headers) and of OpenID AuthZEN.",
    paths: ["/v1/gateway/", "/access/", "/.well-known/authzen"],
  },
  {
    name: "Outcomes",
    description: "Evidence: how dealings ended. Reporting is free.",
    paths: ["/v1/outcomes"],
  },
  {
    name: "Signing keys",
    description: "Keys with which reporters sign outcomes, and who owns a namespace of agents.",
    paths: ["/v1/agents/{id}/keys", "/v1/namespaces"],
  },
  {
    name: "Evidence vault",
    description: "Registered sources, against which content and citations are verified.",
    paths: ["/v1/evidence", "/v1/vault/", "/v1/signing-keys", "/.well-known/jwks"],
  },
  {
    name: "Decisions",
    description:
      "The decision log, human review, reports to those refused, and provenance told afterwards.",
    paths: [
      "/v1/decisions",
      "/v1/reviews",
      "/v1/provenance",
      "/v1/agents/{id}/report",
      "/v1/shared-reports",
      "/v1/disputes",
    ],
  },
  {
    name: "Conditions",
    description: "An operator's word on agents and namespaces, and the stop for all agents.",
    paths: [
      "/v1/conditions",
      "/v1/stop",
      "/v1/signals",
      "/v1/agents/{id}/condition",
      "/v1/namespaces/{namespace}/condition",
    ],
  },
  {
    name: "Learning",
    description: "Re-fits of the weights behind gates, rollback, and reporters' credibility.",
    paths: ["/v1/kaizen/", "/v1/configs"],
  },
  {
    name: "Policy",
    description: "The rules of a tenant, and what they would have done on history.",
    paths: ["/v1/policy"],
  },
  {
    name: "Analytics",
    description:
      "SQL over the tenant's own rows, exports as Parquet, and the rebuild of daily scores.",
    paths: ["/v1/query", "/v1/export/", "/v1/scores/daily"],
  },
  {
    name: "Webhooks",
    description: "Endpoints that are told of events, signed by the Standard Webhooks rules.",
    paths: ["/v1/webhooks"],
  },
  {
    name: "Operators",
    description: "API keys, usage and quotas.",
    paths: ["/v1/keys", "/v1/tenants", "/v1/usage", "/v1/quotas"],
  },
  {
    name: "Console",
    description: "The page for people, its session, and this API by the session's cookie.",
    paths: ["/console"],
  },
  {
    name: "State",
    description: "What the service did in the last minutes, and how each of its parts is.",
    paths: ["/v1/service", "/v1/cluster"],
  },
  {
    name: "Service",
    description: "The service about itself: life, readiness, metrics, this description.",
    paths: ["/"],
  },
];

/** Name of the tag of a path. */
export function findTagName(path: string): string {
  let found = { name: "", length: 0 };
  for (const { name, paths } of TAGS) {
    for (const beginning of paths) {
      const { length } = beginning;
      if (length > found.length && path.startsWith(beginning)) found = { name, length };
    }
  }
  return found.name;
}
