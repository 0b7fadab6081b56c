// The OpenAPI document as one page of plain HTML: no script, one style sheet of its own, an anchor for
// every operation and message. Whatever stands in the document comes out as text.
import { anchor, code, markup, type Markup, NOTHING, prose } from "./markup.ts";
import { methodBadge, type Operation, operationPart, sharedResponses } from "./operation.ts";
import { messageLink, schemaTable, typeOf } from "./schema-table.ts";
import type { ShownDocument, ShownHeader, ShownSchema } from "./shown.ts";

/** The page; addresses in it are relative, so that it works behind a proxy's prefix too. */
export function docsPage(document: ShownDocument): string {
  const { info, components } = document;
  const families = familiesOf(document);
  const problem = messageLink({ $ref: "#/components/schemas/Problem" });
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<a class="skip" href="#operations">Skip to the operations</a>
<nav aria-label="Contents">
${families.map(familyLinks)}<h2><a href="#problems">Problems</a></h2>
<h2><a href="#messages">Messages</a></h2>
<h2><a href="#headers">Headers</a></h2>
</nav>
<main>
<h1>${info.title} <small>${info.version}</small></h1>
${info.description.split("\n\n").map((part) => markup`<p>${prose(part)}</p>\n`)}
<p>The same as <a href="openapi.json">OpenAPI 3.1</a>. In the examples <code>$BUREAU</code> is the
address of this service and <code>$KEY</code> an API key.</p>
<div id="operations">
${families.map((family) => familyPart(family, components))}</div>
<section id="problems">
<h2>Problems</h2>
<p>Every error is a ${problem} (RFC 9457).</p>
${sharedResponses(components)}
</section>
<section id="messages">
<h2>Messages</h2>
${Object.entries(components.schemas).map(messagePart)}</section>
<section id="headers">
<h2>Headers</h2>
${headerTable("Of requests", "request", components.parameters)}
${headerTable("Of answers", "response", components.headers)}
</section>
</main>
</body>
</html>
`.text;
}

interface Family {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** Operations by tag, in the order of the tags; those without one come last. */
function familiesOf({ paths, tags }: ShownDocument): Family[] {
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
  const shown = new Set<Operation>(named.flatMap((family) => family.operations));
  const rest = operations.filter((operation) => !shown.has(operation));
  const others = rest.length === 0 ? [] : [{ name: "Others", description: "", operations: rest }];
  return [...named, ...others];
}

function familyLinks({ name, operations }: Family): Markup {
  const links = operations.map(({ method, path, described }) => {
    const text = markup`${methodBadge(method)} ${path}`;
    return markup`<li><a href="#${anchor("op", described.operationId)}">${text}</a></li>
`;
  });
  return markup`<h2><a href="#${anchor("tag", name)}">${name}</a></h2>
<ul>
${links}</ul>
`;
}

function familyPart(
  { name, description, operations }: Family,
  components: ShownDocument["components"],
): Markup {
  return markup`<section id="${anchor("tag", name)}">
<h2>${name}</h2>
<p>${prose(description)}</p>
${operations.map((operation) => operationPart(operation, components))}</section>
`;
}

function messagePart([name, schema]: readonly [string, ShownSchema]): Markup {
  const { description } = schema;
  const said = description === undefined ? NOTHING : markup`<p>${prose(description)}</p>`;
  return markup`<article id="${anchor("schema", name)}">
<h3>${name}</h3>
${said}${schemaTable(schema)}
</article>
`;
}

function headerTable(
  title: string,
  kind: "request" | "response",
  entries: Readonly<Record<string, ShownHeader>>,
): Markup {
  const rows = Object.entries(entries).map(([name, { schema, description = "" }]) => {
    const cells = markup`<td>${typeOf(schema)}</td><td>${prose(description)}</td>`;
    return markup`<tr id="${anchor(kind, name)}"><td>${code(name)}</td>${cells}</tr>
`;
  });
  return markup`<h3>${title}</h3>
<div class="wide"><table><tbody>${rows}</tbody></table></div>`;
}
