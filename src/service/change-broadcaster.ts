// Parts of a running service that follow changes made elsewhere: keys, tables, policies, reviews,
// reporters. They open after the parts that make the changes, so those are given this.
import type { ConditionEvent } from "../contract/conditions/events.ts";
import type { RegistryEvent } from "../contract/namespaces.ts";
import type { PolicyEvent } from "../contract/policy.ts";
import type { ReviewUpdate } from "../contract/reviews/events.ts";
import type { StoredKey } from "../http/access/key-file.ts";
import type { ScoringPool } from "../threads/scoring/pool.ts";
import type { ChangeNews } from "../http/changes/log.ts";
import { ChangeFeed } from "./changes/feed.ts";
import {
  buildConditionEffect,
  buildPolicyEffect,
  buildReviewEffect,
  CHANGE_RECORD_KINDS,
  CONFIG_EFFECT,
} from "./changes/records.ts";
import type { Listeners } from "./listeners.ts";

export class ChangeBroadcaster {
  scorer: ScoringPool | undefined;
  /** Announces a change once the threads have been sent what it changes. */
  readonly feed = new ChangeFeed();
  /** Options of the service's core by which the feed receives records and effects. */
  readonly feedOptions = {
    announcedKinds: CHANGE_RECORD_KINDS,
    onAnnounced: this.feed.takeRecords,
    onConfigInstalled: () => this.feed.confirmEffect(CONFIG_EFFECT),
  };
  #listeners: Listeners | undefined;
  /** Changes made while the listeners open: the first thread may serve before the last is up. */
  #missed: ((listeners: Listeners) => void)[] = [];

  /** Listeners learn at once of the changes that they have missed. */
  attach(listeners: Listeners): void {
    this.#listeners = listeners;
    for (const send of this.#missed.splice(0)) send(listeners);
  }

  /** A key was made or revoked. */
  sendKey(stored: StoredKey): void {
    this.#send((listeners) => listeners.sendKey(stored));
  }

  /** Another table is to be read from now on. */
  rebind(memory: WebAssembly.Memory): void {
    this.scorer?.rebind(memory);
    this.#send((listeners) => listeners.rebind(memory));
  }

  /** A tenant has another policy: no later request is judged by the old one. */
  sendPolicy(event: PolicyEvent): void {
    this.scorer?.sendPolicy(event);
    this.#send((listeners) => listeners.sendPolicy(event));
    this.feed.confirmEffect(buildPolicyEffect(event));
  }

  /** A person has decided on a review: no later request is judged as before. */
  sendReview(news: ReviewUpdate): void {
    this.scorer?.sendReview(news);
    this.#send((listeners) => listeners.sendReview(news));
    if ("ruling" in news) this.feed.confirmEffect(buildReviewEffect(news.ruling));
  }

  /** A condition or a stop was set or lifted: no later request is judged as before. */
  sendCondition(event: ConditionEvent): void {
    this.scorer?.sendCondition(event);
    this.#send((listeners) => listeners.sendCondition(event));
    this.feed.confirmEffect(buildConditionEffect(event));
  }

  /** A reporter's key or a namespace's owner has changed: no later report is judged as before. */
  sendRegistryEvent(event: RegistryEvent): void {
    this.#send((listeners) => listeners.sendRegistryEvent(event));
  }

  /** Changes for the followers of the other threads. */
  sendChanges(news: ChangeNews): void {
    this.#send((listeners) => listeners.sendChanges(news));
  }

  #send(send: (listeners: Listeners) => void): void {
    if (this.#listeners === undefined) this.#missed.push(send);
    else send(this.#listeners);
  }
}
