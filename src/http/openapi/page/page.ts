// The OpenAPI document as one page of plain HTML: no script, one style sheet of its own, an anchor for
// every operation and message. Operations and messages are collapsed; a browser that follows a link to an
// anchor opens what holds it, which is why anchors are within. All text of the document is escaped.
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

/** Characters of a filter that are read. */
const FILTER_CHARS_MAX = 100;
/** So many operations that fit a filter are shown open. */
const OPENED_OPERATIONS = 3;

interface RenderedOperation {
  /** What a filter is searched in, in small letters. */
  readonly text: string;
  readonly link: Markup;
  readonly summary: Markup;
  readonly content: Markup;
}

interface RenderedGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly RenderedOperation[];
}

/** The page of one document, whose parts are rendered once: a filter only chooses among them. */
export class DocsPage {
  readonly #info: OpenApiDocument["info"];
  readonly #groups: readonly RenderedGroup[];
  /** Problems, messages and headers. */
  readonly #appendix: Markup;

  constructor(document: OpenApiDocument) {
    const { info, components } = document;
    this.#info = info;
    this.#groups = groupOperationsByTag(document).map((group) => ({
      ...group,
      operations: group.operations.map((each) => renderGroupedOperation(each, group, components)),
    }));
    this.#appendix = renderAppendix(components);
  }

  /**
   * The page with those operations that have all words of `filter` in method, path, name, summary, group or scope.
   * Addresses in it are relative, so that it works behind a proxy's prefix too.
   */
  render(filter = ""): string {
    const { title, version, description } = this.#info;
    const asked = filter.slice(0, FILTER_CHARS_MAX).trim();
    const groups = filterGroups(this.#groups, asked);
    const count = groups.reduce((sum, { operations }) => sum + operations.length, 0);
    const style = markup`<link rel="stylesheet" href="docs/style.css">`;
    const body = markup`<a class="skip" href="#operations">Skip to the operations</a>
<nav aria-label="Contents">
${renderFilter(asked)}${groups.map(renderGroupLinks)}<h2><a href="#problems">Problems</a></h2>
<h2><a href="#messages">Messages</a></h2>
<h2><a href="#headers">Headers</a></h2>
</nav>
<main>
<h1>${title} <small>${version}</small></h1>
${description.split("\n\n").map((part) => markup`<p>${renderProse(part)}</p>\n`)}
<p>The same as <a href="openapi.json">OpenAPI 3.1</a>. In the examples <code>$BUREAU</code> is the
address of this service and <code>$KEY</code> an API key.</p>
<div id="operations">
${asked === "" ? EMPTY_MARKUP : renderFilterResult(asked, count)}${groups.map((group) =>
      renderOperationGroup(group, asked !== "", asked !== "" && count <= OPENED_OPERATIONS),
    )}</div>
${this.#appendix}
</main>`;
    return renderHtmlPage(`${title} API`, style, body);
  }
}

function filterGroups(groups: readonly RenderedGroup[], filter: string): readonly RenderedGroup[] {
  const words = filter.toLowerCase().split(/\s+/);
  return groups
    .map((group) => ({
      ...group,
      operations: group.operations.filter(({ text }) => words.every((word) => text.includes(word))),
    }))
    .filter(({ operations }) => operations.length > 0);
}

function renderFilter(filter: string): Markup {
  return markup`<form role="search" action="docs">
<label for="filter">Filter operations</label>
<input type="search" id="filter" name="filter" value="${filter}" maxlength="${FILTER_CHARS_MAX}" placeholder="such as review, POST or admin">
<button>Filter</button>
</form>
`;
}

function renderFilterResult(filter: string, count: number): Markup {
  const found =
    count === 0 ? "No operation has" : `${count} operation${count === 1 ? " has" : "s have"}`;
  return markup`<p>${found} “${filter}” in method, path, name, summary, group or scope.
<a href="docs">Show all</a></p>
`;
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

function renderGroupedOperation(
  operation: PathOperation,
  { name: group }: OperationGroup,
  components: OpenApiDocument["components"],
): RenderedOperation {
  const { method, path, described } = operation;
  const { operationId, summary, "x-required-scope": scope = "" } = described;
  const badge = renderMethodBadge(method);
  return {
    text: [method, path, operationId, summary, group, scope].join(" ").toLowerCase(),
    link: markup`<li><a href="#${formatAnchor("op", operationId)}">${badge} ${path}</a></li>
`,
    summary: markup`<h3>${badge} ${renderCode(path)}</h3> <small>${renderProse(summary)}</small>`,
    content: renderOperation(operation, components),
  };
}

function renderGroupLinks({ name, operations }: RenderedGroup): Markup {
  return markup`<h2><a href="#${formatAnchor("tag", name)}">${name}</a></h2>
<ul>
${operations.map(({ link }) => link)}</ul>
`;
}

interface Disclosure {
  readonly summary: Markup;
  readonly content: Markup;
  readonly isOpen?: boolean;
  readonly isGroup?: boolean;
}

function renderDisclosure({ summary, content, isOpen, isGroup }: Disclosure): Markup {
  const kind = isGroup === true ? markup` class="group"` : EMPTY_MARKUP;
  const state = isOpen === true ? markup` open` : EMPTY_MARKUP;
  return markup`<details${kind}${state}><summary>${summary}</summary>
${content}</details>
`;
}

/** `isOpen`: the group is; `areOpen`: its operations are. */
function renderOperationGroup(
  { name, description, operations }: RenderedGroup,
  isOpen: boolean,
  areOpen: boolean,
): Markup {
  const count = `${operations.length} operation${operations.length === 1 ? "" : "s"}`;
  return renderDisclosure({
    isGroup: true,
    isOpen,
    summary: markup`<h2>${name}</h2> <small>${count}</small>`,
    content: markup`<section id="${formatAnchor("tag", name)}">
<p>${renderProse(description)}</p>
${operations.map(({ summary, content }) => renderDisclosure({ summary, content, isOpen: areOpen }))}</section>
`,
  });
}

function renderAppendix(components: OpenApiDocument["components"]): Markup {
  const problem = renderMessageLink({ $ref: "#/components/schemas/Problem" });
  const messages = Object.entries(components.schemas);
  const group = (title: string, note: string, content: Markup) =>
    renderDisclosure({
      isGroup: true,
      summary: markup`<h2>${title}</h2> <small>${note}</small>`,
      content,
    });
  return markup`${group(
    "Problems",
    "answers that operations share",
    markup`<section id="problems">
<p>Every error is a ${problem} (RFC 9457).</p>
${renderSharedResponses(components)}
</section>
`,
  )}${group(
    "Messages",
    `${messages.length} messages`,
    markup`<section id="messages">
${messages.map(renderMessage)}</section>
`,
  )}${group(
    "Headers",
    "of requests and answers",
    markup`<section id="headers">
${renderHeaderTable("Of requests", "request", components.parameters)}
${renderHeaderTable("Of answers", "response", components.headers)}
</section>
`,
  )}`;
}

function renderMessage([name, schema]: readonly [string, OpenApiSchema]): Markup {
  const { description } = schema;
  const said =
    description === undefined ? EMPTY_MARKUP : markup`<p>${renderProse(description)}</p>`;
  return renderDisclosure({
    summary: markup`<h3>${name}</h3>`,
    content: markup`<article id="${formatAnchor("schema", name)}">
${said}${renderSchemaTable(schema)}
</article>
`,
  });
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
