// Vault of sources (`EvidenceVault` of the contract): registers, reads and revokes them. Texts are
// prepared first, events are journaled, then applied once durable, in order; a replay applies the
// same events to an empty vault. Records live here, in the one thread that writes; the facts for a
// verify are in shared memory.
import type { EvidenceQuery, EvidenceRegistrar, EvidenceVault } from "../contract/sources.ts";
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
import {
  SourceQuota,
  type EvictableSource,
  selectEntryOwner,
  type SourceMetrics,
} from "./sources/entry-use.ts";
import {
  encodeCanonicalRecord,
  INITIAL_CHAIN_HASH,
  computeChainHash,
  decodeSourceEvent,
  decodeLabels,
  encodeSourceEvent,
  encodeLabels,
} from "./sources/events.ts";
import type { SourceEvent } from "./sources/events.ts";
import { computeGroundingModelName, readGroundingNumbers } from "./grounding/tables.ts";
import { deferIndexing } from "./grounding/indexing.ts";
import type { PreparedText } from "./grounding/indexing.ts";
import { LabelBook, buildLabelEvent, buildLabelledItems } from "./calibration/labels.ts";
import type { TextLocation } from "./grounding/index-backlog.ts";
import { computeLeafHash, MerkleTree } from "./sources/merkle.ts";
import {
  buildSourceEvent,
  isRepeatedEvent,
  hasSameContent,
  hasTextAfter,
  buildSourceKey,
  buildEventSourceKey,
  buildEvidenceRecord,
  selectTextToIndex,
} from "./sources/records.ts";
import type { SourceVersion } from "./sources/records.ts";
import { listEvidencePage } from "./sources/listing.ts";
import { SourcePublisher } from "./publisher.ts";
import { RootSignatureCache } from "./sources/signed-root.ts";
import { TenantThresholds } from "./calibration/thresholds.ts";
import type { VaultMemory } from "./memory.ts";
import type { VaultOptions } from "./options.ts";

type RegistrationResult = { record: EvidenceRecord; isNew: boolean };

const formatSha256 = (bytes: Buffer) => `sha256:${bytes.toString("hex")}`;

/** The vault of one process. Calls of `replay` precede the first call of anything else. */
export class Vault implements EvidenceVault {
  readonly memory: VaultMemory;
  readonly #options: VaultOptions;
  readonly #publisher: SourcePublisher;
  readonly #labels: LabelBook;
  readonly #newestByKey = new Map<string, SourceVersion>();
  /** By place in the chain; undefined where a later record replaced it. */
  readonly #byIndex: (SourceVersion | undefined)[] = [];
  readonly #tree = new MerkleTree();
  readonly #rootSignatures: RootSignatureCache;
  readonly #quota: SourceQuota;
  #chainHash = INITIAL_CHAIN_HASH;

  constructor(options: VaultOptions) {
    this.memory = options.memory;
    this.#options = options;
    this.#publisher = new SourcePublisher(this.memory);
    this.#quota = new SourceQuota(options, (source) => this.#evictSource(source));
    const thresholds = new TenantThresholds(this.memory.thresholds);
    this.#labels = new LabelBook(readGroundingNumbers(), computeGroundingModelName(), thresholds);
    this.#rootSignatures = new RootSignatureCache(options.signer, options.clock);
  }

  get size(): number {
    return this.#newestByKey.size;
  }

  /** Bytes of memory that indexes of texts ever took; freed indexes are reused first. */
  get indexBytes(): number {
    return this.#publisher.indexBytes;
  }

