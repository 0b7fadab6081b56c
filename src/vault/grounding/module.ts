// Grounding module and its memory: one shared memory per process, one instance per thread. Separate
// from the engine's memory, so that texts can never crowd out the agent table.
import { readBuiltModule } from "../../platform/built-module.ts";

const INITIAL_PAGES = 128;
/** 65,536 pages: 4 GiB, declared cheaply and grown as scratches and indexes are made. */
const MAXIMUM_PAGES = 65_536;

/** Exports of the module; test/vault/grounding/abi.test.ts compares them with this list. */
export interface GroundingExports {
  initialise(): number;
  addWord(hash: number, flags: number, digits: number, whole: number): void;
  addWeight(stem: number, weight: number): void;
  openScratch(): number;
  buildDocument(scratch: number, textUnits: number, leafUnits: number): number;
  publishDocument(number: number, document: number): void;
  freeDocument(document: number): number;
  score(
    scratch: number,
    textUnits: number,
    questionUnits: number,
    cited: number,
    topShare: number,
  ): number;
}

const MODULE = new URL("../../../build/grounding.wasm", import.meta.url);

/** A new, empty memory. The writer fills it, readers receive it by message. */
export function createGroundingMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true });
}

/**
 * Compiles and instantiates the module over `memory`.
 * @throws BuildMissing
 */
export function instantiateGrounding(memory: WebAssembly.Memory): GroundingExports {
  const module = new WebAssembly.Module(readBuiltModule(MODULE));
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  return instance.exports as unknown as GroundingExports;
}
