// Followers of the change feed on one HTTP thread: open event streams and long polls. A change is serialized
// once and written to its followers in slices, so that thousands of them delay no verdict.
import { ServiceFault } from "../../contract/faults.ts";
import type { BodyStream } from "../server/port.ts";
import { type AnnouncedChange, ChangeLog, CHANGES_KEPT_MAX, type ChangeNews } from "./log.ts";

/** Followers of one thread, and of one tenant there. */
const CHANGE_FOLLOWERS_MAX = 16_384;
export const CHANGE_FOLLOWERS_PER_TENANT_MAX = 12_288;
/** Long polls of one thread: each is among its unanswered requests. */
const CHANGE_POLLS_MAX = 4096;
/** Events that a follower has not read; beyond them its stream is cut, and it resumes. */
export const CHANGE_EVENTS_UNREAD_MAX = 64;
/** Changes of one page or of the beginning of a stream. */
export const CHANGES_PAGE_MAX = 1000;
/** Followers written to before other work of the thread continues. */
const SLICE_FOLLOWERS = 128;

/** Who follows: the tenant whose changes it reads and the key that it came with. */
interface FollowerIdentity {
  readonly tenant: string;
  readonly keyId: string;
}

interface Follower extends FollowerIdentity {
  /** Called for each event. */
  receive(event: Uint8Array, isChange: boolean): void;
  /** The service ends or the key is no longer valid. */
  end(): void;
}

interface Broadcast {
  readonly event: Uint8Array;
  /** Null: to all followers. */
  readonly tenant: string | null;
  readonly isChange: boolean;
}

interface RunningBroadcast extends Broadcast {
  readonly followers: Iterator<Follower, void>;
}

export class ChangeFollowers {
  readonly log = new ChangeLog();
  readonly #byTenant = new Map<string, Set<Follower>>();
  readonly #isKeyValid: (keyId: string) => boolean;
  readonly #broadcasts: Broadcast[] = [];
  #current: RunningBroadcast | undefined;
  #count = 0;
  #pollCount = 0;

  /** `isKeyValid` is asked about each follower's key once a second. */
  constructor(isKeyValid: (keyId: string) => boolean) {
    this.#isKeyValid = isKeyValid;
  }

  /** Open streams and long polls. */
  get count(): number {
    return this.#count;
  }

