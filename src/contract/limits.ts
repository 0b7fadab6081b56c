// Every limit in one place, with the relations between them asserted (see test/contract).

/** Bytes of a request body, by kind of route. */
export const BODY_BYTES_MAX = 64 * 1024;
export const EVIDENCE_BODY_BYTES_MAX = 1024 * 1024;
export const OUTCOME_BODY_BYTES_MAX = 4 * 1024;
export const BATCH_BODY_BYTES_MAX = 1024 * 1024;

/** Deepest nesting of a JSON body: object in object in array is depth 3. */
export const JSON_DEPTH_MAX = 8;

/** A batch of outcomes under one signature; kept whole in one journal record. */
export const OUTCOME_BATCH_BYTES_MAX = 256 * 1024;

export const BATCH_ITEMS_MAX = 1000;
/** `X-JWS-Signature`, header and signature together. */
export const SIGNATURE_LENGTH_MAX = 1024;
export const AUDIENCE_LENGTH_MAX = 256;
/** Compact JWS in an outcome's `attestation`: room for the longest identifiers, audience and transaction id. */
export const ATTESTATION_LENGTH_MAX = 2560;
export const TRANSACTION_ID_LENGTH_MAX = 128;
/** Reporter keys of one agent that may stand in the registry at once, retired ones included. */
export const REPORTER_KEYS_MAX = 64;
/** Namespaces that have an owner. */
export const NAMESPACES_MAX = 100_000;
/** A replaced key goes on verifying for this long unless its owner says otherwise. */
export const KEY_OVERLAP_MS = 86_400_000;
export const KEY_OVERLAP_MS_MAX = 30 * 86_400_000;
/** The same for an API key's secret: its holder is told at once, and needs no day. */
export const SECRET_OVERLAP_MS = 3_600_000;
export const AGENT_ID_BYTES_MAX = 512;
export const AGENT_SEGMENT_LENGTH_MAX = 128;
export const ACTION_LENGTH_MAX = 256;
export const CITED_SOURCES_MAX = 64;
export const SOURCE_ID_LENGTH_MAX = 512;
export const OUTCOME_ID_LENGTH_MAX = 128;
export const INCIDENT_ID_LENGTH_MAX = 128;
export const REQUEST_ID_LENGTH_MAX = 128;
export const CONTENT_TYPE_LENGTH_MAX = 128;
export const KEY_LABEL_LENGTH_MAX = 128;
/** Body that names every dead letter of an endpoint. */
export const WEBHOOK_IDS_BYTES_MAX = 80 * 1024;
/** Reason that a policy is set for, in bytes. */
export const POLICY_REASON_LENGTH_MAX = 500;
/** Newest logged verdicts that one comparison of a draft judges. */
export const POLICY_DIFF_ENTRIES_MAX = 10_000;
/** Id that a caller gives a query, in bytes. */
export const QUERY_ID_LENGTH_MAX = 64;
/** Longest work of one query, in seconds, that a key may be given: that of a stream. */
export const QUERY_SECONDS_MAX = 60;
/** Most values for the parameters of one query. */
export const QUERY_PARAMS_MAX = 100;
export const TENANT_LENGTH_MAX = 64;
export const IMPORT_SOURCE_LENGTH_MAX = 256;
/** Days of one report of usage, and the rows by key and day that it may be made of. */
export const USAGE_DAYS_MAX = 366;
export const USAGE_ROWS_MAX = 100_000;
/** Paid reads a month: more is a mistake. */
export const QUOTA_MAX = 1e15;
/** Namespaces that a policy vouches for. */
export const VOUCHED_MAX = 100;
/** Entries of a policy's `actions`, conditions of one entry, and the length of a resource's pattern. */
export const ACTION_ENTRIES_MAX = 200;
export const ACTION_CONDITIONS_MAX = 16;
export const RESOURCE_LENGTH_MAX = 512;
/** Rarest audit: one of so many challenges. */
export const AUDIT_ONE_IN_MAX = 1_000_000;
/** Title of a source and note of a review, in bytes. */
export const TITLE_LENGTH_MAX = 512;
export const REVIEW_NOTE_BYTES_MAX = 2048;

/** A pointer in a problem is cut here: member names are the caller's and may be long. */
export const POINTER_LENGTH_MAX = 512;
/** Field errors listed in one problem; a batch of nonsense must not make a megabyte of answer. */
export const FIELD_ERRORS_MAX = 32;

/** Stakes are a value at risk in the tenant's unit; beyond this a number is a mistake. */
export const STAKES_MAX = 1e12;

/** A settled outcome may lead our clock by this much and lag it by that much (SPEC is silent). */
export const OUTCOME_SKEW_MS_MAX = 60_000;
export const OUTCOME_AGE_MS_MAX = 7 * 86_400_000;

/** SPEC §8.3: a cached score lives five minutes. */
export const VERDICT_TTL_MS = 5 * 60_000;
