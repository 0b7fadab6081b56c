// Runs of drawn requests against a service, judged one by one: what came of them, the replies that are
// wrong, and the seeds of those, kept as small files that are played first the next time.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { faultIn } from "../judge.ts";
import { REPLY_MS_MAX, requestBytes, Wire, type WireReply } from "../wire.ts";
import { type ByteChange, changedBytes } from "./documents.ts";
import type { DrawnRequest } from "./requests.ts";

/** Requests that were answered wrongly once: in the tree, so that they are played for ever. */
const SEEDS = fileURLToPath(new URL("../seeds/", import.meta.url));
/** Wait in ms for a reply to a damaged request, which the service may take for unfinished. */
const DAMAGED_MS = 150;
/** Files written by one run at most: a defect met a thousand times is one defect. */
const WRITTEN_MAX = 20;

export interface Wrong {
  readonly drawn: DrawnRequest;
  readonly why: string;
}

/** Counts of a run. */
export interface Tally {
  requests: number;
  /** By what came: a status, or why nothing came. */
  readonly kinds: Map<string, number>;
  slowestMs: number;
  readonly wrong: Wrong[];
}

export function newTally(): Tally {
  return { requests: 0, kinds: new Map(), slowestMs: 0, wrong: [] };
}

/** Plays requests one after the other on one connection, each judged. */
export class Fuzzer {
  readonly #wire: Wire;
  readonly #key: string;
  readonly #codes: ReadonlySet<string>;
  readonly tally: Tally;

  constructor(url: string, key: string, codes: ReadonlySet<string>, tally: Tally) {
    this.#wire = new Wire(url);
    this.#key = key;
    this.#codes = codes;
    this.tally = tally;
  }

  async play(drawn: DrawnRequest): Promise<void> {
    const { request, damage } = drawn;
    const { method } = request;
    const whole = new Uint8Array(requestBytes({ ...request, key: this.#key }));
    const isDamaged = damage.length > 0;
    const waitMs = isDamaged ? DAMAGED_MS : REPLY_MS_MAX;
    const reply = await this.#wire.send(damage.reduce(changedBytes, whole), { method, waitMs });
    // What stands behind the end that a damaged head gives is no reply to the next.
    if (isDamaged) this.#wire.close();
    const { tally } = this;
    tally.requests++;
    const kind = typeof reply === "string" ? reply : String(reply.status);
    tally.kinds.set(kind, (tally.kinds.get(kind) ?? 0) + 1);
    if (typeof reply !== "string") tally.slowestMs = Math.max(tally.slowestMs, reply.ms);
    const isExcused = isDamaged ? isAnyRefusal(reply) : isRefusedHead(request, reply);
    const why = isExcused ? undefined : faultIn(reply, request, this.#codes);
    if (why !== undefined) tally.wrong.push({ drawn, why });
  }

  close(): void {
    this.#wire.close();
  }
}

/** A damaged head may mean anything but a failure: another method, another length, or more to come. */
function isAnyRefusal(reply: WireReply | string): boolean {
  return typeof reply === "string" || reply.status < 500 || reply.status === 505;
}

/** The parser of the server itself refuses such a head, without a body or a word. */
function isRefusedHead(
  { path: target, headers }: DrawnRequest["request"],
  reply: WireReply | string,
) {
  const values = [target, ...Object.values(headers ?? {})].join("");
  const isOdd = /[^\x20-\x7e]/.test(values) || target.includes(" ") || target.includes("#");
  const isLong = values.length > 3500;
  if (typeof reply === "string") return isOdd && reply === "closed";
  return (
    (reply.status === 431 && isLong) || (reply.status === 400 && isOdd) || reply.status === 417
  );
}

interface SeedFile {
  why: string;
  operation: string;
  format: DrawnRequest["format"];
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
  damage?: ByteChange[];
}

/** Requests of earlier failures. */
export function keptSeeds(): DrawnRequest[] {
  const files = readdirSync(SEEDS).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((name) => {
    const kept = JSON.parse(readFileSync(path.join(SEEDS, name), "utf8")) as SeedFile;
    const { operation, format, method, path: target, headers, body, damage = [] } = kept;
    const bytes = body === undefined ? undefined : new Uint8Array(Buffer.from(body, "base64"));
    return { operation, format, damage, request: { method, path: target, headers, body: bytes } };
  });
}

/** Keeps the requests that were answered wrongly, one file each. */
export function keepSeeds(wrong: readonly Wrong[]): void {
  mkdirSync(SEEDS, { recursive: true });
  for (const { drawn, why } of wrong.slice(0, WRITTEN_MAX)) {
    const { method, path: target, headers = {}, body } = drawn.request;
    const kept: SeedFile = {
      why,
      operation: drawn.operation,
      format: drawn.format,
      method,
      path: target,
      headers: { ...headers },
      ...(body === undefined ? {} : { body: Buffer.from(body).toString("base64") }),
      ...(drawn.damage.length === 0 ? {} : { damage: [...drawn.damage] }),
    };
    const text = `${JSON.stringify(kept, undefined, 2)}\n`;
    const name = createHash("sha256").update(text).digest("hex").slice(0, 12);
    writeFileSync(path.join(SEEDS, `${drawn.operation}-${name}.json`), text);
  }
}

/** Sentences about what was wrong, one for each kind and route. */
export function sentencesOf({ wrong }: Tally): string[] {
  const byKind = new Map<string, number>();
  for (const { drawn, why } of wrong) {
    const kind = `${drawn.operation} (${drawn.format}): ${why.slice(0, 160)}`;
    byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
  }
  return [...byKind].slice(0, WRITTEN_MAX).map(([kind, count]) => `${kind} (${count} times)`);
}

/** Statuses of a run as figures. */
export function figuresOfTally({ requests, kinds, slowestMs }: Tally): Record<string, number> {
  const sorted = [...kinds].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return {
    requests,
    slowest_ms: Math.round(slowestMs),
    ...Object.fromEntries(sorted.map(([kind, count]) => [`answered_${kind}`, count])),
  };
}
