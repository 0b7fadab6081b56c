// The evidence vault: registers, reads and revokes sources. Events are journaled first and applied
// once durable, in order; a replay applies the same events to an empty vault. Full records live
// here, in the one thread that writes; what a verify needs is in shared memory (catalogue.ts).
import { createHash } from "node:crypto";

import type {
  EvidenceItem,
  EvidenceList,
  EvidenceProof,
  EvidenceRecord,
  EvidenceRegistrar,
  EvidenceState,
  EvidenceVault,
} from "../contract/evidence.ts";
import { ServiceFault } from "../contract/faults.ts";
import { invalidRequest } from "../contract/field-rules.ts";
import { Catalogue, createCatalogueMemory, SOURCES_MAX, tenantWord } from "./catalogue.ts";
import type { CatalogueMemory } from "./catalogue.ts";
import {
  canonicalBytes,
  CHAIN_START,
  chainHash,
  decodeEvent,
  encodeEvent,
} from "./evidence-log.ts";
import type { EvidenceEvent } from "./evidence-log.ts";
import { flattenDocument } from "./flatten.ts";
import { GroundingWriter } from "./grounding.ts";
import { createGroundingMemory } from "./grounding-module.ts";
import { leafHash, MerkleTree } from "./merkle.ts";
import { createMinHashMemory, TaintedTexts } from "./minhash.ts";
import type { MinHashMemory } from "./minhash.ts";

/** Everything that other threads need to assess: hand it over as it is. */
export interface VaultMemory {
  readonly grounding: WebAssembly.Memory;
  readonly catalogue: CatalogueMemory;
  readonly tainted: MinHashMemory;
}

/** Where events become durable; resolves once they are, in order of the calls. */
export interface EvidenceJournal {
  appendEvidence(payload: Uint8Array): Promise<unknown>;
}

export interface VaultOptions {
  readonly journal: EvidenceJournal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

interface Held extends EvidenceEvent {
  number: number;
  /** Place in the chain of records. */
  index: number;
  previousHash: string;
  chainHash: string;
  hasText: boolean;
}

const LIST_MAX = 1000;

const nameOf = (tenant: string, visibility: string, id: string) =>
  `${visibility === "public" ? "" : tenant}\n${id}`;

const sha256Hex = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

/** The vault of one process. `replay` comes before the first call of anything else. */
export class Vault implements EvidenceVault {
  readonly memory: VaultMemory = {
    grounding: createGroundingMemory(),
    catalogue: createCatalogueMemory(),
    tainted: createMinHashMemory(),
  };
  readonly #options: VaultOptions;
  readonly #writer: GroundingWriter;
  readonly #catalogue: Catalogue;
  readonly #tainted: TaintedTexts;
  readonly #held = new Map<string, Held>();
  readonly #tree = new MerkleTree();
  #chain = CHAIN_START;

