// `fetch` over a Unix domain socket, for a client beside the service: no port, no network, and the file's
// mode says who may connect. Of its own entry, since it needs Node: browsers have no sockets.
import http from "node:http";
import { Readable } from "node:stream";
import type { FetchLike } from "./runtime.ts";

/** Of idle connections; the service closes its own after ten seconds, and a reuse must not meet that. */
const IDLE_MS = 4000;
/** Statuses whose replies have no body. */
const BODYLESS = new Set([204, 205, 304]);

/**
 * A `fetch` for `TrustRankClientOptions.fetch` that connects to this socket, whatever the host of an
 * address is: `new TrustRankClient({ baseUrl: "http://localhost", fetch: socketFetch(path) })`.
 * Follows no redirects; takes texts and bytes as bodies.
 */
export function socketFetch(path: string): FetchLike {
  const agent = new http.Agent({ keepAlive: true, timeout: IDLE_MS });
  return (url, init) =>
    new Promise((resolve, reject) => {
      const { host, pathname, search } = new URL(url);
      const request = http.request({
        agent,
        socketPath: path,
        method: init.method ?? "GET",
        path: pathname + search,
        headers: { host, ...Object.fromEntries(new Headers(init.headers)) },
        ...(init.signal ? { signal: init.signal } : {}),
      });
      request.once("error", reject);
      request.once("response", (response) => {
        try {
          resolve(convertToResponse(response));
        } catch (error) {
          request.destroy();
          reject(error);
        }
      });
      const body: unknown = init.body ?? undefined;
      if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
        request.end(body);
      } else {
        request.destroy(new TypeError("a body over a socket is a text or bytes"));
      }
    });
}

function convertToResponse(response: http.IncomingMessage): Response {
  const headers = new Headers();
  const { rawHeaders, statusCode: status = 0 } = response;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] as string, rawHeaders[index + 1] as string);
  }
  const isEmpty = BODYLESS.has(status);
  if (isEmpty) response.resume();
  const body = isEmpty ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