  /** Use of the bounds on sources. */
  gauges(): SourceMetrics {
    return this.#quota.gauges();
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
  replay(payload: Uint8Array, place?: TextLocation): void {
    const left = place && deferIndexing(payload, place);
    if (left !== undefined) {
      this.#applyEvent(left.event, left.ready);
      return;
    }
    const labels = decodeLabels(payload);
    if (labels !== undefined) {
      this.#labels.apply(labels);
      return;
    }
    const event = decodeSourceEvent(payload);
    const text = selectTextToIndex(event);
    this.#applyEvent(event, text && this.#publisher.prepareText(text));
  }

  /**
   * Registers sources, all or none by validity; resolves once durable. Repeating a registration
   * changes nothing.
   * @throws ServiceFault `insufficient_scope` for a public source without `admin`,
   *   `invalid_request` when digest and text disagree, `source_quota_exceeded`, `vault_full`.
   */
  async register(
    items: readonly EvidenceItem[],
    by: EvidenceRegistrar,
  ): Promise<RegistrationResult[]> {
    const events = items.map((item, at) =>
      buildSourceEvent(item, by, this.#options.clock(), items.length > 1 ? at : -1),
    );
    const release = this.#quota.reserve(events.filter((event) => this.#needsEntry(event)));
    return this.#registerAll(events).finally(release);
  }

  async #registerAll(events: readonly SourceEvent[]): Promise<RegistrationResult[]> {
    const fresh = events.filter(
      (event) => !isRepeatedEvent(this.#findPreviousVersion(event), event),
    );
    const ready = await this.#prepareTexts(fresh);
    return Promise.all(
      events.map(async (event) => {
        const before = this.#findPreviousVersion(event);
        if (isRepeatedEvent(before, event)) {
          this.#publisher.discardPrepared(ready.get(event));
          return { record: buildEvidenceRecord(before), isNew: false };
        }
        const held = await this.#journalAndApply(event, ready.get(event));
        return { record: buildEvidenceRecord(held), isNew: before === undefined };
      }),
    );
  }

  /**
   * Revokes a source until it is registered anew; resolves once durable. Repeating is harmless.
   * @throws ServiceFault `not_found`, or `insufficient_scope` for a public source without `admin`.
   */
  async revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord> {
    const held = this.#requireVisibleSource(sourceId, by.tenant);
    const isOwn = held.visibility === "tenant" || by.isAdmin;
    if (!isOwn) throw new ServiceFault("insufficient_scope", "only `admin` revokes public sources");
    if (held.state === "revoked") return buildEvidenceRecord(held);
    const { source_id, sha256, size, kind, title, tenant, visibility } = held;
    const event = { source_id, sha256, size, kind, title, tenant, visibility };
    const changes = { registered_at: this.#options.clock(), registrar: by.keyId };
    return buildEvidenceRecord(
      await this.#journalAndApply({ ...event, ...changes, state: "revoked" }, undefined),
    );
  }

  /**
   * The newest record as visible to this tenant, with its proof.
   * @throws ServiceFault `not_found`.
   */
  read(sourceId: string, tenant: string): EvidenceProof {
    const held = this.#requireVisibleSource(sourceId, tenant);
    const { root, tree_size, jws } = this.readSignedRoot();
    const bytes = encodeCanonicalRecord(held, held.previousHash);
    const [leaf, leaf_text] = [formatSha256(computeLeafHash(bytes)), bytes.toString()];
    const path = this.#tree.computeInclusionPath(held.index).map(formatSha256);
    return {
      ...buildEvidenceRecord(held),
      merkle: { root, tree_size, leaf_text, leaf, path, jws },
    };
  }

  /** Records that this tenant may cite, the last registered first, at most 1,000 at a time. */
  list(tenant: string, question: EvidenceQuery = {}): EvidenceList {
    const page = listEvidencePage(this.#byIndex, tenant, question);
    return { root: formatSha256(this.#tree.computeRoot()), tree_size: this.#tree.size, ...page };
  }

  /** The head of all records, signed by the bureau. */
  readSignedRoot(): SignedRoot {
    return this.#rootSignatures.signRoot({
      root: formatSha256(this.#tree.computeRoot()),
      tree_size: this.#tree.size,
      chain_hash: `sha256:${this.#chainHash}`,
    });
  }

  /** Stores labels of these texts; resolves once durable, with the thresholds that follow. */
  async recordLabels(items: readonly TextLabel[], by: EvidenceRegistrar): Promise<LabelResult> {
    const { tenant, keyId: registrar } = by;
    const measured = await this.#options.measure(items, tenant);
    const { model } = this.#labels;
    const given = { tenant, registrar, at: this.#options.clock(), model };
    const event = buildLabelEvent(items, measured, given);
    if (event.labels.length > 0) {
      await this.#options.journal.appendSource(encodeLabels(event));
      this.#labels.apply(event);
    }
    return { ...this.listThresholds(tenant), items: buildLabelledItems(measured) };
  }

  /** Thresholds of each kind of text for this tenant. */
  listThresholds(tenant: string): ThresholdList {
    return this.#labels.list(tenant);
  }

  #requireVisibleSource(sourceId: string, tenant: string): SourceVersion {
    const held =
      this.#newestByKey.get(buildSourceKey(tenant, "tenant", sourceId)) ??
      this.#newestByKey.get(buildSourceKey(tenant, "public", sourceId));
    if (held === undefined) throw new ServiceFault("not_found", "no such source");
    return held;
  }

  #findPreviousVersion(event: SourceEvent): SourceVersion | undefined {
    return this.#newestByKey.get(buildEventSourceKey(event));
  }

  /** A new version takes the entry of the one before, unless that one's content stays listed. */
  #needsEntry(event: SourceEvent): boolean {
    const before = this.#findPreviousVersion(event);
    if (before === undefined || before.number === NOT_FOUND) return true;
    return !hasSameContent(before, event) && this.#publisher.isContentListed(before.number);
  }

  async #prepareTexts(events: readonly SourceEvent[]): Promise<Map<SourceEvent, PreparedText>> {
    const withText = events.filter((event) => event.text !== undefined);
    const texts = withText.map((event) => selectTextToIndex(event)!);
    const ready = await this.#publisher.prepareTexts(texts, this.#options.indexLater);
    return new Map(withText.map((event, at) => [event, ready[at]!]));
  }

  async #journalAndApply(
    event: SourceEvent,
    ready: PreparedText | undefined,
  ): Promise<SourceVersion> {
    try {
      await this.#options.journal.appendSource(encodeSourceEvent(event));
    } catch (error) {
      this.#publisher.discardPrepared(ready);
      throw error;
    }
    return this.#applyEvent(event, ready);
  }

  /** A revoked source gives its entry back; its events stay in the chain. */
  #evictSource({ name, held }: EvictableSource): void {
    this.#newestByKey.delete(name);
    this.#byIndex[held.index] = undefined;
    this.#quota.untrackRevoked(name, held);
    if (held.number === NOT_FOUND) return;
    this.#quota.addEntries(selectEntryOwner(held), -1);
    this.#publisher.removeSource(held.number);
  }

