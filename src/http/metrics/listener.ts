// HTTP listener for /metrics without a key, on a port of its own that a firewall can restrict to scrapers.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Exposition } from "../../platform/prometheus.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
}

export interface MetricsListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Open connections: a few scrapers, not a crowd. */
export const METRICS_CONNECTIONS_MAX = 32;
const REQUEST_DEADLINE_MS = 5000;

type ScrapeCallback = (accept: string | undefined) => Promise<Exposition>;

/** Listens; rejects when the port is taken. */
export function openMetricsListener(
  { host, port }: ListenAddress,
  scrape: ScrapeCallback,
): Promise<MetricsListener> {
  const options = { headersTimeout: REQUEST_DEADLINE_MS, requestTimeout: REQUEST_DEADLINE_MS };
  const server = createServer(options, (request, response) => {
    // A scraper that went away is no failure of the service.
    response.on("error", () => undefined);
    void answerScrape(request, response, scrape);
  });
  server.maxConnections = METRICS_CONNECTIONS_MAX;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(new Error(`cannot listen on \`${host}:${port}\` for metrics: ${error.message}`));
    });
    server.listen({ host, port }, () => {
      resolve({ port: (server.address() as AddressInfo).port, close });
    });
  });
}

async function answerScrape(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  scrape: ScrapeCallback,
): Promise<void> {
  const path = url?.split("?", 1)[0];
  if (path !== "/metrics" || (method !== "GET" && method !== "HEAD")) {
    response.writeHead(404).end();
    return;
  }
  try {
    const { contentType, text } = await scrape(headers.accept);
    response.writeHead(200, { "Content-Type": contentType, "Cache-Control": "no-store" });
    response.end(text);
  } catch {
    response.writeHead(500).end();
  }
}

/** Whether only this machine can reach the address. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
