// The message types of the published client (src/client/messages.ts, webhooks/messages.ts), made from the
// schemas: what is published must not depend on typebox, and no message is written down twice.
import { compile, type JSONSchema } from "json-schema-to-typescript";
import * as vocabulary from "../../src/contract/vocabulary.ts";
import { ProvenanceRecord } from "../../src/contract/schemas/decisions.ts";
import {
  OutcomeReceipt,
  OutcomeRequest,
  Transaction,
} from "../../src/contract/schemas/outcomes.ts";
import * as scores from "../../src/contract/schemas/scores.ts";
import { Problem } from "../../src/contract/schemas/service.ts";
import { WEBHOOK_EVENTS } from "../../src/contract/webhooks/events.ts";
import * as webhooks from "../../src/contract/schemas/webhooks.ts";

type Json = Record<string, unknown>;

const PUBLISHED: readonly object[] = [
  scores.VerifyRequest,
  scores.VerifyResponse,
  scores.CheckRequest,
  scores.CheckResponse,
  scores.HandshakeRequest,
  scores.HandshakeResponse,
  OutcomeRequest,
  OutcomeReceipt,
  Transaction,
  ProvenanceRecord,
  Problem,
];

const OF_WEBHOOKS: readonly object[] = [
  webhooks.WebhookRequest,
  webhooks.WebhookPatch,
  webhooks.Webhook,
  webhooks.WebhookCreated,
  webhooks.WebhookTested,
  webhooks.WebhookDelivery,
  webhooks.WebhookDeadLetter,
  webhooks.WebhookRedelivery,
];

/** Types of the vocabulary that members of the messages have. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  AnswerCode: vocabulary.ANSWER_CODES,
  Attester: vocabulary.ATTESTERS,
  Decision: vocabulary.DECISIONS,
  Grade: vocabulary.GRADES,
  LogReason: vocabulary.LOG_REASONS,
  LegCode: vocabulary.LEG_CODES,
  Regime: vocabulary.REGIMES,
  RiskLevel: vocabulary.RISK_LEVELS,
  Signature: vocabulary.SIGNATURES,
  SourceStatus: vocabulary.SOURCE_STATUSES,
  Tier: vocabulary.TIERS,
  ToolLevel: vocabulary.TOOL_LEVELS,
  Verdict: vocabulary.VERDICTS,
};

/** The client imports nothing of webhooks: their words are written out. */
const UNION_OF_EVENTS = WEBHOOK_EVENTS.map((name) => `"${name}"`).join(" | ");

const ABOUT = `// Messages as the published client shows them, without the packages of the service. Made from the
// schemas in src/contract/schemas by \`npm run docs:reference\`: change those.
`;
const HEAD = `${ABOUT}import type {
${Object.keys(WORDS)
  .map((word) => `  ${word},`)
  .join("\n")}
} from "../contract/vocabulary.ts";

`;

/** A schema as json-schema-to-typescript takes it; messages with a name go to `definitions`. */
function plain(schema: Json, definitions: Json): Json {
  const { "~shown": documented, properties, items, ...keywords } = schema;
  const own: Json = { ...(documented as Json | undefined), ...keywords };
  // What is parsed into a value of another type is published as that; lengths would become tuples.
  if ("~read" in own && own["type"] !== "string") return { type: "number", ...describedBy(own) };
  const values = own["enum"];
  const word = Object.entries(WORDS).find(([, known]) => String(known) === String(values));
  const kept: Json = { ...describedBy(own) };
  for (const name of ["type", "enum", "required"]) if (name in own) kept[name] = own[name];
  if (word !== undefined) kept["tsType"] = word[0];
  else if (String(values) === String(WEBHOOK_EVENTS)) kept["tsType"] = UNION_OF_EVENTS;
  else if (typeof values === "object" && String(own["type"]) === "string") delete kept["enum"];
  if (items !== undefined) kept["items"] = referred(items as Json, definitions);
  if (properties === undefined) return kept;
  const members = Object.entries(properties as Record<string, Json>);
  kept["additionalProperties"] = false;
  kept["properties"] = Object.fromEntries(
    members.map(([name, member]) => [name, referred(member, definitions)]),
  );
  return kept;
}

const describedBy = ({ description }: Json): Json =>
  description === undefined ? {} : { description };

function referred(schema: Json, definitions: Json): Json {
  const name = schema["~component"];
  if (typeof name !== "string") return plain(schema, definitions);
  definitions[name] ??= { title: name, ...plain(schema, definitions) };
  return { $ref: `#/definitions/${name}` };
}

/** The texts of the files with the client's types, before they are formatted. */
export async function clientTypes(): Promise<Record<string, string>> {
  return {
    "src/client/messages.ts": HEAD + (await typesOf(PUBLISHED)),
    "src/client/webhooks/messages.ts": `${ABOUT}\n${await typesOf(OF_WEBHOOKS)}`,
  };
}

async function typesOf(published: readonly object[]): Promise<string> {
  const definitions: Json = {};
  const anyOf = published.map((schema) => referred(schema as Json, definitions));
  const schema: JSONSchema = { title: "Published", anyOf, definitions: definitions as JSONSchema };
  const made = await compile(schema, "Published", { bannerComment: "", format: false });
  return made.replace(/^export type Published = .*\n/m, "");
}
