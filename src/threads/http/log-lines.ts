// Log of a further HTTP thread: its lines are written by the main one.
import type { HttpLogger } from "../../http/services.ts";
import type { FromHttpThread } from "./messages.ts";

type Line = Extract<FromHttpThread, { kind: "log" }>;

/** `isDebugLogged`: whether lines of that level are wanted. */
export function loggerTo(tell: (line: Line) => void, isDebugLogged: boolean): HttpLogger {
  const say =
    (level: Line["level"]): HttpLogger["info"] =>
    (message, fields) =>
      tell({ kind: "log", level, message, fields });
  const logger = { info: say("info"), warn: say("warn"), error: say("error") };
  return isDebugLogged ? { ...logger, debug: say("debug") } : logger;
}
