// The fast way into a verify request (SPEC §2.2): the bytes go into this thread's private module,
// one call says where each member stands, and the texts are cut out of one string. Anything but
// the plain body that a gateway sends, sound or broken, is left to contract/parse-json.ts and
// parse-requests.ts: this path accepts or declines, it never reports a fault.
//
// INVARIANT (same answer): whatever is accepted here, the general path accepts with an equal value.
// test/http/verify-scan.test.ts holds it on generated and damaged bodies.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  ACTION_END,
  ACTION_START,
  AGENT_END,
  AGENT_START,
  BODY_BASE,
  BODY_BYTES_MAX,
  HASH_LENGTH,
  HASH_START,
  LEVEL,
  RESULT_BASE,
  RESULT_WORDS,
  SESSION,
  SOURCE_COUNT,
  SOURCES,
  STAKES,
} from "../../assembly/wire/layout.ts";
import type { VerifyContext, VerifyRequest } from "../contract/messages.ts";
import { TOOL_LEVELS } from "../contract/vocabulary.ts";

/** What the module exports. */
interface ScanExports {
  readonly memory: WebAssembly.Memory;
  scan(length: number): number;
}

const MODULE_PATH = fileURLToPath(new URL("../../build/wire.wasm", import.meta.url));

/** The module, instantiated for this thread. Throws when the build is missing. */
function instantiateScan(): ScanExports {
  const module = new WebAssembly.Module(readFileSync(MODULE_PATH));
  return new WebAssembly.Instance(module, {}).exports as unknown as ScanExports;
}

class VerifyScanner {
  readonly #exports: ScanExports;
  readonly #input: Uint8Array;
  readonly #words: Int32Array;

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
    // What was accepted is ASCII.
    const text = body.toString("latin1");
    const request: VerifyRequest = {
      agent_id: text.substring(words[AGENT_START]!, words[AGENT_END]),
      action: text.substring(words[ACTION_START]!, words[ACTION_END]),
      tool_level: TOOL_LEVELS[words[LEVEL]!]!,
      context: contextOf(text, words),
    };
    const stakes = words[STAKES]!;
    if (stakes >= 0) request.stakes = stakes;
    return request;
  }
}

function contextOf(text: string, words: Int32Array): VerifyContext {
  const context: VerifyContext = {};
  const hash = words[HASH_START]!;
  if (hash >= 0) context.content_hash = text.substring(hash, hash + HASH_LENGTH);
  const sourceCount = words[SOURCE_COUNT]!;
  if (sourceCount >= 0) context.cited_sources = sourcesOf(text, words, sourceCount);
  const seconds = words[SESSION]!;
  if (seconds >= 0) context.session_duration_sec = seconds;
  return context;
}

function sourcesOf(text: string, words: Int32Array, count: number): string[] {
  const sources: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = SOURCES + 2 * index;
    sources.push(text.substring(words[at]!, words[at + 1]));
  }
  return sources;
}

const scanner = new VerifyScanner(instantiateScan());

/** The request in a plain body, or undefined: ask the general parser. Keeps nothing of `body`. */
export function scanVerify(body: Buffer): VerifyRequest | undefined {
  return scanner.read(body);
}
