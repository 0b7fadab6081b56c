// Vault of sources (`EvidenceVault` of the contract): registers, reads and revokes them. Texts are
// prepared first, events are journaled, then applied once durable, in order; a replay applies the
// same events to an empty vault. Records live here, in the one thread that writes; the facts for a
// verify are in shared memory.
import type { EvidenceQuestion, EvidenceRegistrar, EvidenceVault } from "../contract/sources.ts";
import type {
  EvidenceItem,
  EvidenceList,
  EvidenceProof,
  EvidenceRecord,
  SignedRoot,
  LabelResult,
  TextLabel,
  ThresholdList,
} from "../contract/schemas/sources.ts";
import { ServiceFault } from "../contract/faults.ts";
import { NOT_FOUND } from "./sources/catalogue.ts";
import { EntryUse, type Forgettable, ownerOfHeld, type SourceGauges } from "./sources/entry-use.ts";
import {
  canonicalBytes,
  CHAIN_START,
  chainHash,
  decodeEvent,
  decodeLabels,
  encodeEvent,
  encodeLabels,
} from "./sources/events.ts";
import type { SourceEvent } from "./sources/events.ts";
import { numbersModel, readNumbers } from "./grounding/tables.ts";
import { leaveForLater } from "./grounding/indexing.ts";
import type { ReadyText } from "./grounding/indexing.ts";
import { LabelBook, buildLabelEvent, labelledItems } from "./calibration/labels.ts";
import type { TextPlace } from "./grounding/index-backlog.ts";
import { leafHash, MerkleTree } from "./sources/merkle.ts";
import {
  buildSourceEvent,
  isRepeat,
  isSameContent,
  keepsText,
  buildSourceKey,
  nameOfEvent,
  buildEvidenceRecord,
  selectTextToIndex,
} from "./sources/records.ts";
import type { Held } from "./sources/records.ts";
import { listEvidencePage } from "./sources/listing.ts";
import { SourcePublisher } from "./publisher.ts";
import { RootSeal } from "./sources/signed-root.ts";
import { TenantThresholds } from "./calibration/thresholds.ts";
import type { VaultMemory } from "./memory.ts";
import type { VaultOptions } from "./options.ts";

type Registered = { record: EvidenceRecord; isNew: boolean };

const named = (bytes: Buffer) => `sha256:${bytes.toString("hex")}`;

/** The vault of one process. Calls of `replay` precede the first call of anything else. */
export class Vault implements EvidenceVault {
  readonly memory: VaultMemory;
  readonly #options: VaultOptions;
  readonly #publisher: SourcePublisher;
  readonly #labels: LabelBook;
  readonly #held = new Map<string, Held>();
  /** By place in the chain; undefined where a later record replaced it. */
  readonly #byIndex: (Held | undefined)[] = [];
  readonly #tree = new MerkleTree();
  readonly #seal: RootSeal;
  readonly #use: EntryUse;
  #chain = CHAIN_START;

