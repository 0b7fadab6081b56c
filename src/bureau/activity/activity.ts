// Calls and unsettled stakes of agents, as the deciding threads of one process count and hold them in shared memory, by
// agent and tenant: questions of one tenant change nothing for another. Each thread has its own view of the one memory.
import { LIMIT_CODES, type LimitCode } from "../../contract/activity/codes.ts";
import type { ActivitySource, HeldStakes, HourlyActivity } from "../../contract/activity/source.ts";
import { AgentSlots, selectActionBit } from "./agents.ts";
import { type HeldContents, HeldEncoder } from "./held-file.ts";
import { CHANGES, computeFade, HEADER_BYTES, LIMIT_COUNTS, SEED_WORDS } from "./layout.ts";
import { StakesSlots } from "./stakes.ts";
import { type HashKey, TextHash } from "./text-hash.ts";

/** Place of each code in the counts, and of its mark. */
const LIMIT_NUMBER = Object.fromEntries(
  LIMIT_CODES.map((code, index) => [code, index]),
) as Readonly<Record<LimitCode, number>>;
/** Keys and actions that one thread keeps as computed; then it begins anew. */
const KEYS_KEPT = 4096;
const ACTIONS_KEPT = 1024;

export class AgentActivity implements ActivitySource {
  readonly isKept = true;
  readonly #header: Uint32Array;
  readonly #agents: AgentSlots;
  readonly #stakes: StakesSlots;
  readonly #key = new TextHash();
  /** Keys of agents of the tenant that asked last, and bits of actions, as they were computed. */
  #tenant = "";
  readonly #keys = new Map<string, HashKey>();
  readonly #actionBits = new Map<string, number>();
  readonly #counted: HourlyActivity = { calls: 0, newActions: 0 };
  /** Slot of the agent whose call was counted last. */
  #countedSlot = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#header = new Uint32Array(memory, 0, HEADER_BYTES / 4);
    this.#agents = new AgentSlots(memory);
    this.#stakes = new StakesSlots(memory);
  }

  countCall(tenant: string, agent: string, action: string, nowMs: number): HourlyActivity {
    const slot = this.#agents.claim(this.#findKey(tenant, agent), nowMs);
    this.#countedSlot = slot;
    this.#agents.count(slot, this.#findActionBit(action), nowMs);
    this.#counted.calls = this.#agents.readCalls(slot);
    this.#counted.newActions = this.#agents.readNewActions(slot);
    return this.#counted;
  }

  #findKey(tenant: string, agent: string): HashKey {
    if (tenant !== this.#tenant || this.#keys.size > KEYS_KEPT) {
      this.#keys.clear();
      this.#tenant = tenant;
    }
    const kept = this.#keys.get(agent);
    if (kept !== undefined) return kept;
    const { low, high } = this.#hashAgent(tenant, agent);
    const key = { low, high };
    this.#keys.set(agent, key);
    return key;
  }

  #findActionBit(action: string): number {
    const kept = this.#actionBits.get(action);
    if (kept !== undefined) return kept;
    const key = this.#key;
    key.begin(this.#header[2]! | 0, this.#header[3]! | 0);
    key.add(action);
    const bit = selectActionBit(key);
    if (this.#actionBits.size > ACTIONS_KEPT) this.#actionBits.clear();
    this.#actionBits.set(action, bit);
    return bit;
  }

  hold({ tenant, agent, amount }: HeldStakes, nowMs: number): number {
    const slot = this.#agents.claim(this.#hashAgent(tenant, agent), nowMs);
    return this.#agents.addUnsettled(slot, amount, nowMs);
  }

  keep(stakes: HeldStakes, kept: number, nowMs: number): void {
    const { tenant, agent, amount } = stakes;
    if (kept > 0) this.#stakes.put(this.#hashCall(stakes), kept, nowMs);
    const slot = this.#agents.find(this.#hashAgent(tenant, agent));
    if (kept < amount && slot >= 0) this.#agents.addUnsettled(slot, kept - amount, nowMs);
    if (kept > 0) this.#noteChange();
  }

  settle(stakes: HeldStakes, nowMs: number): number {
    const held = this.#stakes.take(this.#hashCall(stakes));
    if (held === undefined) return 0;
    const slot = this.#agents.find(this.#hashAgent(stakes.tenant, stakes.agent));
    const freed = Math.min(held.amount, stakes.amount);
    const left = freed * computeFade(nowMs - held.timeMs);
    if (slot >= 0) this.#agents.addUnsettled(slot, -left, nowMs);
    this.#noteChange();
    return freed;
  }

  markOncePerDay(code: LimitCode, nowMs: number): boolean {
    return this.#agents.markOncePerDay(this.#countedSlot, LIMIT_NUMBER[code], nowMs);
  }

  noteLimit(code: LimitCode, mode: "log" | "enforce"): void {
    const at = LIMIT_COUNTS + LIMIT_NUMBER[code];
    // Hot path: two threads that meet may count one call less.
    this.#header[mode === "log" ? at : at + LIMIT_CODES.length]! += 1;
  }

  /** Calls beyond limits since the start, by code and mode. */
  listLimitCounts(): { code: LimitCode; mode: "log" | "enforce"; count: number }[] {
    return (["log", "enforce"] as const).flatMap((mode, index) =>
      LIMIT_CODES.map((code, at) => {
        const place = LIMIT_COUNTS + index * LIMIT_CODES.length + at;
        return { code, mode, count: Atomics.load(this.#header, place) };
      }),
    );
  }

  readUnsettled(tenant: string, agent: string, nowMs: number): number {
    const slot = this.#agents.find(this.#hashAgent(tenant, agent));
    return slot < 0 ? 0 : this.#agents.readUnsettled(slot, nowMs);
  }

  /** Rises with every change of what is held. */
  get changeCount(): number {
    return Atomics.load(this.#header, CHANGES);
  }

  /** Everything that is held, for a file. */
  encode(nowMs: number): Buffer {
    const encoder = new HeldEncoder(this.#header.subarray(0, SEED_WORDS));
    this.#agents.visitHeld(nowMs, encoder.add);
    encoder.beginStakes();
    this.#stakes.visitHeld(encoder.add);
    return encoder.finish();
  }

  /** Takes over what `encode` gave. Only for a memory in which nothing was counted. */
  restore({ seed, agents, stakes }: HeldContents): void {
    this.#header.set(seed);
    for (const { key, amount, timeMs } of agents) this.#agents.restore(key, amount, timeMs);
    for (const { key, amount, timeMs } of stakes) this.#stakes.put(key, amount, timeMs);
  }

  #hashAgent(tenant: string, agent: string): TextHash {
    const key = this.#key;
    key.begin(this.#header[0]! | 0, this.#header[1]! | 0);
    key.add(tenant);
    key.add(agent);
    return key;
  }

  #hashCall({ tenant, agent, requestId }: HeldStakes): TextHash {
    const key = this.#hashAgent(tenant, agent);
    key.add(requestId);
    return key;
  }

  #noteChange(): void {
    Atomics.add(this.#header, CHANGES, 1);
  }
}
