// A schema of the OpenAPI document as a table of its members: one row each, members within by their
// path, messages with a name as links.
import { anchor, code, joined, markup, type Markup, prose } from "./markup.ts";
import { nameOf, type Reference, type ShownSchema } from "./shown.ts";

/** A link to the message that a reference names. */
export function messageLink(reference: Reference): Markup {
  const name = nameOf(reference);
  return markup`<a href="#${anchor("schema", name)}">${name}</a>`;
}

/** Type of a value in words, with its bounds. */
export function typeOf(schema: ShownSchema): Markup {
  const { $ref, const: constant, enum: values, anyOf, items, type = "any" } = schema;
  if ($ref !== undefined) return messageLink({ $ref });
  if (constant !== undefined) return code(JSON.stringify(constant));
  if (anyOf !== undefined) return joined(anyOf.map(typeOf), " or ");
  if (values !== undefined) return joined(values.map(valueOf), " | ");
  const types = [type].flat();
  const isList = types.includes("array") && items !== undefined;
  const named = isList ? markup`array of ${typeOf(items)}` : types.join(" or ");
  return joined([named, ...boundsOf(schema)], ", ");
}

function valueOf(value: unknown): Markup {
  return code(typeof value === "string" ? value : JSON.stringify(value));
}

const BOUNDS = [
  ["format", ""],
  ["minimum", "at least "],
  ["maximum", "at most "],
  ["minLength", "length at least "],
  ["maxLength", "length at most "],
  ["minItems", "items at least "],
  ["maxItems", "items at most "],
  ["pattern", "as "],
] as const;

function boundsOf(schema: ShownSchema): string[] {
  return BOUNDS.flatMap(([keyword, words]) => {
    const bound = schema[keyword];
    return bound === undefined ? [] : [words + String(bound)];
  });
}

interface Row {
  readonly path: string;
  readonly schema: ShownSchema;
  readonly isRequired: boolean;
}

function rowsOf({ properties = {}, required = [] }: ShownSchema, within: string): Row[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = within + name;
    const { items } = schema;
    const inner = items === undefined ? rowsOf(schema, `${path}.`) : rowsOf(items, `${path}[].`);
    return [{ path, schema, isRequired: required.includes(name) }, ...inner];
  });
}

/** The members of a message, or its type where it has none. */
export function schemaTable(schema: ShownSchema): Markup {
  const rows = rowsOf(schema, "");
  if (rows.length === 0) return markup`<p>${typeOf(schema)}</p>`;
  return markup`<div class="wide"><table>
<thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead>
<tbody>${rows.map(rowMarkup)}</tbody></table></div>`;
}

function rowMarkup({ path, schema, isRequired }: Row): Markup {
  const need = isRequired ? "" : markup` <small>optional</small>`;
  const meaning = prose(schema.description ?? "");
  return markup`<tr><td>${code(path)}${need}</td><td>${typeOf(schema)}</td><td>${meaning}</td></tr>
`;
}
