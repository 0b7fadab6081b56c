// Usage meter of one HTTP thread. SPEC §1: being scored is free, reading a score is the paid operation,
// so reads are counted by key and UTC day; reports are counted beside them at no price. Counts are
// cells of shared memory: the main thread journals them (service/usage/usage-journal-writer.ts).
import { DAY_MS } from "../../contract/units.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { isReservedAgent } from "../../contract/identifiers.ts";
import type { Principal } from "../../contract/principal.ts";
import {
  addUsage,
  formatDayNumber,
  createUsageCounts,
  type PaidRead,
  USAGE_KINDS,
  type UsageRow,
} from "../../contract/usage.ts";
import { createUsageMemory, KEYS_COUNTED_MAX, visitUsage, UsageWriter } from "./usage-memory.ts";

/** Whose a row is. */
export interface UsageAccount {
  readonly keyId: string;
  readonly tenant: string;
}

export interface UsageMeterOptions {
  /** Epoch ms. */
  readonly now: () => number;
  /** Of this thread; its own when left out. */
  readonly memory?: SharedArrayBuffer | undefined;
  /** A number for each key, the same on every thread; counted as keys come when left out. */
  readonly findKeyNumber?: ((keyId: string) => number) | undefined;
}

const TEST_INDEX = USAGE_KINDS.indexOf("test");
const OUTCOMES_INDEX = USAGE_KINDS.indexOf("outcomes");

export class UsageMeter {
  readonly #now: () => number;
  readonly #memory: SharedArrayBuffer;
  readonly #cells: UsageWriter;
  readonly #findKeyNumber: ((keyId: string) => number) | undefined;
  readonly #slots = new Map<string, number>();
  /** Accounts by number, where this meter counts them itself. */
  readonly #accounts: UsageAccount[] = [];
  /** Key of the last request: a thread's next request is mostly the same caller's. */
  #lastKeyId = "";
  #lastSlot = 0;

  constructor({ now, memory = createUsageMemory(), findKeyNumber }: UsageMeterOptions) {
    this.#now = now;
    this.#memory = memory;
    this.#cells = new UsageWriter(memory);
    this.#findKeyNumber = findKeyNumber;
  }

  /** One read about `agent`; free where that is a reserved test agent. */
  countRead(principal: Principal, kind: PaidRead, agent: string): void {
    const index = isReservedAgent(agent) ? TEST_INDEX : USAGE_KINDS.indexOf(kind);
    this.#add(principal, index, 1);
  }

  /** One handshake: a single read, although it scores two; free where either is a test agent. */
  countHandshake(principal: Principal, initiator: string, counterparty: string): void {
    const known = isReservedAgent(initiator) ? initiator : counterparty;
    this.countRead(principal, "handshake", known);
  }

  /** Scores in one answer of that kind, and those among them of test agents. */
  countReads(principal: Principal, kind: PaidRead, answered: number, ofTestAgents: number): void {
    const paid = answered - ofTestAgents;
    if (paid > 0) this.#add(principal, USAGE_KINDS.indexOf(kind), paid);
    if (ofTestAgents > 0) this.#add(principal, TEST_INDEX, ofTestAgents);
  }

  countOutcomes(principal: Principal, count: number): void {
    if (count > 0) this.#add(principal, OUTCOMES_INDEX, count);
  }

  /** All that this meter has counted, where it numbers the keys itself. */
  rows(meter: string): UsageRow[] {
    const rows: UsageRow[] = [];
    visitUsage(this.#memory, (number, day, counts) => {
      const { keyId, tenant } = this.#accounts[number] as UsageAccount;
      const sums = createUsageCounts();
      addUsage(sums, counts);
      rows.push({ meter, day: formatDayNumber(day), key_id: keyId, tenant, ...sums });
    });
    return rows;
  }

  #add(principal: Principal, kind: number, count: number): void {
    const day = Math.floor(this.#now() / DAY_MS);
    this.#cells.add(this.#findOrAllocateSlot(principal), day, kind, count);
  }

  #findOrAllocateSlot({ keyId, tenant }: Principal): number {
    if (this.#lastKeyId === keyId) return this.#lastSlot;
    const slot = this.#slots.get(keyId) ?? this.#allocateSlot(keyId, tenant);
    this.#lastKeyId = keyId;
    this.#lastSlot = slot;
    return slot;
  }

  /** @throws ServiceFault `overloaded`: what cannot be counted is not answered. */
  #allocateSlot(keyId: string, tenant: string): number {
    const number = this.#findKeyNumber?.(keyId) ?? this.#accounts.push({ keyId, tenant }) - 1;
    const slot = this.#cells.allocateSlot(number);
    if (slot === undefined) {
      const detail = `more than ${KEYS_COUNTED_MAX} keys have asked since the start`;
      throw new ServiceFault("overloaded", detail);
    }
    this.#slots.set(keyId, slot);
    return slot;
  }
}
