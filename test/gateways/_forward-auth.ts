// Traefik's forwardAuth and APISIX's forward-auth as their documentation describes them: the exact
// question that each makes of its configuration and of a client's request, and what becomes of the
// answer. `Ask` carries the question to the service; it throws where there is no whole answer.

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
}
export type Ask = (sent: Sent) => Promise<Response>;

/** A client's request; header names in lower case. */
export interface Incoming {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Outcome {
  /** What the end client gets from the gateway itself; 200 where the application answers. */
  readonly status: number;
  readonly headers: Record<string, string>;
  /** What the application gets; absent where it is not asked. */
  readonly app?: Record<string, string>;
}

/** Both gateways tell these of the client's request, whatever the client says of them. */
function forwarded({ method, path }: Incoming): Record<string, string> {
  return {
    "x-forwarded-proto": "http",
    "x-forwarded-method": method,
    "x-forwarded-host": "app.example",
    "x-forwarded-uri": path,
    "x-forwarded-for": "192.0.2.7",
  };
}

type TraefikMiddleware = {
  headers?: { customRequestHeaders: Record<string, string> };
  forwardAuth?: {
    address: string;
    authRequestHeaders?: string[];
    authResponseHeaders?: string[];
  };
};
export interface TraefikConfig {
  http: {
    middlewares: Record<string, TraefikMiddleware>;
    routers: Record<string, { middlewares: string[]; service: string }>;
    services: Record<string, unknown>;
  };
}

/** Sends a request through the middlewares of a router, in their order. */
export async function throughTraefik(
  { http }: TraefikConfig,
  router: string,
  request: Incoming,
  ask: Ask,
): Promise<Outcome> {
  const headers = { ...request.headers };
  for (const name of http.routers[router]!.middlewares) {
    const { headers: changes, forwardAuth } = http.middlewares[name]!;
    for (const [header, value] of Object.entries(changes?.customRequestHeaders ?? {})) {
      put(headers, header, value === "" ? null : value);
    }
    if (forwardAuth === undefined) continue;
    const listed = forwardAuth.authRequestHeaders?.map((header) => header.toLowerCase());
    const passed = Object.entries(headers).filter(([header]) => listed?.includes(header) ?? true);
    const told = { ...Object.fromEntries(passed), ...forwarded(request) };
    const sent = { method: "GET", url: forwardAuth.address, headers: told };
    const answer = await ask(sent).catch(() => undefined);
    if (answer === undefined) return { status: 500, headers: {} };
    if (!answer.ok) return { status: answer.status, headers: Object.fromEntries(answer.headers) };
    for (const header of forwardAuth.authResponseHeaders ?? []) {
      put(headers, header, answer.headers.get(header));
    }
  }
  return { status: 200, headers: {}, app: headers };
}

interface ApisixPlugins {
  "proxy-rewrite": { headers: { set: Record<string, string>; remove: string[] } };
  "forward-auth": {
    uri: string;
    request_method?: string;
    extra_headers?: Record<string, string>;
    upstream_headers?: string[];
    client_headers?: string[];
    timeout?: number;
    allow_degradation?: boolean;
    status_on_error?: number;
  };
}
export interface ApisixConfig {
  plugin_configs: { id: string; plugins: ApisixPlugins }[];
  routes: { id: string; plugin_config_id: string; upstream_id: string }[];
  upstreams: { id: string }[];
}

/** Sends a request of a consumer through proxy-rewrite and forward-auth of a route. */
export async function throughApisix(
  config: ApisixConfig,
  route: string,
  { consumer, ...request }: Incoming & { consumer: string },
  ask: Ask,
): Promise<Outcome> {
  const id = config.routes.find((each) => each.id === route)?.plugin_config_id;
  const { plugins } = config.plugin_configs.find((each) => each.id === id)!;
  const resolved = (text: string) => text.replaceAll("$consumer_name", consumer);

  const headers = { ...request.headers };
  const { set, remove } = plugins["proxy-rewrite"].headers;
  for (const [header, value] of Object.entries(set)) put(headers, header, resolved(value));
  for (const header of remove) put(headers, header, null);

  const auth = plugins["forward-auth"];
  const told = forwarded(request);
  for (const [header, value] of Object.entries(auth.extra_headers ?? {})) {
    put(told, header, resolved(value));
  }
  const sent = { method: auth.request_method ?? "GET", url: auth.uri, headers: told };
  const answer = await ask(sent).catch(() => undefined);
  if (answer === undefined) {
    if (auth.allow_degradation === true) return { status: 200, headers: {}, app: headers };
    return { status: auth.status_on_error ?? 403, headers: {} };
  }
  if (answer.status >= 300) {
    const shown: Record<string, string> = {};
    for (const header of auth.client_headers ?? []) put(shown, header, answer.headers.get(header));
    return { status: answer.status, headers: shown };
  }
  for (const header of auth.upstream_headers ?? []) {
    put(headers, header, answer.headers.get(header));
  }
  return { status: 200, headers: {}, app: headers };
}

function put(headers: Record<string, string>, name: string, value: string | null): void {
  if (value === null) delete headers[name.toLowerCase()];
  else headers[name.toLowerCase()] = value;
}
