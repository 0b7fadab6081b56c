// One operation of the OpenAPI document as a part of the page: what it asks for, what it answers, and
// the command that asks.
import { curlOf } from "./curl.ts";
import { anchor, code, joined, markup, type Markup, NOTHING, prose } from "./markup.ts";
import { typeOf } from "./schema-table.ts";
import {
  nameOf,
  type Reference,
  type ShownContent,
  type ShownDocument,
  type ShownMedia,
  type ShownOperation,
  type ShownParameter,
  type ShownResponse,
} from "./shown.ts";

/** An operation with where it stands. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly described: ShownOperation;
}

type Components = ShownDocument["components"];

/** The part of the page about an operation. */
export function operationPart(
  { method, path, described }: Operation,
  components: Components,
): Markup {
  const { operationId, summary, security, requestBody } = described;
  const parameters = described.parameters.map((each) =>
    isReference(each) ? components.parameters[nameOf(each)]! : each,
  );
  const needsKey = security.length > 0;
  const body = bodyOf(requestBody?.content, components);
  const command = curlOf({ method, path, parameters, needsKey, ...body });
  return markup`<article id="${anchor("op", operationId)}">
<h3>${methodBadge(method)} ${code(path)}</h3>
<p>${prose(summary)}. ${accessOf(described)}</p>
${parameterTable(parameters)}${bodyPart(requestBody)}<h4>Example</h4>
<pre>${command}</pre>
${responseTable(described, components)}</article>
`;
}

export function methodBadge(method: string): Markup {
  return markup`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

function isReference(value: object): value is Reference {
  return "$ref" in value;
}

function accessOf({ security, "x-required-scope": scope }: ShownOperation): Markup {
  if (security.length === 0) return markup`Open to all.`;
  if (security.length > 1) return markup`Any key, or what the body has in its place.`;
  return scope === undefined ? markup`Any valid key.` : markup`Scope ${code(scope)}.`;
}

/** Parameters of path and query as a table; headers as links, because most routes read the same. */
function parameterTable(parameters: readonly ShownParameter[]): Markup {
  const headers = parameters.filter((each) => each.in === "header");
  const rows = parameters.filter((each) => each.in !== "header");
  const names = headers.map(({ name }) => name);
  const table = markup`<h4>Parameters</h4>
<div class="wide"><table><tbody>${rows.map(parameterRow)}</tbody></table></div>
`;
  return markup`${rows.length === 0 ? NOTHING : table}${headerLine("request", names)}`;
}

function parameterRow({ name, in: place, required, schema, description = "" }: ShownParameter) {
  const where = required === true ? place : `${place}, optional`;
  const cells = markup`<td>${typeOf(schema)}</td><td>${prose(description)}</td>`;
  return markup`<tr><td>${code(name)} <small>${where}</small></td>${cells}</tr>
`;
}

function headerLine(kind: "request" | "response", names: readonly string[]): Markup {
  if (names.length === 0) return NOTHING;
  const links = names.map((name) => markup`<a href="#${anchor(kind, name)}">${code(name)}</a>`);
  return markup`<p><small>Headers: ${joined(links, ", ")}</small></p>
`;
}

function bodyPart(requestBody: ShownOperation["requestBody"]): Markup {
  if (requestBody === undefined) return NOTHING;
  const { content, description } = requestBody;
  return markup`<h4>Body</h4>
${kindsOf(content)}<p><small>${description}.</small></p>
`;
}

/** An example of the body, in the first of its media types. */
function bodyOf(content: ShownContent | undefined, components: Components) {
  const [first] = Object.entries(content ?? {});
  if (first === undefined) return {};
  const value = exampleOf(first[1], components);
  return { body: { type: first[0], text: value === undefined ? value : JSON.stringify(value) } };
}

/** The value of the first example of a content. */
function exampleOf({ examples = {} }: ShownMedia, components: Components): unknown {
  const [first] = Object.values(examples);
  return first === undefined ? undefined : components.examples[nameOf(first)]?.value;
}

/** Answers of the operation's own; those that many operations share stand once on the page. */
function responseTable({ responses }: ShownOperation, components: Components): Markup {
  const rows: Markup[] = [];
  const links: Markup[] = [];
  for (const [status, given] of Object.entries(responses)) {
    if (isReference(given)) links.push(problemLink(status, given));
    else rows.push(responseRow(code(status), given, components));
  }
  return markup`<h4>Answers</h4>
<div class="wide"><table><tbody>${rows}</tbody></table></div>
<p><small>Problems: ${joined(links, ", ")}</small></p>
`;
}

function problemLink(status: string, given: Reference): Markup {
  return markup`<a href="#${anchor("problem", nameOf(given))}">${code(status)}</a>`;
}

/** Answers that operations share, by their names. */
export function sharedResponses(components: Components): Markup {
  const rows = Object.entries(components.responses).map(([name, given]) =>
    responseRow(markup`<b id="${anchor("problem", name)}">${name}</b>`, given, components),
  );
  return markup`<div class="wide"><table><tbody>${rows}</tbody></table></div>`;
}

function responseRow(name: Markup, response: ShownResponse, components: Components): Markup {
  const { description, headers = {}, content = {} } = response;
  const json = Object.keys(content).find((type) => type.endsWith("json"));
  const value = json === undefined ? undefined : exampleOf(content[json]!, components);
  const text = JSON.stringify(value, null, 1);
  const sample = markup`<details><summary>Example</summary><pre>${text}</pre></details>`;
  const told = markup`${prose(description)}${headerLine("response", Object.keys(headers))}`;
  return markup`<tr><td>${name}</td><td>${told}${value === undefined ? NOTHING : sample}</td>
<td>${kindsOf(content)}</td></tr>
`;
}

/** What a body holds: each message once, with its media types. */
function kindsOf(content: ShownContent): Markup[] {
  const kinds = new Map<string, { link: Markup; types: string[] }>();
  for (const [type, { schema }] of Object.entries(content)) {
    const isMessage = schema?.$ref !== undefined || schema?.anyOf !== undefined;
    const link = isMessage ? typeOf(schema) : markup`text`;
    const kind = kinds.get(link.text) ?? { link, types: [] };
    kind.types.push(type);
    kinds.set(link.text, kind);
  }
  return [...kinds.values()].map(
    ({ link, types }) => markup`<div>${link} <small>${types.join(", ")}</small></div>
`,
  );
}
