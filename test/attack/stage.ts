// Stage of the attacks: the real service as a child process, keys as an operator makes them, a
// watch on its memory, and another tenant who asks for verdicts all the while.
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { ADMIN_KEY, type ServerProcess } from "../../bench/server-process.ts";
import type { Outcome } from "./attack.ts";
import { type Waits, waitsDuring } from "./bystander.ts";
import { type Reply, send } from "./send.ts";
import {
  type AdapterName,
  ADAPTERS,
  isAlive,
  type LoggedService,
  type SharedServices,
  startLogged,
} from "./shared.ts";

const MIB_KIB = 1024;
const MEMORY_EVERY_MS = 50;
const NORMAL_MS = 3000;
const NORMAL_SHORT_MS = 300;
/** Time within which the service is to be as before, for `untilNormal`. */
const NORMAL_WITHIN_MS = 60_000;

export interface StageOptions {
  readonly isShort: boolean;
  readonly minutes: number;
  readonly seed: number;
  readonly shared: SharedServices;
}

export interface Asking {
  readonly method?: string;
  readonly key?: string;
  readonly body?: string | Uint8Array | object;
  readonly headers?: Record<string, string>;
}

export class AttackStage {
  /** A run for the tests: seconds instead of minutes, the same steps. */
  readonly isShort: boolean;
  /** How long an attack without an end of its own lasts. */
  readonly durationMs: number;
  readonly seed: number;
  readonly #services: ServerProcess[] = [];
  readonly #agent = new Agent({ keepAlive: true });
  readonly #shared: SharedServices;

  constructor({ isShort, minutes, seed, shared }: StageOptions) {
    this.isShort = isShort;
    this.durationMs = minutes * 60_000;
    this.seed = seed;
    this.#shared = shared;
  }

  /**
   * Plays on both HTTP servers, each on the service that attacks share, in the short form at once:
   * figures get the server's name in front, and a service that has ended is broken.
   */
  async onBoth(play: (service: ServerProcess, adapter: AdapterName) => Promise<Outcome>) {
    const playOn = async (adapter: AdapterName): Promise<Outcome> => {
      const service = await this.#shared.get(adapter);
      const { broken, figures } = await play(service, adapter);
      const ended = (await isAlive(service)) ? [] : ["the service has ended"];
      const logged = service.failures().map((line) => `logged ${line}`);
      return {
        broken: [...broken, ...ended, ...logged].map((why) => `${adapter}: ${why}`),
        figures: Object.fromEntries(
          Object.entries(figures).map(([name, value]) => [`${adapter}_${name}`, value]),
        ),
      };
    };
    const outcomes: Outcome[] = [];
    if (this.isShort) outcomes.push(...(await Promise.all(ADAPTERS.map(playOn))));
    else for (const adapter of ADAPTERS) outcomes.push(await playOn(adapter));
    return {
      broken: outcomes.flatMap(({ broken }) => broken),
      figures: Object.assign({}, ...outcomes.map(({ figures }) => figures)) as Record<
        string,
        number
      >,
    };
  }

  /** The same with another tenant beside it, who has to be answered; not in the short form. */
  watchedOnBoth(play: (service: ServerProcess, adapter: AdapterName) => Promise<Outcome>) {
    if (this.isShort) return this.onBoth(play);
    return this.onBoth(async (service, adapter) => {
      let outcome: Outcome = { broken: ["it was not played"], figures: {} };
      const watched = await this.watch(service, async () => {
        outcome = await play(service, adapter);
      });
      return {
        broken: [...outcome.broken, ...othersFailed(watched)],
        figures: { ...outcome.figures, ...figuresOf(watched) },
      };
    });
  }

  /** Starts the service on a fresh directory with its defaults, but for `flags` of `serve`. */
  start(...flags: string[]): Promise<LoggedService> {
    return this.startWith({}, ...flags);
  }

  /** The same with settings as environment variables. */
  startWith(env: Record<string, string>, ...flags: string[]): Promise<LoggedService> {
    return this.#startUnder([], env, flags);
  }

  /** The same under a limit of open descriptors. */
  startLimited(descriptors: number, env: Record<string, string>): Promise<LoggedService> {
    return this.#startUnder(["sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`], env, []);
  }

