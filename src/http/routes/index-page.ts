// The page at `/` for a user who has only the address of the service: where the console and the description of the API
// are. Open to all: it holds the version and nothing else of this installation.
import { HTML_MEDIA_TYPE, prefersHtml } from "../codec/negotiation.ts";
import type { Exchange } from "../exchange.ts";
import { markup, renderHtmlPage } from "../../markup/html.ts";
import { PAGE_HEADERS } from "../openapi/headers.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";
import { DOCS_PAGE_HEADER_LINES } from "./openapi.ts";

const NAME = "TrustRank";
const LINKS = { docs: "/docs", openapi: "/openapi.json", readyz: "/readyz" } as const;
const CONSOLE_LINK = "/console";

export const INDEX_ROUTES: readonly Route[] = [
  {
    name: "service_index",
    method: "GET",
    path: "/",
    summary: "Where the console and this description are: data, or by `Accept: text/html` a page",
    access: "none",
    responses: {
      200: {
        description: "Name, version and links",
        schema: "ServiceIndex",
        mediaType: HTML_MEDIA_TYPE,
        headers: PAGE_HEADERS,
      },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: handleIndex,
  },
];

/** The console is named where a browser that asked under this host would get it. */
function handleIndex(exchange: Exchange): Reply {
  const { services, head } = exchange;
  const { version } = services;
  const isConsoleServed = services.console?.isServedUnder(head) === true;
  if (!prefersHtml(head.accept)) {
    const links = isConsoleServed ? { console: CONSOLE_LINK, ...LINKS } : LINKS;
    return exchange.document(200, { name: NAME, version, links });
  }
  const page = renderIndexPage(version, isConsoleServed);
  const reply = exchange.text(200, `${HTML_MEDIA_TYPE}; charset=utf-8`, page);
  return { ...reply, headers: [...reply.headers, ...DOCS_PAGE_HEADER_LINES] };
}

/** Addresses in it are relative, so that it works behind a proxy's prefix too. */
function renderIndexPage(version: string, isConsoleServed: boolean): string {
  const consoleText = isConsoleServed
    ? markup`<p><a href="console">Console</a>: decisions, reviews, agents and keys. It asks for an API key: the
first start printed one, unless the operator gave the service its own.</p>
`
    : markup`<p class="soft">The console is not served under this address; docs/guide/console.md says where it is.</p>
`;
  const body = markup`<nav aria-label="Version">${NAME} ${version}</nav>
<main>
<h1>${NAME}</h1>
<p>This service decides whether an autonomous agent may perform an action. It is running.</p>
${consoleText}<p><a href="docs">API</a>: every route, message and header. The same as data:
<a href="openapi.json">OpenAPI 3.1</a>.</p>
<p><a href="readyz">Readiness</a>: whether it takes requests now.</p>
</main>`;
  return renderHtmlPage(NAME, markup`<link rel="stylesheet" href="docs/style.css">`, body);
}