  /** Books the entry of a version that was just put, and that of the one before. */
  #updateEntryCount(held: SourceVersion, old = NOT_FOUND): void {
    if (held.number === old) return;
    if (held.number !== NOT_FOUND) this.#quota.addEntries(selectEntryOwner(held), 1);
    if (old === NOT_FOUND || this.#publisher.isContentListed(old)) return;
    this.#quota.addEntries(selectEntryOwner(held), -1);
  }

  #applyEvent(event: SourceEvent, ready: PreparedText | undefined): SourceVersion {
    if (event.state !== "revoked") this.#quota.evictOneIfFull();
    const before = this.#findPreviousVersion(event);
    const previousHash = this.#chainHash;
    const canonical = encodeCanonicalRecord(event, previousHash);
    this.#chainHash = computeChainHash(previousHash, canonical);
    const published = before && {
      number: before.number,
      isSameContent: hasSameContent(before, event),
    };
    const { text: _text, ...members } = event;
    const held: SourceVersion = {
      ...members,
      number: this.#publisher.publishEvent(event, published, ready),
      index: this.#tree.size,
      previousHash,
      chainHash: this.#chainHash,
      hasText: hasTextAfter(before, event),
    };
    this.#tree.append(computeLeafHash(canonical));
    if (before !== undefined) this.#byIndex[before.index] = undefined;
    this.#byIndex.push(held);
    this.#newestByKey.set(buildEventSourceKey(event), held);
    this.#updateEntryCount(held, before?.number);
    this.#quota.trackState(buildEventSourceKey(event), held);
    return held;
  }
}
