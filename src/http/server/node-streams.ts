// Small pieces of the node:http adapter: a response as the sink of a streamed body, and a request
// target in its two parts.
import type http from "node:http";
import type { BodySink } from "./body-pump.ts";

/** The response as the pump of streamed bodies writes to it. */
export function sinkOf(response: http.ServerResponse): BodySink {
  let wake = (): void => undefined;
  for (const event of ["drain", "close"]) response.on(event, () => wake());
  return {
    isOpen: () => !response.destroyed,
    write: (part) => response.write(part),
    onDrained: (call) => void (wake = call),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  };
}

/** Path and query of a request target; the query without its mark, empty where there is none. */
export function splitTarget(target: string): [string, string] {
  const mark = target.indexOf("?");
  return mark < 0 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)];
}
