// Log of the running service: one JSON object per line on stderr, for a log collector. Never holds
// secrets or bodies; callers give facts, not sentences.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Makes a log that passes finished lines to `write`. `clock` is epoch ms. */
export function makeLog(write: (line: string) => void, clock: () => number): Log {
  const say = (level: string, message: string, fields: LogFields | undefined) => {
    const time = new Date(clock()).toISOString();
    write(`${JSON.stringify({ time, level, message, ...fields })}\n`);
  };
  return {
    info: (message, fields) => say("info", message, fields),
    warn: (message, fields) => say("warn", message, fields),
    error: (message, fields) => say("error", message, fields),
  };
}
