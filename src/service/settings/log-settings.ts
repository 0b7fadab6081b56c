// Settings of the service log, the access log, and traces. The variables of traces are those that OpenTelemetry defines.
import { LOG_FORMATS, LOG_LEVELS } from "../../platform/log.ts";
import {
  createChoiceKind,
  createDecimalKind,
  type Setting,
  createCheckedTextKind,
} from "./setting-kinds.ts";

const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;

/** Path of spans below the base address of a collector. */
export const TRACES_PATH = "v1/traces";

const httpUrlKind = createCheckedTextKind(
  "an address that begins with `http://` or `https://`",
  (given) => {
    return /^https?:\/\//.test(given) && URL.canParse(given);
  },
);

export const LOG_AND_TRACE_SETTINGS = {
  logLevel: {
    flag: "--log-level <level>",
    variables: ["TRUSTRANK_LOG_LEVEL"],
    kind: createChoiceKind(LOG_LEVELS),
    default: "info" as const,
    sentence: "least severe log lines that are written; `debug` tells of every refused request",
  },
  logFormat: {
    flag: "--log-format <format>",
    variables: ["TRUSTRANK_LOG_FORMAT"],
    kind: createChoiceKind(LOG_FORMATS),
    default: undefined,
    defaultText: "human at a terminal, else json",
    sentence: "form of the log on stderr: one JSON object a line, or text for people",
  },
  accessLog: {
    flag: "--access-log <share>",
    variables: ["TRUSTRANK_ACCESS_LOG"],
    kind: createDecimalKind(0, 1),
    default: 0,
    sentence: "share of the requests that have a line in the log: 0 for none, 0.01, 1 for all",
  },
  otlpEndpoint: {
    variables: ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    kind: httpUrlKind,
    default: undefined,
    sentence: "OpenTelemetry collector that takes OTLP over HTTP; spans of requests are sent to it",
  },
  otlpTracesEndpoint: {
    variables: ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
    kind: httpUrlKind,
    default: undefined,
    defaultText: `\`${TRACES_PATH}\` below that`,
    sentence: "its whole address for spans",
  },
  tracesSampler: {
    variables: ["OTEL_TRACES_SAMPLER"],
    kind: createChoiceKind(SAMPLERS),
    default: "parentbased_always_on" as const,
    sentence:
      "which requests have a span; `parentbased_...`: as `traceparent` says where there is one",
  },
  tracesSamplerArg: {
    variables: ["OTEL_TRACES_SAMPLER_ARG"],
    kind: createDecimalKind(0, 1),
    default: 1,
    sentence: "share of the requests that `traceidratio` chooses",
  },
  otelDisabled: {
    variables: ["OTEL_SDK_DISABLED"],
    kind: createChoiceKind(["true", "false"]),
    default: "false" as const,
    sentence: "`true`: no spans, whatever else is set",
  },
} satisfies Record<string, Setting>;
