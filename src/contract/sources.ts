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

/** Who writes: tenant and key of the call. */
export interface EvidenceRegistrar {
  readonly tenant: string;
  readonly keyId: string;
  /** Only administrators register what everyone may cite. */
  readonly isAdmin: boolean;
}

/** Writes resolve once durable; faults are ServiceFaults. */
export interface EvidenceVault {
  register(
    items: readonly EvidenceItem[],
    by: EvidenceRegistrar,
  ): Promise<{ record: EvidenceRecord; isNew: boolean }[]>;
  revoke(sourceId: string, by: EvidenceRegistrar): Promise<EvidenceRecord>;
  read(sourceId: string, tenant: string): EvidenceProof;
  list(tenant: string): EvidenceList;
  root(): SignedRoot;
  label(items: readonly TextLabel[], by: EvidenceRegistrar): Promise<LabelResult>;
  thresholds(tenant: string): ThresholdList;
}
