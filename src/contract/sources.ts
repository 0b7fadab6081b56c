// The evidence vault as its routes use it: sources are registered, read and revoked, never
// downloaded.
import type {
  EvidenceItem,
  EvidenceList,
  EvidenceProof,
  EvidenceRecord,
  LabelResult,
  SignedRoot,
  TextLabel,
  ThresholdList,
} from "./schemas/sources.ts";
import type { EvidenceState } from "./vocabulary.ts";

/** Who writes: tenant and key of the call. */
export interface EvidenceRegistrar {
  readonly tenant: string;
  readonly keyId: string;
  /** Only administrators register what everyone may cite. */
  readonly isAdmin: boolean;
}

/** Which sources a list holds; all that the tenant may cite without the rest. */
export interface EvidenceQuery {
  /** Beginning of an id or a title, in any case. */
  readonly prefix?: string;
  readonly state?: EvidenceState;
  /** Only places in the chain below this one. */
  readonly before?: number;
  readonly limit?: number;
}

/** Writes resolve once durable; faults are ServiceFaults. */
export interface EvidenceVault {
  register(
    items: readonly EvidenceItem[],
    by: EvidenceRegistrar,
  ): Promise<{ record: EvidenceRecord; isNew: boolean }[]>;
  revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord>;
  read(sourceId: string, tenant: string): EvidenceProof;
  list(tenant: string, question?: EvidenceQuery): EvidenceList;
  readSignedRoot(): SignedRoot;
  recordLabels(items: readonly TextLabel[], by: EvidenceRegistrar): Promise<LabelResult>;
  listThresholds(tenant: string): ThresholdList;
}