  constructor(options: VaultOptions) {
    this.memory = options.memory;
    this.#options = options;
    this.#publisher = new SourcePublisher(this.memory);
    this.#use = new EntryUse(options, (source) => this.#forget(source));
    const thresholds = new TenantThresholds(this.memory.thresholds);
    this.#labels = new LabelBook(readNumbers(), numbersModel(), thresholds);
    this.#seal = new RootSeal(options.signer, options.clock);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Bytes of memory that indexes of texts ever took; freed indexes are reused first. */
  get indexBytes(): number {
    return this.#publisher.indexBytes;
  }

  /** Use of the bounds on sources. */
  gauges(): SourceGauges {
    return this.#use.gauges();
  }

  /** Texts of the journal that are not indexed yet. */
  get backlogCount(): number {
    return this.#publisher.backlogCount;
  }

  /**
   * Applies one event of the journal, at start; with the `place` of its record its text is indexed
   * later (grounding/index-backlog.ts).
   * @throws Error when the event is of an unknown version.
   */
  replay(payload: Uint8Array, place?: TextPlace): void {
    const left = place && leaveForLater(payload, place);
    if (left !== undefined) {
      this.#apply(left.event, left.ready);
      return;
    }
    const labels = decodeLabels(payload);
    if (labels !== undefined) {
      this.#labels.apply(labels);
      return;
    }
    const event = decodeEvent(payload);
    const text = selectTextToIndex(event);
    this.#apply(event, text && this.#publisher.makeReady(text));
  }

  /**
   * Registers sources, all or none by validity; resolves once durable. Repeating a registration
   * changes nothing.
   * @throws ServiceFault `insufficient_scope` for a public source without `admin`,
   *   `invalid_request` when digest and text disagree, `source_quota_exceeded`, `vault_full`.
   */
  async register(items: readonly EvidenceItem[], by: EvidenceRegistrar): Promise<Registered[]> {
    const events = items.map((item, at) =>
      buildSourceEvent(item, by, this.#options.clock(), items.length > 1 ? at : -1),
    );
    const release = this.#use.reserve(events.filter((event) => this.#needsEntry(event)));
    return this.#registerAll(events).finally(release);
  }

  async #registerAll(events: readonly SourceEvent[]): Promise<Registered[]> {
    const fresh = events.filter((event) => !isRepeat(this.#heldBefore(event), event));
    const ready = await this.#makeReady(fresh);
    return Promise.all(
      events.map(async (event) => {
        const before = this.#heldBefore(event);
        if (isRepeat(before, event)) {
          this.#publisher.discard(ready.get(event));
          return { record: buildEvidenceRecord(before), isNew: false };
        }
        const held = await this.#append(event, ready.get(event));
        return { record: buildEvidenceRecord(held), isNew: before === undefined };
      }),
    );
  }

  /**
   * Revokes a source until it is registered anew; resolves once durable. Repeating is harmless.
   * @throws ServiceFault `not_found`, or `insufficient_scope` for a public source without `admin`.
   */
  async revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord> {
    const held = this.#find(sourceId, by.tenant);
    const isOwn = held.visibility === "tenant" || by.isAdmin;
    if (!isOwn) throw new ServiceFault("insufficient_scope", "only `admin` revokes public sources");
    if (held.state === "revoked") return buildEvidenceRecord(held);
    const { source_id, sha256, size, kind, title, tenant, visibility } = held;
    const event = { source_id, sha256, size, kind, title, tenant, visibility };
    const changes = { registered_at: this.#options.clock(), registrar: by.keyId };
    return buildEvidenceRecord(
      await this.#append({ ...event, ...changes, state: "revoked" }, undefined),
    );
  }

  /**
   * The newest record as visible to this tenant, with its proof.
   * @throws ServiceFault `not_found`.
   */
  read(sourceId: string, tenant: string): EvidenceProof {
    const held = this.#find(sourceId, tenant);
    const { root, tree_size, jws } = this.root();
    const bytes = canonicalBytes(held, held.previousHash);
    const [leaf, leaf_text] = [named(leafHash(bytes)), bytes.toString()];
    const path = this.#tree.path(held.index).map(named);
    return {
      ...buildEvidenceRecord(held),
      merkle: { root, tree_size, leaf_text, leaf, path, jws },
    };
  }

  /** Records that this tenant may cite, the last registered first, at most 1,000 at a time. */
  list(tenant: string, question: EvidenceQuestion = {}): EvidenceList {
    const page = listEvidencePage(this.#byIndex, tenant, question);
    return { root: named(this.#tree.root()), tree_size: this.#tree.size, ...page };
  }

  /** The head of all records, signed by the bureau. */
  root(): SignedRoot {
    return this.#seal.seal({
      root: named(this.#tree.root()),
      tree_size: this.#tree.size,
      chain_hash: `sha256:${this.#chain}`,
    });
  }

  /** Stores labels of these texts; resolves once durable, with the thresholds that follow. */
  async label(items: readonly TextLabel[], by: EvidenceRegistrar): Promise<LabelResult> {
    const { tenant, keyId: registrar } = by;
    const measured = await this.#options.measure(items, tenant);
    const { model } = this.#labels;
    const given = { tenant, registrar, at: this.#options.clock(), model };
    const event = buildLabelEvent(items, measured, given);
    if (event.labels.length > 0) {
      await this.#options.journal.appendSource(encodeLabels(event));
      this.#labels.apply(event);
    }
    return { ...this.thresholds(tenant), items: labelledItems(measured) };
  }

  /** Thresholds of each kind of text for this tenant. */
  thresholds(tenant: string): ThresholdList {
    return this.#labels.list(tenant);
  }

  #find(sourceId: string, tenant: string): Held {
    const held =
      this.#held.get(buildSourceKey(tenant, "tenant", sourceId)) ??
      this.#held.get(buildSourceKey(tenant, "public", sourceId));
    if (held === undefined) throw new ServiceFault("not_found", "no such source");
    return held;
  }

  #heldBefore(event: SourceEvent): Held | undefined {
    return this.#held.get(nameOfEvent(event));
  }

  /** A new version takes the entry of the one before, unless that one's content stays listed. */
  #needsEntry(event: SourceEvent): boolean {
    const before = this.#heldBefore(event);
    if (before === undefined || before.number === NOT_FOUND) return true;
    return !isSameContent(before, event) && this.#publisher.staysListed(before.number);
  }

  async #makeReady(events: readonly SourceEvent[]): Promise<Map<SourceEvent, ReadyText>> {
    const withText = events.filter((event) => event.text !== undefined);
    const texts = withText.map((event) => selectTextToIndex(event)!);
    const ready = await this.#publisher.makeAllReady(texts, this.#options.indexLater);
    return new Map(withText.map((event, at) => [event, ready[at]!]));
  }

  async #append(event: SourceEvent, ready: ReadyText | undefined): Promise<Held> {
    try {
      await this.#options.journal.appendSource(encodeEvent(event));
    } catch (error) {
      this.#publisher.discard(ready);
      throw error;
    }
    return this.#apply(event, ready);
  }

  /** A revoked source gives its entry back; its events stay in the chain. */
  #forget({ name, held }: Forgettable): void {
    this.#held.delete(name);
    this.#byIndex[held.index] = undefined;
    this.#use.forget(name, held);
    if (held.number === NOT_FOUND) return;
    this.#use.add(ownerOfHeld(held), -1);
    this.#publisher.forget(held.number);
  }

  /** Books the entry of a version that was just put, and that of the one before. */
  #bookEntry(held: Held, old = NOT_FOUND): void {
    if (held.number === old) return;
    if (held.number !== NOT_FOUND) this.#use.add(ownerOfHeld(held), 1);
    if (old === NOT_FOUND || this.#publisher.staysListed(old)) return;
    this.#use.add(ownerOfHeld(held), -1);
  }

  #apply(event: SourceEvent, ready: ReadyText | undefined): Held {
    if (event.state !== "revoked") this.#use.makeRoom();
    const before = this.#heldBefore(event);
    const previousHash = this.#chain;
    const canonical = canonicalBytes(event, previousHash);
    this.#chain = chainHash(previousHash, canonical);
    const published = before && {
      number: before.number,
      isSameContent: isSameContent(before, event),
    };
    const { text: _text, ...members } = event;
    const held: Held = {
      ...members,
      number: this.#publisher.put(event, published, ready),
      index: this.#tree.size,
      previousHash,
      chainHash: this.#chain,
      hasText: keepsText(before, event),
    };
    this.#tree.append(leafHash(canonical));
    if (before !== undefined) this.#byIndex[before.index] = undefined;
    this.#byIndex.push(held);
    this.#held.set(nameOfEvent(event), held);
    this.#bookEntry(held, before?.number);
    this.#use.note(nameOfEvent(event), held);
    return held;
  }
}
