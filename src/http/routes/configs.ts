// Routes of scoring configs that are or were live: where each came from, all its weights, and how it
// differs from another.
import { ServiceFault } from "../../contract/faults.ts";
import type { Configs, ConfigSummary } from "../../kaizen/kaizen.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const VERSION = /^c-[0-9a-f]{16}$/;
const EXAMPLE = "c-0123456789abcdef";

export const CONFIG_ROUTES: readonly Route[] = [
  {
    name: "list_configs",
    method: "GET",
    path: "/v1/configs",
    summary: "Scoring configs that are or were live, with the runs that made them so",
    access: "kaizen:run",
    responses: { 200: { description: "The configs, the live one first", schema: "ConfigList" } },
    isSynchronous: true,
    handle: (exchange) => {
      const configs = configsOf(exchange).list();
      return exchange.document(200, { configs: configs.map((each) => shown(exchange, each)) });
    },
  },
  {
    name: "read_config",
    method: "GET",
    path: "/v1/configs/{version}",
    parameter: { description: "Version of the config, or `active`", example: EXAMPLE },
    summary: "One scoring config with its weights; with `against` what differs from another",
    access: "kaizen:run",
    query: { against: { description: "Version of another, or `active`", example: EXAMPLE } },
    responses: { 200: { description: "The config", schema: "ConfigDocument" } },
    isSynchronous: true,
    handle: readConfig,
  },
];

function configsOf({ services: { kaizen } }: Exchange): Configs {
  if (kaizen !== undefined) return kaizen.configs;
  throw new ServiceFault("not_found", "this service runs without kaizen");
}

function readConfig(exchange: Exchange): Reply {
  const configs = configsOf(exchange);
  const version = exchange.decodedParameter();
  const against = new URLSearchParams(exchange.head.query).get("against") ?? undefined;
  if (against !== undefined && against !== "active" && !VERSION.test(against)) {
    const detail = "`against` must be `active` or the version of a config, `c-` and 16 hex digits";
    throw new ServiceFault("invalid_parameter", detail);
  }
  const found = configs.find(version, against);
  if (found !== undefined) return exchange.document(200, shown(exchange, found));
  const missing = configs.find(version) === undefined ? version : against;
  throw new ServiceFault("not_found", `no config \`${missing}\` is on file`);
}

function shown<Config extends ConfigSummary>({ services }: Exchange, config: Config) {
  return { ...config, replayable: services.bureau.holdsConfig(config.version) };
}
