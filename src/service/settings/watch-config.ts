// Access log and traces as the flags, the environment and the file ask for them.
import type { TracedShare } from "../../http/request-watch.ts";
import { type Environment, readSetting } from "./settings.ts";
import { type TracesSamplerName, TRACES_PATH } from "./watch-settings.ts";

/** What is told of single requests. */
export interface WatchConfig {
  /** 0 to 1. */
  readonly accessLogShare: number;
  /** Undefined: no spans. */
  readonly traces: { readonly url: string; readonly shares: TracedShare } | undefined;
}

/** A sampler that is not known is refused only where it would be asked. @throws InvalidSetting */
export function parseWatchConfig(
  flags: { readonly accessLog?: string },
  environment: Environment,
): WatchConfig {
  const accessLogShare = readSetting("accessLog", flags.accessLog, environment);
  const endpoint = readSetting("otlpEndpoint", undefined, environment);
  const tracesEndpoint = readSetting("otlpTracesEndpoint", undefined, environment);
  const isOff = readSetting("otelDisabled", undefined, environment) === "true";
  if (isOff || (endpoint ?? tracesEndpoint) === undefined) {
    return { accessLogShare, traces: undefined };
  }
  const sampler = readSetting("tracesSampler", undefined, environment);
  const share = readSetting("tracesSamplerArg", undefined, environment);
  return { accessLogShare, traces: parseTracesConfig(endpoint, tracesEndpoint, sampler, share) };
}

/** `endpoint` is that of all signals, `tracesEndpoint` that of spans alone. */
function parseTracesConfig(
  endpoint: string | undefined,
  tracesEndpoint: string | undefined,
  sampler: TracesSamplerName,
  share: number,
): WatchConfig["traces"] {
  const below =
    endpoint === undefined ? undefined : `${endpoint.replace(/\/+$/, "")}/${TRACES_PATH}`;
  const url = tracesEndpoint ?? below;
  if (url === undefined) return undefined;
  const isParentBased = sampler.startsWith("parentbased_");
  const shareOf = sampler.endsWith("always_on") ? 1 : sampler.endsWith("always_off") ? 0 : share;
  return shareOf === 0 && !isParentBased
    ? undefined
    : { url, shares: { share: shareOf, isParentBased } };
}
