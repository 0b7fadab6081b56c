// Shared linear memory and the module that works on it. Every thread instantiates the same module
// over the same memory; static data is constant, so a new instance disturbs nothing.
import { readBuiltModule } from "../platform/built-module.ts";

const INITIAL_PAGES = 128;
/** 65,536 pages: 4 GiB, declared cheaply and grown by the writer alone. */
const MAXIMUM_PAGES = 65_536;

/** Exports of the WASM module; test/engine/abi.test.ts holds it to this list. */
export interface EngineExports {
  initialise(seed: bigint): number;
  beginConfig(): number;
  commitConfig(): number;
  fold(
    slot: number,
    subjectLength: number,
    reporterLength: number,
    failure: number,
    stakes: number,
    grade: number,
    signature: number,
    voice: number,
    timeMs: number,
    hourMs: number,
    incident: number,
  ): number;
  /** Of the last `fold` by this instance. */
  countedShare(): number;
  assess(slot: number, length: number, asker: number, unverified: number, timeMs: number): number;
  check(slot: number, length: number, stakes: number, nowMs: number): number;
  handshake(
    slot: number,
    initiatorLength: number,
    counterpartyLength: number,
    stakes: number,
    nowMs: number,
  ): void;
  rejudge(slot: number, number: number, model: number, stakes: number): number;
  scoreRange(slot: number, first: number, count: number, nowMs: number): number;
  find(slot: number, length: number): number;
  copy(slot: number, row: number): void;
  setStandings(isInForce: number, stakesHigh: number): void;
  setStanding(
    slot: number,
    length: number,
    flags: number,
    credibility: number,
    cluster: number,
  ): number;
  setMark(slot: number, length: number, mark: number, isSet: number): number;
  needOf(
    slot: number,
    subjectLength: number,
    reporterLength: number,
    signature: number,
    voice: number,
    incident: number,
  ): number;
  hasRoomFor(rows: number, identifierBytes: number, pairs: number): number;
}

const MODULE = new URL("../../build/trustrank.wasm", import.meta.url);

/** A new, empty shared memory. One process has one; threads receive it by message. */
export function createEngineMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true });
}

/**
 * The compiled module, as built.
 * @throws BuildMissing
 */
export function readEngineModule(): Buffer<ArrayBuffer> {
  return readBuiltModule(MODULE);
}

/**
 * Compiles and instantiates the module over `memory`.
 * @throws BuildMissing
 */
export function instantiateEngine(memory: WebAssembly.Memory): EngineExports {
  const module = new WebAssembly.Module(readEngineModule());
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  return instance.exports as unknown as EngineExports;
}
