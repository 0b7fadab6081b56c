// Masses of the slow fold: the evidence that one source has given about one subject, per sign, and
// the room that caps leave of it.
import type { ScoringConfig } from "../../src/engine/config.ts";

export class Masses {
  readonly pairs = new Map<string, { mass: number; at: number }>();
  /** Share of the last weight that the mass of its own sign has left, under a vouched voice. */
  thinned = 1;
  /** Weight of the last outcome as one of a row: what a vouched voice said, else what caps left. */
  spoken = 0;
  /** Weight of the last outcome in the failing share of recent ones: repetition does not thin it. */
  shareWeight = 0;
  /** Weight of the last outcome in its hour: not thinned by what its reporter said before. */
  unthinned = 0;
  /** Share of the last weight taken that lies within the first unit of its source's mass. */
  first = 0;
  /** Whether the last outcome was a repeat. */
  wasRepeat = false;
  readonly #config: ScoringConfig;
  /** What the outcome being folded is to add, before an incident's cap. */
  #pending: { key: string; seconds: number; mass: number; room: number }[] = [];

  constructor(config: ScoringConfig) {
    this.#config = config;
  }

  #mass(key: string, seconds: number, tau = this.#config.pair_tau_days): number {
    const pair = this.pairs.get(key);
    if (pair === undefined) return 0;
    const dt = Math.max(0, seconds - pair.at) / 86_400;
    return pair.mass * Math.exp(-dt / tau);
  }

  /** Takes room under a cap: what is left of it bounds every weight. */
  take(key: string, seconds: number, w: number, cap: number, tau?: number): number {
    const mass = this.#mass(key, seconds, tau);
    const room = Math.min(w * Math.max(0, 1 - mass / cap), Math.max(0, cap - mass));
    this.#pending.push({ key, seconds, mass, room });
    this.first = room > 0 ? (Math.min(1, mass + room) - Math.min(1, mass)) / room : 0;
    return room;
  }

  /** Takes room for a reporter that the operator vouches for: `y` is 1 for a failure. */
  takeVouched(pair: string, y: number, seconds: number, w: number): number {
    const c = this.#config;
    const [own, other] = [`${pair}\n${y}`, `${pair}\n${1 - y}`];
    const mass = this.#mass(own, seconds);
    const cap = c.first_party_pair_cap!;
    const asOther = 1 - this.#mass(other, seconds) / cap;
    const open = Math.max(1 - mass / c.pair_cap, asOther);
    const share = Math.max(0, Math.min(1 - mass / cap, open));
    const room = Math.min(w * share, Math.max(0, cap - mass));
    this.thinned = room > 0 ? room / (w * open) : 1;
    this.#pending.push({ key: own, seconds, mass, room });
    const first = room > 0 ? (Math.min(1, mass + room) - Math.min(1, mass)) / room : 0;
    this.first = Math.max(first, 1 / c.pair_cap);
    return room;
  }

  /** Whether a failure follows the pair's last one within an hour, with no success between. */
  isRepeat(pair: string, y: number, seconds: number): boolean {
    const failure = this.pairs.get(`${pair}\n1`);
    return this.isSameFailure(pair, y) && Math.abs(seconds - failure!.at) < 3600;
  }

  /** Whether a failure follows the pair's last one with no success between. */
  isSameFailure(pair: string, y: number): boolean {
    const failure = this.pairs.get(`${pair}\n1`);
    if (y === 0 || failure === undefined || failure.mass === 0) return false;
    return (this.pairs.get(`${pair}\n0`)?.at ?? 0) < failure.at;
  }

  /** Share of a failure that follows a success of the same reporter (`y` is 1 for a failure). */
  isolated(pair: string, y: number, seconds: number, failingShare: number): number {
    const success = this.pairs.get(`${pair}\n0`);
    if (y === 0 || success === undefined || success.at === 0) return 1;
    if (this.isSameFailure(pair, y)) return 1;
    const unusual = (failingShare / this.#config.isolated_share! - 1) / 2;
    const since = Math.abs(seconds - success.at) / (86_400 * this.#config.isolated_days!);
    return Math.min(
      1,
      Math.max(1 - this.#mass(`${pair}\n0`, seconds) / this.#config.pair_cap, since, unusual),
    );
  }

  /** Books what was taken since, or the share of it that counts; without a share nothing. */
  book(share: number): void {
    const pending = this.#pending;
    this.#pending = [];
    if (share === 0) return;
    this.spoken *= share;
    this.shareWeight *= share;
    for (const { key, seconds, mass, room } of pending)
      this.#book(key, seconds, mass + room * share);
  }

  #book(key: string, seconds: number, mass: number): void {
    const at = Math.max(seconds, this.pairs.get(key)?.at ?? 0);
    this.pairs.set(key, { mass: Math.fround(mass), at });
  }
}
