// The OpenAPI document as one page of plain HTML: no script, one style sheet of its own, an anchor for
// every operation and message. Whatever stands in the document comes out as text.
import {
  formatAnchor,
  renderCode,
  markup,
  type Markup,
  EMPTY_MARKUP,
  renderHtmlPage,
  renderProse,
} from "../../../markup/html.ts";
import {
  renderMethodBadge,
  type PathOperation,
  renderOperation,
  renderSharedResponses,
} from "./operation.ts";
import { renderMessageLink, renderSchemaTable, renderSchemaType } from "./schema-table.ts";
import type { OpenApiDocument, OpenApiHeader, OpenApiSchema } from "./shown.ts";

/** The page; addresses in it are relative, so that it works behind a proxy's prefix too. */
export function renderDocsPage(document: OpenApiDocument): string {
  const { info, components } = document;
  const families = groupOperationsByTag(document);
  const problem = renderMessageLink({ $ref: "#/components/schemas/Problem" });
  const style = markup`<link rel="stylesheet" href="docs/style.css">`;
  const body = markup`<a class="skip" href="#operations">Skip to the operations</a>
<nav aria-label="Contents">
${families.map(renderGroupLinks)}<h2><a href="#problems">Problems</a></h2>
<h2><a href="#messages">Messages</a></h2>
<h2><a href="#headers">Headers</a></h2>
</nav>
<main>
<h1>${info.title} <small>${info.version}</small></h1>
${info.description.split("\n\n").map((part) => markup`<p>${renderProse(part)}</p>\n`)}
<p>The same as <a href="openapi.json">OpenAPI 3.1</a>. In the examples <code>$BUREAU</code> is the
address of this service and <code>$KEY</code> an API key.</p>
<div id="operations">
${families.map((family) => renderOperationGroup(family, components))}</div>
<section id="problems">
<h2>Problems</h2>
<p>Every error is a ${problem} (RFC 9457).</p>
${renderSharedResponses(components)}
</section>
<section id="messages">
<h2>Messages</h2>
${Object.entries(components.schemas).map(renderMessage)}</section>
<section id="headers">
<h2>Headers</h2>
${renderHeaderTable("Of requests", "request", components.parameters)}
${renderHeaderTable("Of answers", "response", components.headers)}
</section>
</main>`;
  return renderHtmlPage(`${info.title} API`, style, body);
}

interface OperationGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PathOperation[];
}

/** Operations by tag, in the order of the tags; those without one come last. */
function groupOperationsByTag({ paths, tags }: OpenApiDocument): OperationGroup[] {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      path,
      method: method.toUpperCase(),
      described,
    })),
  );
  const named = tags.map(({ name, description }) => ({
    name,
    description,
    operations: operations.filter(({ described }) => described.tags?.[0] === name),
  }));
  const shown = new Set<PathOperation>(named.flatMap((family) => family.operations));
  const rest = operations.filter((operation) => !shown.has(operation));
  const others = rest.length === 0 ? [] : [{ name: "Others", description: "", operations: rest }];
  return [...named, ...others];
}

function renderGroupLinks({ name, operations }: OperationGroup): Markup {
  const links = operations.map(({ method, path, described }) => {
    const text = markup`${renderMethodBadge(method)} ${path}`;
    return markup`<li><a href="#${formatAnchor("op", described.operationId)}">${text}</a></li>
`;
  });
  return markup`<h2><a href="#${formatAnchor("tag", name)}">${name}</a></h2>
<ul>
${links}</ul>
`;
}

function renderOperationGroup(
  { name, description, operations }: OperationGroup,
  components: OpenApiDocument["components"],
): Markup {
  return markup`<section id="${formatAnchor("tag", name)}">
<h2>${name}</h2>
<p>${renderProse(description)}</p>
${operations.map((operation) => renderOperation(operation, components))}</section>
`;
}

function renderMessage([name, schema]: readonly [string, OpenApiSchema]): Markup {
  const { description } = schema;
  const said =
    description === undefined ? EMPTY_MARKUP : markup`<p>${renderProse(description)}</p>`;
  return markup`<article id="${formatAnchor("schema", name)}">
<h3>${name}</h3>
${said}${renderSchemaTable(schema)}
</article>
`;
}

function renderHeaderTable(
  title: string,
  kind: "request" | "response",
  entries: Readonly<Record<string, OpenApiHeader>>,
): Markup {
  const rows = Object.entries(entries).map(([name, { schema, description = "" }]) => {
    const cells = markup`<td>${renderSchemaType(schema)}</td><td>${renderProse(description)}</td>`;
    return markup`<tr id="${formatAnchor(kind, name)}"><td>${renderCode(name)}</td>${cells}</tr>
`;
  });
  return markup`<h3>${title}</h3>
<div class="wide"><table><tbody>${rows}</tbody></table></div>`;
}
