// The page of what `v1` promises, against the description that the service gives of itself: replies are open to new
// members, requests are strict exactly where the page says so, and nothing is deprecated yet.
import { expect, it } from "vitest";
import { buildOpenApiDocument } from "../../src/http/openapi/document.ts";
import { ROUTES } from "../../src/http/routes/table.ts";

interface Operation {
  readonly deprecated?: boolean;
  readonly requestBody?: unknown;
  readonly responses: unknown;
}

const document = buildOpenApiDocument(ROUTES, "0.0.0") as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.values(item).map((operation) => ({ path, operation })),
);
const namesIn = (value: unknown) =>
  [...JSON.stringify(value ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name!,
  );
const isStrict = (name: string) =>
  (document.components.schemas[name] as { additionalProperties?: unknown }).additionalProperties ===
  false;

it("closes no reply to new members, but for documents that are sent back as they came", () => {
  const replied = new Set(operations.flatMap(({ operation }) => namesIn(operation.responses)));
  for (const name of replied) {
    for (const inner of namesIn(document.components.schemas[name])) replied.add(inner);
  }
  expect(replied).toContain("VerifyResponse");
  expect([...replied].filter(isStrict)).toEqual(["PolicyRequest"]);
});

it("ignores unknown members where the page says so, and nowhere else", () => {
  const asked = operations.flatMap(({ operation }) => namesIn(operation.requestBody));
  expect([...new Set(asked)].filter((name) => !isStrict(name)).toSorted()).toEqual([
    "AuthzenEvaluation",
    "AuthzenEvaluations",
    "CheckRequest",
    "EvidenceBatch",
    "HandshakeRequest",
    "ImportedOutcome",
    "OutcomeBatchRequest",
    "OutcomeRequest",
    "ProvenanceRecord",
    "RelayedBody",
    // Its claims are a standard's, which says itself what may be there.
    "SecurityEventToken",
    "SignedOutcome",
    "TextLabels",
    "VerifyBatchRequest",
    "VerifyRequest",
  ]);
});

it("has deprecated nothing", () => {
  expect(operations.filter(({ operation }) => operation.deprecated === true)).toEqual([]);
});
