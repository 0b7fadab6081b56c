// The document held to the running service: its examples are taken, and the headers that come are the
// ones it names.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LagGuard } from "../../../src/http/access/lag-guard.ts";
import { buildOpenApiDocument } from "../../../src/http/openapi/document.ts";
import type {
  OpenApiReference,
  OpenApiDocument,
  OpenApiOperation,
} from "../../../src/http/openapi/page/shown.ts";
import { parseReferenceName } from "../../../src/http/openapi/page/shown.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { readMonotonicMs } from "../../../src/platform/moment.ts";
import { StreamMetrics } from "../../../src/stream/metrics.ts";
import { FLAGGED_AGENT } from "../_bureau.ts";
import { type Answer, call } from "../_client.ts";
import { openTestServer, type TestServer } from "../_setup.ts";

const document = buildOpenApiDocument(ROUTES, "1.2.3") as unknown as OpenApiDocument;
const { components } = document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, described]) => {
    return { name: described.operationId, path, method: method.toUpperCase(), described };
  }),
);

/** Path and required parameters of an operation, filled with its examples. */
function addressOf(path: string, { parameters }: OpenApiOperation): string {
  const given = parameters.flatMap((each) => ("$ref" in each ? [] : [each]));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const example = given.find((each) => each.name === name && each.in === "path")?.example;
    return encodeURIComponent(String(example));
  });
  const query = given
    .filter((each) => each.in === "query" && each.required === true)
    .map((each) => `${each.name}=${encodeURIComponent(String(each.example))}`);
  return query.length === 0 ? filled : `${filled}?${query.join("&")}`;
}

const exampleOf = (media: { examples?: Readonly<Record<string, OpenApiReference>> }) =>
  Object.values(media.examples ?? {}).map(
    (each) => components.examples[parseReferenceName(each)]?.value,
  )[0];

/** Of the connection, and no matter of a document about messages. */
const TRANSPORT = new Set(
  "content-type content-length date connection keep-alive transfer-encoding".split(" "),
);

function undocumented(answer: Answer, { responses }: OpenApiOperation): string[] {
  const given = responses[String(answer.status)] ?? responses["default"]!;
  const response = "$ref" in given ? components.responses[parseReferenceName(given)]! : given;
  const named = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  return [...answer.headers.keys()].filter((name) => !TRANSPORT.has(name) && !named.has(name));
}

const PROOF_INTERVAL_MS = 20;
let service: TestServer;
let proofs: NodeJS.Timeout;
beforeAll(async () => {
  const limit = { perSecond: 1000, burst: 1000 };
  const figures = new StreamMetrics();
  const prove = () =>
    figures.setCaughtUpAt({ epochMs: Date.now(), monotonicMs: readMonotonicMs() });
  prove();
  // What is not found is answered after a proof that began after the request.
  proofs = setInterval(prove, PROOF_INTERVAL_MS);
  const lagGuard = new LagGuard(figures, 3_600_000, () => Date.now());
  const rateLimits = { score: limit, outcomes: limit };
  service = await openTestServer("uws", { rateLimits, lagGuard });
});
afterAll(() => {
  clearInterval(proofs);
  return service.stop();
});

describe("a document's example", () => {
  const bodies = operations.flatMap(({ described, ...operation }) => {
    const media = described.requestBody?.content["application/json"];
    return media === undefined ? [] : [{ ...operation, described, body: exampleOf(media) }];
  });

  it.each(bodies)("of $method $path is taken", async ({ path, method, described, body }) => {
    const options = { method, key: service.admin, body, headers: { "x-server-timing": "1" } };
    const answer = await call(service, addressOf(path, described), options);
    // Not found: this service runs without the part that would answer.
    expect([200, 201, 202, 403, 404, 422]).toContain(answer.status);
    expect(undocumented(answer, described)).toEqual([]);
  });
});

describe("headers", () => {
  it.each(operations)("of $method $path are documented", async ({ path, method, described }) => {
    const address = addressOf(path, described);
    const headers = { "x-server-timing": "1" };
    const stranger = await call(service, address, { method, key: null, headers });
    expect(stranger.status).toBe(described.security.length === 0 ? stranger.status : 401);
    expect(undocumented(stranger, described)).toEqual([]);
    const known = await call(service, address, { method, key: service.admin, headers });
    expect(known.status).not.toBe(500);
    expect(undocumented(known, described)).toEqual([]);
  });

  it.each(["agent://test/connect", FLAGGED_AGENT, "agent://test/refuse"])(
    "of a gateway's answer all come (%s)",
    async (agent) => {
      const query = `profile=envoy&agent_id=${agent}&tool_level=L2`;
      const answer = await call(service, `/v1/gateway/authorize?${query}`);
      const operation = document.paths["/v1/gateway/authorize"]!["get"]!;
      const response = operation.responses[String(answer.status)] as { headers: object };
      const named = Object.keys(response.headers).filter((name) => name.startsWith("X-Trust-"));
      expect(named.length).toBeGreaterThan(0);
      // Only where a person decides (test/gateways/review.test.ts).
      const due = named.filter(
        (name) =>
          name !== "X-Trust-Review" && (name !== "X-Trust-Flagged" || agent === FLAGGED_AGENT),
      );
      expect(due.filter((name) => !answer.headers.has(name))).toEqual([]);
      expect(undocumented(answer, operation)).toEqual([]);
      for (const name of named) {
        const { schema } = components.headers[name]!;
        if (schema.enum !== undefined && answer.headers.has(name))
          expect(schema.enum).toContain(answer.headers.get(name));
      }
    },
  );

  it("of an outcome's signature are read where they are documented, and nowhere else", () => {
    const signed = operations.filter(({ described }) =>
      described.parameters.some(
        (each) => "$ref" in each && parseReferenceName(each) === "X-JWS-Signature",
      ),
    );
    expect(signed.map(({ name }) => name)).toEqual(["report_outcome", "report_outcomes"]);
  });
});
