// The OpenAPI document held to the route table, the parser and the real answers.
import { describe, expect, it } from "vitest";
import { SCHEMAS } from "../../../src/http/openapi/schemas.ts";
import { buildOpenApiDocument } from "../../../src/http/openapi/document.ts";
import { findTagName } from "../../../src/http/openapi/tags.ts";
import type { RouteDescription } from "../../../src/http/route-description.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { call } from "../_client.ts";
import {
  CHECK_BODY,
  HANDSHAKE_BODY,
  openTestServer,
  OUTCOME_BODY,
  VERIFY_BODY,
} from "../_setup.ts";

describe("OpenAPI", () => {
  const document = buildOpenApiDocument(ROUTES, "1.2.3");
  const text = JSON.stringify(document);

  it("names only schemas it holds, and holds none it does not name", () => {
    const named = new Set(
      [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name ?? ""),
    );
    expect([...named].toSorted()).toEqual(Object.keys(SCHEMAS).toSorted());
  });

  it("gives every route a name of its own, a scope, and every status it answers with", () => {
    expect(new Set(ROUTES.map((route) => route.name)).size).toBe(ROUTES.length);
    for (const route of ROUTES) {
      const operation = operationOf(document, route);
      expect(operation["operationId"]).toBe(route.name);
      const isOptional = route.isKeyOptional === true;
      const open = isOptional ? [{ apiKey: [] }, {}] : [];
      expect(operation["security"]).toEqual(route.access === "none" ? open : [{ apiKey: [] }]);
      const statuses = [...Object.keys(route.responses), "400", "503", "default"];
      expect(Object.keys(operation["responses"] as object)).toEqual(
        expect.arrayContaining(statuses),
      );
      if (route.body !== undefined) expect(SCHEMAS).toHaveProperty(route.body.schema);
    }
  });

  it("has a family for every route, each with a sentence about it", () => {
    const tags = document["tags"] as { name: string; description: string }[];
    expect(tags.every(({ description }) => description.endsWith("."))).toBe(true);
    const tagged = ROUTES.map(({ path }) => findTagName(path));
    expect(new Set(tagged)).toEqual(new Set(tags.map(({ name }) => name)));
    // The last family takes what no other does: nothing that has a version belongs there.
    const strays = ROUTES.filter(
      ({ path }) => path.startsWith("/v1/") && findTagName(path) === "Service",
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it("describes every parameter, and names no header or parameter twice", () => {
    for (const route of ROUTES) {
      const given = operationOf(document, route)["parameters"] as Record<string, string>[];
      const names = given.map(({ name, in: place, $ref }) => $ref ?? `${place} ${name}`);
      expect([route.name, names]).toEqual([route.name, [...new Set(names)]]);
      const mute = given.filter(({ $ref, description }) => $ref === undefined && !description);
      expect([route.name, mute]).toEqual([route.name, []]);
    }
  });

  it("has an example for every document that is asked for or answered", () => {
    const contents = [...text.matchAll(/"application\/json":\{"schema":\{[^}]*\}(.)/g)];
    expect(contents.length).toBeGreaterThan(ROUTES.length / 2);
    const mute = contents.filter(([, next]) => next !== ",");
    expect(mute.map(([all]) => all)).toEqual([]);
  });

  it("requires of each request what the parser requires", () => {
    const samples = {
      VerifyRequest: VERIFY_BODY,
      CheckRequest: CHECK_BODY,
      HandshakeRequest: HANDSHAKE_BODY,
      OutcomeRequest: OUTCOME_BODY,
    };
    for (const [name, sample] of Object.entries(samples)) {
      const required = (SCHEMAS[name]!["required"] as string[]).toSorted();
      const given = Object.keys(sample).filter((member) => member !== "context");
      expect(required).toEqual(given.toSorted());
    }
  });

  it("describes what the routes answer", async () => {
    const service = await openTestServer("node");
    const answers: [string, unknown][] = [
      ["VerifyResponse", (await call(service, "/v1/trust/verify", { body: VERIFY_BODY })).json],
      ["CheckResponse", (await call(service, "/v1/check", { body: CHECK_BODY })).json],
      ["HandshakeResponse", (await call(service, "/v1/handshake", { body: HANDSHAKE_BODY })).json],
      ["OutcomeReceipt", (await call(service, "/v1/outcomes", { body: OUTCOME_BODY })).json],
      ["AgentExplanation", (await call(service, "/v1/agents/agent://a/b")).json],
      ["QueryResult", (await call(service, "/v1/query", { body: { sql: "select 1" } })).json],
      ["UsageReport", (await call(service, "/v1/usage")).json],
      ["KeyList", (await call(service, "/v1/keys", { key: service.admin })).json],
      ["Problem", (await call(service, "/v1/check", { body: {} })).json],
    ];
    await service.stop();
    for (const [name, answer] of answers) {
      expect([name, mismatch(SCHEMAS[name]!, answer, "")]).toEqual([name, undefined]);
    }
  });
});

type Json = Record<string, unknown>;

function operationOf(document: Json, { path, method }: RouteDescription): Json {
  const paths = document["paths"] as Record<string, Record<string, Json>>;
  return paths[path]![method.toLowerCase()]!;
}

/**
 * A small JSON Schema reader for the keywords the document uses; the path of the first mismatch.
 */
function mismatch(schema: Record<string, unknown>, value: unknown, at: string): string | undefined {
  const reference = schema["$ref"] as string | undefined;
  if (reference !== undefined) return mismatch(SCHEMAS[reference.split("/").at(-1)!]!, value, at);
  const choices = schema["enum"] as unknown[] | undefined;
  if (choices !== undefined && !choices.includes(value)) return `${at}: not in the enum`;
  const types = [schema["type"] ?? []].flat() as string[];
  if (types.length > 0 && !types.some((type) => hasType(type, value))) return `${at}: type`;
  if (Array.isArray(value)) {
    const items = schema["items"] as Record<string, unknown> | undefined;
    if (items === undefined) return undefined;
    return value
      .map((item, index) => mismatch(items, item, `${at}/${index}`))
      .find((found) => found !== undefined);
  }
  if (typeof value !== "object" || value === null) return undefined;
  const properties = (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>;
  for (const name of (schema["required"] ?? []) as string[]) {
    if (!(name in value)) return `${at}/${name}: missing`;
  }
  for (const [name, inner] of Object.entries(value)) {
    const property = properties[name];
    if (property === undefined) return `${at}/${name}: not described`;
    const found = mismatch(property, inner, `${at}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function hasType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object")
    return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}
