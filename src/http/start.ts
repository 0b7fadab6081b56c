// Starts the application on a port: on the native server where its binary is known and loads, else
// on node:http, with one log entry about it. Where several threads serve, it also answers requests
// relayed by the others, and reports this thread's counts.
import { Application } from "./application.ts";
import type { Exposition } from "../platform/prometheus.ts";
import { type SeriesCounts, collectThreadCounts, type ThreadCounts } from "./metrics/recorder.ts";
import { collectDurations, renderScrape, type RouteDurations } from "./metrics/scrape.ts";
import { ConnectionLimit } from "./server/connections.ts";
import { listenNode } from "./server/node.ts";
import { ROUTES } from "./routes/table.ts";
import type { Route } from "./route.ts";
import {
  type HttpAdapterName,
  type HttpServer,
  type ListenOptions,
  type Peer,
  type Reply,
  type RequestHead,
  SERVER_LIMITS,
} from "./server/port.ts";
import type { HttpDependencies } from "./services.ts";
import type { SocketFile } from "../platform/socket-file.ts";
import { listenUws } from "./server/uws.ts";
import { loadUws } from "./server/uws-binary.ts";

export interface HttpServerOptions extends HttpDependencies, Omit<ListenOptions, "connections"> {
  adapter: HttpAdapterName;
  /** Sockets of the file system to listen on besides, each claimed by this process. */
  sockets?: readonly SocketFile[];
  /** Route table other than the service's own; for threads that relay some routes. */
  routes?: readonly Route[];
}

export interface RunningHttpServer extends HttpServer {
  /** Counts of this thread so far. */
  counts(): ThreadCounts;
  /** The few of them that a chart by the second wants. */
  pulse(): SeriesCounts;
  /** All metrics of the service, as a scraper with this `Accept` header takes them. */
  scrape(accept: string | undefined): Promise<Exposition>;
  /** Times of the answers of all threads since the start, by route and class of status. */
  durations(): Promise<RouteDurations[]>;
  /**
   * Answers a request that another thread received. That thread has charged its rate limit and
   * counts it; authentication and authorisation are checked again. Never rejects.
   */
  relay(head: RequestHead, body: Buffer): Promise<Reply>;
  /** Answers a request without a body that came by another protocol, as one of its own. */
  ask(head: RequestHead, peer: Peer): Reply | Promise<Reply>;
}

const EMPTY = Buffer.alloc(0);

/**
 * Listens. Rejects when the port is taken, or when `uws` was asked for by name and its binary is
 * not usable. Close the returned server before the bureau behind it.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<RunningHttpServer> {
  const routes = options.routes ?? ROUTES;
  const application = new Application(options, routes);
  const { usage, tallies } = application.services;
  // The thread that received a request watches it.
  const relaying = { ...options, rateLimits: {}, usage, tallies, watch: undefined };
  const relayed = new Application(relaying, routes);
  const drain = () => {
    application.isDraining = true;
    relayed.isDraining = true;
    options.changes?.endAll();
  };
  const withdraw = () => {
    drain();
    for (const file of options.sockets ?? []) file.withdraw();
  };
  const adapter = chooseAdapter(options);
  const listen = adapter === "uws" ? listenUws : listenNode;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const connections = new ConnectionLimit(limits.connectionsMax, options.logger);
  application.services.metrics.connections = connections;
  const server = await listen(application, { ...options, connections });
  await listenOnSocketFiles(server, options.sockets);
  const endWatch = application.turningAway.queue.start();
  return {
    adapter: server.adapter,
    port: server.port,
    connections,
    listenAt: (path) => server.listenAt(path),
    get inflight() {
      return server.inflight;
    },
    drain() {
      drain();
      server.drain();
    },
    stopAccepting() {
      withdraw();
      server.stopAccepting();
    },
    close(graceMs) {
      withdraw();
      endWatch();
      return server.close(graceMs);
    },
    counts: () => collectThreadCounts(application.services),
    pulse: () => application.services.metrics.pulse(),
    scrape: (accept) => renderScrape(application.services, accept),
    durations: () => collectDurations(application.services),
    relay: (head, body) => answerRelayed(relayed, head, body),
    ask(head, peer) {
      const admission = application.admit(head, peer);
      return admission.refusal ?? admission.answer(EMPTY);
    },
  };
}

async function listenOnSocketFiles(
  server: HttpServer,
  sockets: readonly SocketFile[] = [],
): Promise<void> {
  try {
    for (const file of sockets) await file.open((path) => server.listenAt(path));
  } catch (error) {
    for (const file of sockets) file.withdraw();
    await server.close(0);
    throw error;
  }
}

async function answerRelayed(
  application: Application,
  head: RequestHead,
  body: Buffer,
): Promise<Reply> {
  const admission = application.admit(head);
  return admission.refusal ?? admission.answer(body);
}

function chooseAdapter(options: HttpServerOptions): "uws" | "node" {
  if (options.adapter !== "auto") return options.adapter;
  try {
    loadUws(options.limits?.headerBytesMax ?? SERVER_LIMITS.headerBytesMax);
    return "uws";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    options.logger.warn("native server not usable, serving with node:http", { reason });
    return "node";
  }
}
