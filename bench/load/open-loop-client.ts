// Open loops from the side of a bench: their processes, on cores of their own where asked, and what
// their histograms say.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { decodeFromCompressedBase64, type Histogram } from "hdr-histogram-js";
import { histogram, type Offered, type Plan } from "./open-loop.ts";

const SCRIPT = fileURLToPath(new URL("open-loop-process.ts", import.meta.url));

export interface Generator {
  /** One plan at a time. @throws Error when the process ends or cannot connect. */
  run(plan: Plan): Promise<Offered>;
  /** Ends the plan that runs. */
  stop(): void;
  close(): Promise<void>;
}

/** Starts the process; `cores` as taskset takes them. */
export function startGenerator(cores?: string): Generator {
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", SCRIPT];
  const [program, ...rest] = cores === undefined ? node : ["taskset", "-c", cores, ...node];
  const child = spawn(program!, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const gone = once(child, "exit");
  return {
    async run(plan) {
      child.send(plan);
      const ended = gone.then(() => {
        throw new Error("the generator has ended");
      });
      const answer = await Promise.race([once(child, "message"), ended]);
      const [message] = answer as [{ offered?: Offered; error?: string }];
      if (message.offered === undefined) throw new Error(message.error);
      return message.offered;
    },
    stop: () => void (child.connected && child.send("stop")),
    async close() {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

/** Several runs as one. */
export function merged(texts: readonly string[]): Histogram {
  const all = histogram();
  for (const text of texts) all.add(decodeFromCompressedBase64(text, 32, false));
  return all;
}

/** Milliseconds below which `percent` of the requests lie. */
export function msAt(values: Histogram, percent: number): number {
  return Number((values.getValueAtPercentile(percent) / 1000).toFixed(2));
}
