// One operation of the OpenAPI document as a part of the page: what it asks for, what it answers, and
// the command that asks.
import {
  formatAnchor,
  renderCode,
  joinMarkup,
  markup,
  type Markup,
  EMPTY_MARKUP,
  renderProse,
} from "../../../markup/html.ts";
import { renderSchemaType } from "./schema-table.ts";
import {
  parseReferenceName,
  type OpenApiReference,
  type OpenApiContent,
  type OpenApiDocument,
  type OpenApiMedia,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiResponse,
} from "./shown.ts";

/** An operation with where it stands. */
export interface PathOperation {
  readonly method: string;
  readonly path: string;
  readonly described: OpenApiOperation;
}

type OpenApiComponents = OpenApiDocument["components"];

/** The part of the page about an operation. */
export function renderOperation(
  { method, path, described }: PathOperation,
  components: OpenApiComponents,
): Markup {
  const { operationId, summary, security, requestBody } = described;
  const parameters = described.parameters.map((each) =>
    isReference(each) ? components.parameters[parseReferenceName(each)]! : each,
  );
  const needsKey = security.length > 0;
  const body = buildExampleBody(requestBody?.content, components);
  const command = formatCurlCommand({ method, path, parameters, needsKey, ...body });
  return markup`<article id="${formatAnchor("op", operationId)}">
<p>${renderProse(summary)}. ${renderAccess(described)}</p>
${renderParameterTable(parameters)}${renderRequestBody(requestBody)}<h4>Example</h4>
<pre tabindex="0">${command}</pre>
${renderResponseTable(described, components)}</article>
`;
}

