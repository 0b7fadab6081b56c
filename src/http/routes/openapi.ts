// Routes that describe the API: the OpenAPI document and the page made from it. Open to all: they hold
// the public contract and nothing of this installation but the version, which `/healthz` tells too.
import { MEDIA_TYPES } from "../codec/negotiation.ts";
import type { Exchange } from "../exchange.ts";
import { PAGE_HEADERS } from "../openapi/headers.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

/** Alike for everyone until the service is replaced. */
const CACHE_CONTROL = "public, max-age=300";

export const OPENAPI_ROUTES: readonly Route[] = [
  {
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    summary: "This description as OpenAPI 3.1",
    access: "none",
    responses: { 200: { description: "The document", schema: "OpenApi" } },
    isSynchronous: true,
    handle: handleOpenApiDocument,
  },
  {
    name: "docs",
    method: "GET",
    path: "/docs",
    summary: "This description as a page: no script, nothing from elsewhere",
    access: "none",
    query: {
      filter:
        "Words that an operation must have in method, path, name, summary, group or scope; all operations when left out",
    },
    responses: {
      200: { description: "The page", mediaType: "text/html", headers: PAGE_HEADERS },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: ({ services, query, echoedId }) =>
      buildDocsReply(echoedId, "text/html", services.pages.getHtml(query.get("filter"))),
  },
  {
    name: "docs_style",
    method: "GET",
    path: "/docs/style.css",
    summary: "The page's style sheet",
    access: "none",
    responses: {
      200: { description: "The style sheet", mediaType: "text/css", headers: PAGE_HEADERS },
    },
    isSynchronous: true,
    isFixedFormat: true,
    handle: ({ services, echoedId }) => buildDocsReply(echoedId, "text/css", services.pages.style),
  },
];

function handleOpenApiDocument({ services, replyFormat, echoedId }: Exchange): Reply {
  const { pages } = services;
  const body = replyFormat === "json" ? pages.json : pages.msgpack;
  return { status: 200, headers: buildDocsHeaders(MEDIA_TYPES[replyFormat], echoedId), body };
}

/** What a browser may do with the page: load its own style sheet, and send its filter back. */
export const DOCS_PAGE_HEADER_LINES = [
  "Content-Security-Policy",
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "Referrer-Policy",
  "no-referrer",
  "X-Content-Type-Options",
  "nosniff",
];

function buildDocsReply(echoedId: string, mediaType: string, body: Uint8Array): Reply {
  const headers = [
    ...buildDocsHeaders(`${mediaType}; charset=utf-8`, echoedId),
    ...DOCS_PAGE_HEADER_LINES,
  ];
  return { status: 200, headers, body };
}

function buildDocsHeaders(mediaType: string, echoedId: string): string[] {
  return ["Content-Type", mediaType, "Cache-Control", CACHE_CONTROL, "X-Request-Id", echoedId];
}
