// Settings of what the service tells: its log.
import { LOG_FORMATS, LOG_LEVELS } from "../../platform/log.ts";
import { createChoiceKind, type Setting } from "./setting-kinds.ts";

export const LOG_SETTINGS = {
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
} satisfies Record<string, Setting>;
