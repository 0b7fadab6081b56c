// The room's entry point: one call that puts the application on a port, on the native server where
// its binary is known and loads, else on node:http, saying so once.
import { Application } from "./application.ts";
import { listenNode } from "./node-server.ts";
import { ROUTES } from "./routes.ts";
import type { HttpServer, ListenOptions } from "./server-port.ts";
import type { HttpDependencies } from "./services.ts";
import { listenUws } from "./uws-server.ts";
import { loadUws } from "./uws-binary.ts";
import { SERVER_LIMITS } from "./server-port.ts";

export type Adapter = "auto" | "uws" | "node";

export interface HttpServerOptions extends HttpDependencies, ListenOptions {
  adapter: Adapter;
}

/**
 * Listens. Rejects when the port is taken, or when `uws` was asked for by name and its binary is
 * not usable. Close the returned server before the bureau behind it.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const application = new Application(options, ROUTES);
  const adapter = chooseAdapter(options);
  const listen = adapter === "uws" ? listenUws : listenNode;
  const server = await listen(application, options);
  return {
    adapter: server.adapter,
    port: server.port,
    get inflight() {
      return server.inflight;
    },
    stopAccepting() {
      application.isDraining = true;
      server.stopAccepting();
    },
    close(graceMs) {
      application.isDraining = true;
      return server.close(graceMs);
    },
  };
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
