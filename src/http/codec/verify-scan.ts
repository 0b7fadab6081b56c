// Fast path into a verify request (SPEC §2.2): the bytes go into this thread's private module, one
// call finds the place of each member and the texts met before: these have a string, the others are
// cut out of the body's. Any body but the plain one that a gateway sends, sound or broken, is left
// to contract/parse/json.ts and contract/parse/requests.ts: this path accepts or declines and never
// reports a fault.
//
// INVARIANT (same answer): a body accepted here is accepted by the general path with an equal
// value. test/http/codec/verify-scan.test.ts checks it on generated and damaged bodies.
import {
  ACTION_START,
  AGENT_START,
  BODY_BASE,
  BODY_BYTES_MAX,
  HASH_LENGTH,
  HASH_START,
  KEPT_ACTION,
  KEPT_AGENT,
  KEPT_SLOTS,
  KEPT_SOURCES,
  LEVEL,
  LEVELS,
  REPLACED,
  RESULT_BASE,
  RESULT_WORDS,
  SESSION,
  SOURCE_COUNT,
  SOURCES,
  STAKES,
} from "../../../assembly/wire/layout.ts";
import { isScoredId } from "../../contract/identifiers.ts";
import type { VerifyContext, VerifyRequest } from "../../contract/schemas/scores.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import { readBuiltModule } from "../../platform/built-module.ts";

/** Exports of the module. */
interface ScanExports {
  readonly memory: WebAssembly.Memory;
  scan(length: number): number;
}

const EMPTY = Buffer.alloc(0);
const MODULE = new URL("../../../build/wire.wasm", import.meta.url);

/**
 * The module, instantiated for this thread.
 * @throws BuildMissing
 */
function instantiateScanModule(): ScanExports {
  const module = new WebAssembly.Module(readBuiltModule(MODULE));
  return new WebAssembly.Instance(module, {}).exports as unknown as ScanExports;
}

class VerifyScanner {
  readonly #exports: ScanExports;
  readonly #input: Uint8Array;
  readonly #words: Int32Array;
  /** By slot: the string of a text met twice. Once made it is hashed and laid out flat for good. */
  readonly #kept: (string | undefined)[] = Array.from({ length: KEPT_SLOTS });
  /** By slot: 1 where the string is known to name an agent that is scored. */
  readonly #isAgent = new Uint8Array(KEPT_SLOTS);
  /** The body under way, and as a string once a text has to be cut out of it. */
  #body: Buffer = EMPTY;
  #text = "";

  constructor(exports: ScanExports) {
    const { memory } = exports;
    this.#exports = exports;
    this.#input = new Uint8Array(memory.buffer, BODY_BASE, BODY_BYTES_MAX);
    this.#words = new Int32Array(memory.buffer, RESULT_BASE, RESULT_WORDS);
  }

  read(body: Buffer): VerifyRequest | undefined {
    const { length } = body;
    if (length > BODY_BYTES_MAX) return undefined;
    this.#input.set(body);
    if (this.#exports.scan(length) !== 1) return undefined;
    const words = this.#words;
    this.#body = body;
    const agentId = this.#textAt(AGENT_START, KEPT_AGENT);
    const isSound = this.#isScoredAgent(agentId);
    // Read to the end even so: a slot that the module has replaced must lose its string.
    const request: VerifyRequest = {
      agent_id: agentId,
      action: this.#textAt(ACTION_START, KEPT_ACTION),
      tool_level: TOOL_LEVELS[words[LEVEL]!]!,
      context: this.#context(),
    };
    const stakes = words[STAKES]!;
    if (stakes >= 0) request.stakes = stakes;
    const levels = words[LEVELS]!;
    if (levels >= 0) request.levels = levels === 1;
    this.#body = EMPTY;
    this.#text = "";
    return isSound ? request : undefined;
  }

  /** Looks at a text once while its slot keeps it. Call it before another text takes the slot. */
  #isScoredAgent(agentId: string): boolean {
    const slot = this.#words[KEPT_AGENT]!;
    if (slot >= 0 && this.#isAgent[slot] === 1) return true;
    if (!isScoredId(agentId)) return false;
    if (slot >= 0) this.#isAgent[slot] = 1;
    return true;
  }

  /** Texts are read in the order in which the module kept them: a slot may be reused. */
  #context(): VerifyContext {
    const words = this.#words;
    const context: VerifyContext = {};
    const count = words[SOURCE_COUNT]!;
    if (count >= 0) {
      const sources: string[] = [];
      for (let index = 0; index < count; index += 1) {
        sources.push(this.#textAt(SOURCES + 2 * index, KEPT_SOURCES + index));
      }
      context.cited_sources = sources;
    }
    const hash = words[HASH_START]!;
    if (hash >= 0) context.content_hash = this.#cut(hash, hash + HASH_LENGTH);
    const seconds = words[SESSION]!;
    if (seconds >= 0) context.session_duration_sec = seconds;
    return context;
  }

  #textAt(bounds: number, keptAt: number): string {
    const slot = this.#words[keptAt]!;
    const [start, end] = [this.#words[bounds]!, this.#words[bounds + 1]!];
    if (slot >= 0) return (this.#kept[slot] ??= this.#body.toString("latin1", start, end));
    // A text met for the first time is mostly one of many: it gets its string when it comes again.
    if (slot <= REPLACED) {
      this.#kept[REPLACED - slot] = undefined;
      this.#isAgent[REPLACED - slot] = 0;
    }
    if (this.#text === "") this.#text = this.#body.toString("latin1");
    return this.#text.substring(start, end);
  }

  /** Text that differs from request to request. Accepted bytes are ASCII. */
  #cut(start: number, end: number): string {
    return this.#text === ""
      ? this.#body.toString("latin1", start, end)
      : this.#text.substring(start, end);
  }
}

const scanner = new VerifyScanner(instantiateScanModule());

/** The request in a plain body; undefined: use the general parser. Holds no reference to `body`. */
export function scanVerifyRequest(body: Buffer): VerifyRequest | undefined {
  return scanner.read(body);
}