  /** Applies news of the main thread and writes it to the followers; a heartbeat without changes. */
  apply(news: ChangeNews): void {
    const changes = this.log.apply(news);
    if (this.#count === 0) return;
    // Followers that cannot be written to as fast as changes come resume from their positions.
    if (this.#broadcasts.length + changes.length > CHANGES_KEPT_MAX) this.endAll();
    const isRunning = this.#current !== undefined;
    for (const change of changes) {
      const event = this.#encodeChange(change);
      this.#broadcasts.push({ event, tenant: change.tenant, isChange: true });
    }
    if (changes.length === 0) {
      this.#broadcasts.push({ event: this.#encodeHeartbeat(), tenant: null, isChange: false });
    }
    if (!isRunning) this.#writeSlice();
  }

  /**
   * Opens an event stream: changes after `since`, a heartbeat with the position, then what is announced.
   * @throws ServiceFault `overloaded`, `invalid_parameter`, `change_position_gone`.
   */
  openStream(identity: FollowerIdentity, since: string | null): BodyStream {
    const after = this.log.resolvePosition(since);
    this.#assertCapacity(identity.tenant);
    const { changes, end } = this.log.read(after, identity.tenant, CHANGES_PAGE_MAX);
    const isWhole = end === this.log.head;
    const first = changes.map((change) => this.#encodeChange(change));
    // A page that is not whole ends its stream: the follower resumes after it.
    const begin = isWhole ? [...first, this.#encodeHeartbeat()] : first;
    const stream = new ChangeStream(identity, Buffer.concat(begin), () => this.#remove(stream));
    if (isWhole) this.#add(stream);
    else stream.end();
    return stream;
  }

  /**
   * Resolves with the next change for a tenant, after `ms`, or when the service ends.
   * @throws ServiceFault `overloaded`.
   */
  async waitForChange(identity: FollowerIdentity, ms: number): Promise<void> {
    this.#assertCapacity(identity.tenant);
    if (this.#pollCount >= CHANGE_POLLS_MAX) throw createFullFault();
    const { promise, resolve } = Promise.withResolvers<void>();
    const receive = (_event: Uint8Array, isChange: boolean) => void (isChange && resolve());
    const follower: Follower = { ...identity, receive, end: resolve };
    this.#add(follower);
    this.#pollCount += 1;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    this.#pollCount -= 1;
    this.#remove(follower);
  }

  /** Ends all streams and long polls: their clients follow another node or the next process. */
  endAll(): void {
    for (const follower of this.#listFollowers(null)) follower.end();
    this.#byTenant.clear();
    this.#broadcasts.length = 0;
    this.#count = 0;
  }

  #assertCapacity(tenant: string): void {
    const ofTenant = this.#byTenant.get(tenant)?.size ?? 0;
    if (this.#count < CHANGE_FOLLOWERS_MAX && ofTenant < CHANGE_FOLLOWERS_PER_TENANT_MAX) return;
    throw createFullFault();
  }

  #add(follower: Follower): void {
    const { tenant } = follower;
    const others = this.#byTenant.get(tenant);
    if (others === undefined) this.#byTenant.set(tenant, new Set([follower]));
    else others.add(follower);
    this.#count += 1;
  }

  #remove(follower: Follower): void {
    const others = this.#byTenant.get(follower.tenant);
    if (others?.delete(follower) !== true) return;
    this.#count -= 1;
    if (others.size === 0) this.#byTenant.delete(follower.tenant);
  }

  *#listFollowers(tenant: string | null): Generator<Follower> {
    if (tenant !== null) {
      yield* this.#byTenant.get(tenant) ?? [];
      return;
    }
    for (const followers of this.#byTenant.values()) yield* followers;
  }

  /** Writes one slice, of as many broadcasts as it reaches. */
  #writeSlice(): void {
    let written = 0;
    for (;;) {
      this.#current ??= this.#startNext();
      if (this.#current === undefined) return;
      const { event, isChange, followers } = this.#current;
      const { done, value } = followers.next();
      if (done === true) this.#current = undefined;
      else if (isChange || this.#isKeyValid(value.keyId)) value.receive(event, isChange);
      else {
        value.end();
        this.#remove(value);
      }
      written += 1;
      if (written < SLICE_FOLLOWERS) continue;
      setImmediate(() => this.#writeSlice());
      return;
    }
  }

  #startNext(): RunningBroadcast | undefined {
    const next = this.#broadcasts.shift();
    return next && { ...next, followers: this.#listFollowers(next.tenant) };
  }

  /** Its id is the position up to which nothing is missing: that of an earlier change may be announced later. */
  #encodeChange({ position, json }: AnnouncedChange): Uint8Array {
    const id = this.log.formatPosition(Math.min(position, this.log.head));
    return Buffer.from(`id: ${id}\nevent: change\ndata: ${json}\n\n`);
  }

  #encodeHeartbeat(): Uint8Array {
    const id = this.log.formatPosition(this.log.head);
    return Buffer.from(`id: ${id}\nevent: heartbeat\ndata: {"position":"${id}"}\n\n`);
  }
}

function createFullFault(): ServiceFault {
  return new ServiceFault("overloaded", "too many clients follow the changes");
}

/** One open event stream. */
class ChangeStream implements BodyStream, Follower {
  readonly tenant: string;
  readonly keyId: string;
  readonly #onGone: () => void;
  #unread: Uint8Array[];
  #isEnded = false;
  #isCut = false;
  #wake: (() => void) | undefined;

  constructor({ tenant, keyId }: FollowerIdentity, first: Uint8Array, onGone: () => void) {
    this.tenant = tenant;
    this.keyId = keyId;
    this.#unread = first.byteLength === 0 ? [] : [first];
    this.#onGone = onGone;
  }

  receive(event: Uint8Array): void {
    if (this.#isCut || this.#isEnded) return;
    if (this.#unread.length >= CHANGE_EVENTS_UNREAD_MAX) {
      this.#unread = [];
      this.#isCut = true;
      this.#onGone();
    } else this.#unread.push(event);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async next(): Promise<Uint8Array | undefined> {
    while (this.#unread.length === 0 && !this.#isEnded && !this.#isCut) {
      // oxlint-disable-next-line no-await-in-loop -- waits for the next event
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    this.#wake = undefined;
    if (this.#isCut) throw new Error("the follower reads too slowly");
    const unread = this.#unread;
    this.#unread = [];
    if (unread.length > 0) return unread.length === 1 ? unread[0] : Buffer.concat(unread);
    return undefined;
  }

  cancel(): void {
    this.#isEnded = true;
    this.#onGone();
    this.#wake?.();
  }
}