  constructor(options: VaultOptions) {
    this.#options = options;
    this.#writer = new GroundingWriter(this.memory.grounding);
    this.#writer.install();
    this.#catalogue = new Catalogue(this.memory.catalogue);
    this.#tainted = new TaintedTexts(this.memory.tainted);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Applies one event of the journal, at start. Throws when it is of an unknown version. */
  replay(payload: Uint8Array): void {
    this.#apply(decodeEvent(payload));
  }

  /**
   * Registers sources, all or none by validity; resolves once durable. Repeating a registration
   * changes nothing. Throws ServiceFault `insufficient_scope` for a public source by anyone but an
   * administrator, `invalid_request` when digest and text disagree, `overloaded` when full.
   */
  async register(
    items: readonly EvidenceItem[],
    by: EvidenceRegistrar,
  ): Promise<{ record: EvidenceRecord; isNew: boolean }[]> {
    const events = items.map((item, at) => this.#eventOf(item, by, items.length > 1 ? at : -1));
    if (this.#catalogue.size + events.length > SOURCES_MAX) {
      throw new ServiceFault("overloaded", `the vault holds ${SOURCES_MAX} records, its limit`);
    }
    return Promise.all(
      events.map(async (event) => {
        const before = this.#held.get(nameOf(event.tenant, event.visibility, event.source_id));
        if (before !== undefined && isRepeat(before, event)) {
          return { record: recordOf(before), isNew: false };
        }
        return { record: recordOf(await this.#append(event)), isNew: before === undefined };
      }),
    );
  }

  /** Revokes a source until it is registered anew; resolves once durable. Repeating is harmless. */
  async revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord> {
    const held = this.#find(sourceId, by.tenant);
    const isOwn = held.visibility === "tenant" || by.isAdmin;
    if (!isOwn) throw new ServiceFault("insufficient_scope", "only `admin` revokes public sources");
    if (held.state === "revoked") return recordOf(held);
    const { source_id, sha256, size, kind, title, tenant, visibility } = held;
    const event = { source_id, sha256, size, kind, title, tenant, visibility };
    const changes = { registered_at: this.#options.clock(), registrar: by.keyId };
    return recordOf(await this.#append({ ...event, ...changes, state: "revoked" }));
  }

  /** The newest record as this tenant sees it, with its proof. Throws `not_found`. */
  read(sourceId: string, tenant: string): EvidenceProof {
    const held = this.#find(sourceId, tenant);
    const leaf = leafHash(canonicalBytes(held, held.previousHash));
    const merkle = {
      root: `sha256:${this.#tree.root().toString("hex")}`,
      tree_size: this.#tree.size,
      leaf: `sha256:${leaf.toString("hex")}`,
      path: this.#tree.path(held.index).map((hash) => `sha256:${hash.toString("hex")}`),
    };
    return { ...recordOf(held), merkle };
  }

  /** Newest records that this tenant may cite, the last registered first, at most 1,000. */
  list(tenant: string): EvidenceList {
    const visible = [...this.#held.values()].filter(
      (held) => held.visibility === "public" || held.tenant === tenant,
    );
    const records = visible.toSorted((a, b) => b.index - a.index).slice(0, LIST_MAX);
    return {
      root: `sha256:${this.#tree.root().toString("hex")}`,
      tree_size: this.#tree.size,
      records: records.map(recordOf),
    };
  }

  #find(sourceId: string, tenant: string): Held {
    const held =
      this.#held.get(nameOf(tenant, "tenant", sourceId)) ??
      this.#held.get(nameOf(tenant, "public", sourceId));
    if (held === undefined) throw new ServiceFault("not_found", "no such source");
    return held;
  }

  #eventOf(item: EvidenceItem, by: EvidenceRegistrar, at: number): EvidenceEvent {
    if (item.visibility === "public" && !by.isAdmin) {
      throw new ServiceFault("insufficient_scope", "only `admin` registers public sources");
    }
    const { text } = item;
    const digest = text === undefined ? undefined : sha256Hex(text);
    const given = item.sha256?.slice("sha256:".length);
    // A flattened kind may come with the digest of its original bytes; plain text is its own.
    if (given !== undefined && digest !== undefined && given !== digest) {
      const pointer = at < 0 ? "/sha256" : `/items/${at}/sha256`;
      const detail = "is not the digest of `text` as UTF-8";
      throw invalidRequest([{ pointer, code: "mismatch", detail }]);
    }
    return {
      source_id: item.source_id,
      sha256: given ?? digest!,
      size: text === undefined ? 0 : Buffer.byteLength(text),
      kind: item.kind,
      title: item.title,
      tenant: by.tenant,
      visibility: item.visibility,
      state: item.state,
      registered_at: this.#options.clock(),
      registrar: by.keyId,
      ...(text === undefined ? {} : { text }),
    };
  }

  async #append(event: EvidenceEvent): Promise<Held> {
    await this.#options.journal.appendEvidence(encodeEvent(event));
    return this.#apply(event);
  }

  #apply(event: EvidenceEvent): Held {
    const name = nameOf(event.tenant, event.visibility, event.source_id);
    const before = this.#held.get(name);
    const previousHash = this.#chain;
    const canonical = canonicalBytes(event, previousHash);
    this.#chain = chainHash(previousHash, canonical);
    const { text, ...members } = event;
    const held: Held = {
      ...members,
      number: this.#catalogued(event, before),
      index: this.#tree.size,
      previousHash,
      chainHash: this.#chain,
      hasText: text !== undefined || (before?.hasText === true && isSameContent(before, event)),
    };
    this.#tree.append(leafHash(canonical));
    this.#held.set(name, held);
    if (text !== undefined && isTaint(event.state)) {
      this.#tainted.add(text, event.visibility === "public" ? 0 : tenantWord(event.tenant));
    }
    return held;
  }

  /** Puts the event into the catalogue; its number there. */
  #catalogued(event: EvidenceEvent, before: Held | undefined): number {
    if (before !== undefined && isSameContent(before, event) && event.text === undefined) {
      this.#catalogue.setState(before.number, event.state);
      return before.number;
    }
    // The version before no longer answers for the id, and its text supports nothing.
    if (before !== undefined && before.state === "active") {
      this.#catalogue.setState(before.number, "revoked");
    }
    const flat = event.text === undefined ? undefined : flattenDocument(event.text, event.kind);
    return this.#catalogue.add({
      tenant: event.visibility === "public" ? "" : event.tenant,
      sourceId: event.source_id,
      sha256: event.sha256,
      state: event.state,
      document: flat === undefined ? -1 : this.#index(flat.text, flat.leaves),
      isStructured: flat?.isStructured ?? false,
    });
  }

  /** A text that no longer fits is registered without an index: verified, never scored. */
  #index(text: string, leaves: string): number {
    try {
      return this.#writer.index(text, leaves);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return -1;
    }
  }
}

function isTaint(state: EvidenceState): boolean {
  return state === "retracted" || state === "recorded_false";
}

function isSameContent(before: Held, event: EvidenceEvent): boolean {
  return before.sha256 === event.sha256 && before.kind === event.kind;
}

function isRepeat(before: Held, event: EvidenceEvent): boolean {
  return (
    isSameContent(before, event) &&
    before.state === event.state &&
    before.title === event.title &&
    (before.hasText || event.text === undefined)
  );
}

function recordOf(held: Held): EvidenceRecord {
  const { source_id, sha256, size, kind, title, tenant, visibility, state, registrar } = held;
  return {
    source_id,
    sha256: `sha256:${sha256}`,
    size,
    kind,
    title,
    tenant,
    visibility,
    state,
    has_text: held.hasText,
    registered_at: new Date(held.registered_at).toISOString(),
    registrar,
    index: held.index,
    prev_hash: `sha256:${held.previousHash}`,
    chain_hash: `sha256:${held.chainHash}`,
  };
}
