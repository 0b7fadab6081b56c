// The schemas of all messages (contract/schemas) as OpenAPI 3.1 takes them: those with a name are
// components, referred to wherever they stand in another; keywords of ours are left out.
import { isObject } from "../../contract/parse/json-object.ts";
import * as agents from "../../contract/schemas/agents.ts";
import * as authzen from "../../contract/schemas/authzen.ts";
import * as backtest from "../../contract/schemas/backtest.ts";
import * as changes from "../../contract/schemas/changes.ts";
import * as segments from "../../contract/schemas/cluster/segments.ts";
import * as cluster from "../../contract/schemas/cluster/state.ts";
import * as conditions from "../../contract/schemas/conditions.ts";
import * as console from "../../contract/schemas/console.ts";
import * as decisions from "../../contract/schemas/decisions.ts";
import * as disputes from "../../contract/schemas/disputes.ts";
import * as kaizen from "../../contract/schemas/kaizen.ts";
import * as namespaces from "../../contract/schemas/namespaces.ts";
import * as outcomes from "../../contract/schemas/outcomes.ts";
import * as policy from "../../contract/schemas/policy.ts";
import * as policyDiff from "../../contract/schemas/policy-diff.ts";
import * as quotas from "../../contract/schemas/quotas.ts";
import * as reporters from "../../contract/schemas/reporter-keys.ts";
import * as reviews from "../../contract/schemas/reviews.ts";
import * as scores from "../../contract/schemas/scores.ts";
import * as series from "../../contract/schemas/series.ts";
import * as signals from "../../contract/schemas/signals.ts";
import * as service from "../../contract/schemas/service.ts";
import * as signingKeys from "../../contract/schemas/signing-keys.ts";
import * as sources from "../../contract/schemas/sources.ts";
import * as tenants from "../../contract/schemas/tenants.ts";
import * as trace from "../../contract/schemas/trace.ts";
import * as webhooks from "../../contract/schemas/webhooks.ts";

type Json = Record<string, unknown>;

const SCHEMA_MODULES = [
  agents,
  authzen,
  backtest,
  changes,
  cluster,
  segments,
  conditions,
  console,
  decisions,
  disputes,
  kaizen,
  namespaces,
  outcomes,
  policy,
  policyDiff,
  quotas,
  reporters,
  reviews,
  scores,
  series,
  service,
  signals,
  signingKeys,
  sources,
  tenants,
  trace,
  webhooks,
];

/** Every schema that has a name. */
export const SCHEMAS: Readonly<Record<string, Json>> = Object.fromEntries(
  SCHEMA_MODULES.flatMap((family) => Object.values<unknown>(family).flatMap(listComponentEntries)),
);

function listComponentEntries(exported: unknown): [string, Json][] {
  const name = isObject(exported) ? exported["~component"] : undefined;
  return typeof name === "string" ? [[name, convertSchema(exported as Json)]] : [];
}

/** A schema's own keywords and those that stand for its `~refine`. */
function convertSchema(schema: Json): Json {
  const keywords = Object.entries({ ...schema, ...(schema["~shown"] as Json | undefined) });
  const known = keywords.filter(([name]) => !name.startsWith("~"));
  return Object.fromEntries(known.map(([name, value]) => [name, convertKeywordValue(value)]));
}

function convertKeywordValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convertKeywordValue);
  if (!isObject(value)) return value;
  const name = value["~component"];
  return typeof name === "string" ? { $ref: `#/components/schemas/${name}` } : convertSchema(value);
}
