// Log of a further HTTP thread: its lines are written by the main one.
import type { HttpLogger } from "../../http/services.ts";
import type { MessageFromHttpThread } from "./messages.ts";

type LogLineMessage = Extract<MessageFromHttpThread, { kind: "log" }>;

/** `isDebugLogged`: whether lines of that level are wanted. */
export function createForwardingLogger(
  tell: (line: LogLineMessage) => void,
  isDebugLogged: boolean,
): HttpLogger {
  const say =
    (level: LogLineMessage["level"]): HttpLogger["info"] =>
    (message, fields) =>
      tell({ kind: "log", level, message, fields });
  const logger = { info: say("info"), warn: say("warn"), error: say("error") };
  return isDebugLogged ? { ...logger, debug: say("debug") } : logger;
}