  async #startUnder(
    runner: readonly string[],
    env: Record<string, string>,
    flags: readonly string[],
  ): Promise<LoggedService> {
    const service = await startLogged({ env, runner }, ...flags);
    this.#services.push(service);
    return service;
  }

  /** Stops what was started and is still there. */
  async close(): Promise<void> {
    this.#agent.destroy();
    for (const service of this.#services.splice(0)) await service.stop();
  }

  /** One request; an object as body is sent as JSON. Rejects when the connection fails. */
  async ask(service: ServerProcess, path: string, asking: Asking = {}): Promise<Reply> {
    const { body } = asking;
    const isBytes = typeof body === "string" || body instanceof Uint8Array;
    const bytes = body === undefined || isBytes ? body : JSON.stringify(body);
    const headers: Record<string, string> = {
      authorization: `Bearer ${asking.key ?? ADMIN_KEY}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...asking.headers,
    };
    const method = asking.method ?? (body === undefined ? "GET" : "POST");
    return send(`${service.url}${path}`, { agent: this.#agent, method, headers }, bytes);
  }

  /** A key of `tenant` with these scopes. */
  async makeKey(service: ServerProcess, tenant: string, scopes: readonly string[], more = {}) {
    const made = await this.ask(service, "/v1/keys", { body: { tenant, scopes, ...more } });
    if (made.status !== 201) throw new Error(`POST /v1/keys: ${made.status} ${made.text}`);
    return (JSON.parse(made.text) as { key: string }).key;
  }

  /** What another tenant waits for `service` while `work` goes on. */
  async othersDuring(service: ServerProcess, work: () => Promise<void>): Promise<Waits> {
    const key = await this.makeKey(service, "bystander", ["score:read"]);
    return waitsDuring({ url: service.url, key }, work);
  }

  /** Plays `attack` while the memory is watched and another tenant asks, before and meanwhile. */
  async watch(service: ServerProcess, attack: () => Promise<void>): Promise<Watched> {
    const key = await this.makeKey(service, "bystander", ["score:read"]);
    const normalMs = this.isShort ? NORMAL_SHORT_MS : NORMAL_MS;
    const before = await waitsDuring({ url: service.url, key }, () => delay(normalMs));
    const memoryBeforeMib = memoryMib(service.pid);
    const memory = watchMemory(service.pid);
    const during = await waitsDuring({ url: service.url, key }, attack).finally(memory.stop);
    const startedAt = performance.now();
    const isNormal = await this.#untilNormal(service, key, before);
    return {
      before,
      during,
      memoryBeforeMib,
      memoryPeakMib: memory.peakMib(),
      untilNormalMs: isNormal ? performance.now() - startedAt : Number.POSITIVE_INFINITY,
    };
  }

  async #untilNormal(service: ServerProcess, key: string, before: Waits): Promise<boolean> {
    const deadline = performance.now() + NORMAL_WITHIN_MS;
    while (performance.now() < deadline) {
      const now = await waitsDuring({ url: service.url, key }, () => delay(NORMAL_SHORT_MS));
      if (now.failed === 0 && now.p50 < 2 * before.p50 + 1) return true;
    }
    return false;
  }
}

export interface Watched {
  /** Another tenant's waits before the attack and during it. */
  readonly before: Waits;
  readonly during: Waits;
  readonly memoryBeforeMib: number;
  readonly memoryPeakMib: number;
  /** From the attack's end until the other tenant is answered as before; Infinity after a minute. */
  readonly untilNormalMs: number;
}

/** What the other tenant did not get, as a sentence; empty when it got everything. */
export function othersFailed({ during }: Watched): string[] {
  const { failed, asked, failure } = during;
  return failed === 0 ? [] : [`${failed} of others' ${asked} failed: ${failure.slice(0, 200)}`];
}

/** The figures every attack shows. */
export function figuresOf(watched: Watched): Record<string, number> {
  return {
    memory_before_mib: Math.round(watched.memoryBeforeMib),
    memory_peak_mib: Math.round(watched.memoryPeakMib),
    others_p99_before_ms: rounded(watched.before.p99),
    others_p99_ms: rounded(watched.during.p99),
    others_failed: watched.during.failed,
    until_normal_ms: Math.round(watched.untilNormalMs),
  };
}

/** Resident memory of a process; 0 once it is gone. */
export function memoryMib(pid: number): number {
  try {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kib ?? 0) / MIB_KIB;
  } catch {
    return 0;
  }
}

function watchMemory(pid: number) {
  let peak = memoryMib(pid);
  const timer = setInterval(() => (peak = Math.max(peak, memoryMib(pid))), MEMORY_EVERY_MS);
  return { stop: () => clearInterval(timer), peakMib: () => peak };
}

/** Resolves after `ms`: an attack is real time against a real process. */
export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