export function renderMethodBadge(method: string): Markup {
  return markup`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

function isReference(value: object): value is OpenApiReference {
  return "$ref" in value;
}

function renderAccess({ security, "x-required-scope": scope }: OpenApiOperation): Markup {
  if (security.length === 0) return markup`Open to all.`;
  if (security.length > 1) return markup`Any key, or what the body has in its place.`;
  return scope === undefined ? markup`Any valid key.` : markup`Scope ${renderCode(scope)}.`;
}

/** Parameters of path and query as a table; headers as links, because most routes read the same. */
function renderParameterTable(parameters: readonly OpenApiParameter[]): Markup {
  const headers = parameters.filter((each) => each.in === "header");
  const rows = parameters.filter((each) => each.in !== "header");
  const names = headers.map(({ name }) => name);
  const table = markup`<h4>Parameters</h4>
<div class="wide"><table><tbody>${rows.map(renderParameterRow)}</tbody></table></div>
`;
  return markup`${rows.length === 0 ? EMPTY_MARKUP : table}${renderHeaderLinks("request", names)}`;
}

function renderParameterRow({
  name,
  in: place,
  required,
  schema,
  description = "",
}: OpenApiParameter) {
  const where = required === true ? place : `${place}, optional`;
  const cells = markup`<td>${renderSchemaType(schema)}</td><td>${renderProse(description)}</td>`;
  return markup`<tr><td>${renderCode(name)} <small>${where}</small></td>${cells}</tr>
`;
}

function renderHeaderLinks(kind: "request" | "response", names: readonly string[]): Markup {
  if (names.length === 0) return EMPTY_MARKUP;
  const links = names.map(
    (name) => markup`<a href="#${formatAnchor(kind, name)}">${renderCode(name)}</a>`,
  );
  return markup`<p><small>Headers: ${joinMarkup(links, ", ")}</small></p>
`;
}

function renderRequestBody(requestBody: OpenApiOperation["requestBody"]): Markup {
  if (requestBody === undefined) return EMPTY_MARKUP;
  const { content, description } = requestBody;
  return markup`<h4>Body</h4>
${renderContentKinds(content)}<p><small>${description}.</small></p>
`;
}

/** An example of the body, in the first of its media types. */
function buildExampleBody(content: OpenApiContent | undefined, components: OpenApiComponents) {
  const [first] = Object.entries(content ?? {});
  if (first === undefined) return {};
  const value = findFirstExample(first[1], components);
  return { body: { type: first[0], text: value === undefined ? value : JSON.stringify(value) } };
}

/** The value of the first example of a content. */
function findFirstExample({ examples = {} }: OpenApiMedia, components: OpenApiComponents): unknown {
  const [first] = Object.values(examples);
  return first === undefined ? undefined : components.examples[parseReferenceName(first)]?.value;
}

/** Answers of the operation's own; those that many operations share stand once on the page. */
function renderResponseTable(
  { responses }: OpenApiOperation,
  components: OpenApiComponents,
): Markup {
  const rows: Markup[] = [];
  const links: Markup[] = [];
  for (const [status, given] of Object.entries(responses)) {
    if (isReference(given)) links.push(renderProblemLink(status, given));
    else rows.push(renderResponseRow(renderCode(status), given, components));
  }
  return markup`<h4>Answers</h4>
<div class="wide"><table><tbody>${rows}</tbody></table></div>
<p><small>Problems: ${joinMarkup(links, ", ")}</small></p>
`;
}

function renderProblemLink(status: string, given: OpenApiReference): Markup {
  return markup`<a href="#${formatAnchor("problem", parseReferenceName(given))}">${renderCode(status)}</a>`;
}

/** Answers that operations share, by their names. */
export function renderSharedResponses(components: OpenApiComponents): Markup {
  const rows = Object.entries(components.responses).map(([name, given]) =>
    renderResponseRow(
      markup`<b id="${formatAnchor("problem", name)}">${name}</b>`,
      given,
      components,
    ),
  );
  return markup`<div class="wide"><table><tbody>${rows}</tbody></table></div>`;
}

function renderResponseRow(
  name: Markup,
  response: OpenApiResponse,
  components: OpenApiComponents,
): Markup {
  const { description, headers = {}, content = {} } = response;
  const json = Object.keys(content).find((type) => type.endsWith("json"));
  const value = json === undefined ? undefined : findFirstExample(content[json]!, components);
  const text = JSON.stringify(value, null, 1);
  const sample = markup`<details><summary>Example</summary><pre tabindex="0">${text}</pre></details>`;
  const told = markup`${renderProse(description)}${renderHeaderLinks("response", Object.keys(headers))}`;
  return markup`<tr><td>${name}</td><td>${told}${value === undefined ? EMPTY_MARKUP : sample}</td>
<td>${renderContentKinds(content)}</td></tr>
`;
}

/** What a body holds: each message once, with its media types. */
function renderContentKinds(content: OpenApiContent): Markup[] {
  const kinds = new Map<string, { link: Markup; types: string[] }>();
  for (const [type, { schema }] of Object.entries(content)) {
    const isMessage = schema?.$ref !== undefined || schema?.anyOf !== undefined;
    const link = isMessage ? renderSchemaType(schema) : markup`text`;
    const kind = kinds.get(link.text) ?? { link, types: [] };
    kind.types.push(type);
    kinds.set(link.text, kind);
  }
  return [...kinds.values()].map(
    ({ link, types }) => markup`<div>${link} <small>${types.join(", ")}</small></div>
`,
  );
}

interface CurlRequest {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly needsKey: boolean;
  /** Media type and text of the body; the body is read from a file where the text is undefined. */
  readonly body?: { readonly type: string; readonly text: string | undefined };
}

/** A `curl` command; `$BUREAU` is the address of the service, `$KEY` an API key. */
function formatCurlCommand({ method, path, parameters, needsKey, body }: CurlRequest): string {
  const select = (place: string) => parameters.filter((each) => each.in === place);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(formatParameterExample(select("path").find((each) => each.name === name))),
  );
  const query = select("query")
    .filter(({ required, example }) => required === true || example !== undefined)
    .map((each) => `${each.name}=${encodeURIComponent(formatParameterExample(each))}`)
    .join("&");
  const verb = method === "GET" ? "" : `-X ${method} `;
  const lines = [`curl ${verb}"$BUREAU${filled}${query === "" ? "" : `?${query}`}"`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $KEY"`);
  if (body !== undefined) {
    const { type, text } = body;
    const data = text === undefined ? "--data-binary @lines.ndjson" : `-d ${quoteShellWord(text)}`;
    lines.push(`-H ${quoteShellWord(`Content-Type: ${type}`)}`, data);
  } else if (method === "POST") {
    // Else `curl` sends no length, which a `POST` needs.
    lines.push("-d ''");
  }
  return lines.join(" \\\n  ");
}

function formatParameterExample(parameter: OpenApiParameter | undefined): string {
  return String(parameter?.example ?? "...");
}

/** Text as one word of a POSIX shell. */
function quoteShellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
