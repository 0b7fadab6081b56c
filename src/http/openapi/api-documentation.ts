// The description of the API in its forms, each made once, when it is first asked for: nobody who asks
// without a key costs more than the bytes.
import { encodeMsgpack } from "../codec/msgpack.ts";
import type { RouteDescription } from "../route-description.ts";
import { buildOpenApiDocument } from "./document.ts";
import { DocsPage } from "./page/page.ts";
import type { OpenApiDocument } from "./page/shown.ts";
import { DOCS_STYLE } from "../../markup/style.ts";

/** The documents of one route table. */
export class ApiDocumentation {
  readonly #routes: readonly RouteDescription[];
  readonly #version: string;
  #document: Record<string, unknown> | undefined = undefined;
  #json: Uint8Array | undefined = undefined;
  #msgpack: Uint8Array | undefined = undefined;
  #page: DocsPage | undefined = undefined;
  #html: Uint8Array | undefined = undefined;
  #style: Uint8Array | undefined = undefined;

  /** `version`: that of the service. */
  constructor(routes: readonly RouteDescription[], version: string) {
    this.#routes = routes;
    this.#version = version;
  }

  /** The OpenAPI document as JSON, UTF-8. */
  get json(): Uint8Array {
    return (this.#json ??= Buffer.from(JSON.stringify(this.#buildDocumentOnce())));
  }

  /** The same as MessagePack. */
  get msgpack(): Uint8Array {
    return (this.#msgpack ??= encodeMsgpack(this.#buildDocumentOnce()));
  }

  /** The page, UTF-8, with those operations that have all words of `filter`; all of them without one. */
  getHtml(filter: string | null): Uint8Array {
    this.#page ??= new DocsPage(this.#buildDocumentOnce() as unknown as OpenApiDocument);
    if (filter !== null && filter.trim() !== "") return Buffer.from(this.#page.render(filter));
    return (this.#html ??= Buffer.from(this.#page.render()));
  }

  /** Its style sheet. */
  get style(): Uint8Array {
    return (this.#style ??= Buffer.from(DOCS_STYLE));
  }

  #buildDocumentOnce(): Record<string, unknown> {
    return (this.#document ??= buildOpenApiDocument(this.#routes, this.#version));
  }
}
