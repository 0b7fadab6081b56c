// A schema of the OpenAPI document as a table of its members: one row each, members within by their
// path, messages with a name as links.
import {
  formatAnchor,
  renderCode,
  joinMarkup,
  markup,
  type Markup,
  renderProse,
} from "../../../markup/html.ts";
import { parseReferenceName, type OpenApiReference, type OpenApiSchema } from "./shown.ts";

/** A link to the message that a reference names. */
export function renderMessageLink(reference: OpenApiReference): Markup {
  const name = parseReferenceName(reference);
  return markup`<a href="#${formatAnchor("schema", name)}">${name}</a>`;
}

/** Type of a value in words, with its bounds. */
export function renderSchemaType(schema: OpenApiSchema): Markup {
  const { $ref, const: constant, enum: values, anyOf, items, type = "any" } = schema;
  if ($ref !== undefined) return renderMessageLink({ $ref });
  if (constant !== undefined) return renderCode(JSON.stringify(constant));
  if (anyOf !== undefined) return joinMarkup(anyOf.map(renderSchemaType), " or ");
  if (values !== undefined) return joinMarkup(values.map(renderEnumValue), " | ");
  const types = [type].flat();
  const isList = types.includes("array") && items !== undefined;
  const named = isList ? markup`array of ${renderSchemaType(items)}` : types.join(" or ");
  return joinMarkup([named, ...describeBounds(schema)], ", ");
}

function renderEnumValue(value: unknown): Markup {
  return renderCode(typeof value === "string" ? value : JSON.stringify(value));
}

const BOUND_KEYWORDS = [
  ["format", ""],
  ["minimum", "at least "],
  ["maximum", "at most "],
  ["minLength", "length at least "],
  ["maxLength", "length at most "],
  ["minItems", "items at least "],
  ["maxItems", "items at most "],
  ["pattern", "as "],
] as const;

function describeBounds(schema: OpenApiSchema): string[] {
  return BOUND_KEYWORDS.flatMap(([keyword, words]) => {
    const bound = schema[keyword];
    return bound === undefined ? [] : [words + String(bound)];
  });
}

interface SchemaRow {
  readonly path: string;
  readonly schema: OpenApiSchema;
  readonly isRequired: boolean;
}

function listSchemaRows(
  { properties = {}, required = [] }: OpenApiSchema,
  within: string,
): SchemaRow[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = within + name;
    const { items } = schema;
    const inner =
      items === undefined
        ? listSchemaRows(schema, `${path}.`)
        : listSchemaRows(items, `${path}[].`);
    return [{ path, schema, isRequired: required.includes(name) }, ...inner];
  });
}

/** The members of a message, or its type where it has none. */
export function renderSchemaTable(schema: OpenApiSchema): Markup {
  const rows = listSchemaRows(schema, "");
  if (rows.length === 0) return markup`<p>${renderSchemaType(schema)}</p>`;
  return markup`<div class="wide"><table>
<thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead>
<tbody>${rows.map(renderSchemaRow)}</tbody></table></div>`;
}

function renderSchemaRow({ path, schema, isRequired }: SchemaRow): Markup {
  const need = isRequired ? "" : markup` <small>optional</small>`;
  const meaning = renderProse(schema.description ?? "");
  return markup`<tr><td>${renderCode(path)}${need}</td><td>${renderSchemaType(schema)}</td><td>${meaning}</td></tr>
`;
}
