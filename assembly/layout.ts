// Memory layout shared by both compilers: the AssemblyScript module and the TypeScript seam read
// the same constants from this file, so it holds untyped integer `export const` and nothing else.
//
// Linear memory, one for all threads (WebAssembly.Memory, shared):
//        0 +--------------------------+ static data of the module (constant)
//    65536 +--------------------------+ header: one writer, atomics
//    69632 +--------------------------+ chunk directory: u32 address of each chunk of rows
//   131072 +--------------------------+ config ring: 64 slots of 2048 bytes
//   262144 +--------------------------+ scratch: 64 threads x 16 KiB (inputs, results)
//  1310720 +--------------------------+ heap: row chunks, index, identifier arena, pair map
//          v  grows up to 4 GiB

export const HEADER_BASE = 65536;
export const CHUNK_DIRECTORY_BASE = 69632;
export const CONFIG_BASE = 131072;
export const SCRATCH_BASE = 262144;
export const HEAP_BASE = 1310720;
export const LAYOUT_MAGIC = 0x5452554e;
export const LAYOUT_VERSION = 6;

// Header, offsets from HEADER_BASE.
export const HEADER_MAGIC = 0; //         u32
export const HEADER_VERSION = 4; //       u32
export const HEADER_SEED = 8; //          u64  key of the identifier hash
export const HEADER_HEAP_TOP = 16; //     u32
export const HEADER_ROW_COUNT = 20; //    u32  published rows
export const HEADER_INDEX = 24; //        u64  address << 8 | log2 of slots
export const HEADER_CONFIG_COUNT = 32; // u32  configs ever installed; active = (count - 1) & 63
export const HEADER_FREE_COUNT = 36; //   u32  ranges waiting for reuse by the arena
export const HEADER_ARENA_TOP = 40; //    u32
export const HEADER_ARENA_END = 44; //    u32
export const HEADER_PAIRS = 48; //        u64  address << 8 | log2 of slots
export const HEADER_PAIR_COUNT = 56; //   u32
export const HEADER_BYTES_INDEX = 60; //  u32  live bytes of the index
export const HEADER_BASE_RATE = 64; //    f64  g: log-odds of failure
export const HEADER_BASE_VARIANCE = 72; // f64
export const HEADER_BASE_TIME = 80; //    f64  epoch ms
export const HEADER_BYTES_ARENA = 88; //  u32  bytes of identifiers stored
export const HEADER_BYTES_PAIRS = 92; //  u32  live bytes of the pair map
export const HEADER_BASE_DAY = 96; //     u32  period whose residuals are being collected
export const HEADER_STANDINGS = 100; //   u32  1 while reporters' credibility counts in the fold
export const HEADER_BASE_RESIDUAL = 104; // f64
export const HEADER_BASE_INFORMATION = 112; // f64
export const HEADER_BASE_PROBABILITY = 120; // f64 sigmoid(g)
export const HEADER_FREE_RANGES = 128; // u32 address, u32 bytes; FREE_RANGES_MAX of them
export const FREE_RANGES_MAX = 64;
export const HEADER_STAKES_HIGH = 640; // f64  upper end of phi; 0: the config's
// Like HEADER_BASE_RESIDUAL and _INFORMATION, of reporters that first spoke lately.
export const HEADER_NEWCOMER_RESIDUAL = 648; // f64
export const HEADER_NEWCOMER_INFORMATION = 656; // f64
export const HEADER_HEAP_MAX = 664; //    u32  address that the heap never passes; 0: 4 GiB
export const HEADER_OVERFLOW = 668; //    u32  records that found no room and changed nothing

// Agent row: 192 bytes, 8-aligned, in chunks of 4096 rows. Written only between two increments of
// `seq` (odd while writing); read as 24 atomic words and re-checked against `seq`.
//   0 | seq u32      | flags u32    |    80 | S90 f32      | F90 f32      |
//   8 | idPtr u32    | idLen, rDay  |    88 | S14 f32      | F14 f32      |
//  16 | mA f64                      |    96 | rS14 f32     | rF14 f32     |
//  24 | VA f64                      |   104 | tFail u32 s  | tFirst u32 s |
//  32 | mB f64                      |   112 | tShock u32 s | vMax f32     |
//  40 | VB f64                      |   120 | rho f32      | cluster u32  |
//  48 | tS f64 ms                   |   128 | voices f32   | tAsked u32 s |
//  56 | s f64                       |   136 | hallucin f32 | unverif f32  |
//  64 | Vr f64                      |   144 | outcomes u32 | reported u32 |
//  72 | tR f64 ms                   |   152 | latest f32   | broken f32   |
//     |                             |   160 | praise f32   | rLatest f32  |
//     |                             |   168 | seen, gDay   | tHeard u32 s |
//     |                             |   176 | hour u32     | hourS f32    |
//     |                             |   184 | hourF f32    | capped u32   |
export const ROW_STRIDE = 192;
export const ROW_SEQ = 0;
export const ROW_FLAGS = 4;
export const ROW_ID_PTR = 8;
export const ROW_ID_LENGTH = 12; //      u16
export const ROW_BASE_DAY = 14; //       u16  last period this reporter moved the base rate
export const ROW_MEAN_A = 16;
export const ROW_VARIANCE_A = 24;
export const ROW_MEAN_B = 32;
export const ROW_VARIANCE_B = 40;
export const ROW_SUBJECT_TIME = 48;
export const ROW_MEAN_R = 56;
export const ROW_VARIANCE_R = 64;
export const ROW_REPORTER_TIME = 72;
export const ROW_SUCCESS_LONG = 80;
export const ROW_FAILURE_LONG = 84;
export const ROW_SUCCESS_SHORT = 88;
export const ROW_FAILURE_SHORT = 92;
export const ROW_REPORTED_SUCCESS = 96;
export const ROW_REPORTED_FAILURE = 100;
export const ROW_FAILED_AT = 104;
export const ROW_FIRST_AT = 108;
export const ROW_SHOCK_AT = 112;
export const ROW_STAKES_PROVEN = 116;
export const ROW_CREDIBILITY = 120;
export const ROW_CLUSTER = 124;
export const ROW_VOICES = 128; // what pair caps left of all words about it, as of tS
export const ROW_ASSESSED_AT = 132; // time of the two masses below, u32 s; 0 without any
export const ROW_HALLUCINATED = 136;
export const ROW_UNVERIFIED = 140;
export const ROW_OUTCOMES = 144;
export const ROW_REPORTED = 148;
export const ROW_LATEST = 152; //            failing share of the last few outcomes, 0 to 1
export const ROW_BROKEN = 156; //            failures in a row, each as heavy as it was unexpected
export const ROW_PRAISE = 160; //            S90, each by how good its reporter's own record was
export const ROW_REPORTED_LATEST = 164; //   ROW_LATEST of what it reported
export const ROW_SEEN_DAY = 168; //     u16  day at which it first reported
export const ROW_BASE_SUBJECT_DAY = 170; // u16 last period it drew a residual of the base rate
export const ROW_HEARD_AT = 172; //          time it was last heard of, by weight, u32 s; 0 never
export const ROW_HOUR = 176; //              newest UTC hour of its incidents, and repeats in it
export const ROW_HOUR_SUCCESS = 180; //      weight of that hour's successes, before pairs thin it
export const ROW_HOUR_FAILURE = 184; //      weight of that hour's failures, as folded
export const ROW_CAPPED = 188; //       u16  failures that counted for nothing under an incident's cap
export const ROW_FAILING = 190; //      u16  failing share of recent outcomes before repetition thins them, / 65535

// ROW_HOUR: hours since 1970, and above them how many of its failures were repeats.
export const HOUR_REPEATS_SHIFT = 24;

export const CHUNK_ROWS_LOG2 = 12;
export const CHUNKS_MAX = 4096;

/** Row flags. */
export const FLAG_SEED = 1; //        the operator vouches for this reporter
export const FLAG_FRAUD = 2;
export const FLAG_KEY_REVOKED = 4;
export const FLAG_CREDIBILITY = 8; // ROW_CREDIBILITY holds; without it: a stranger
export const FLAG_SIGNS = 16; //      has a signing key: unsigned reports are a stranger's
export const FLAG_DISCOUNTED = 32; // most of what is reported of it comes from strangers
/** The bits that a credibility batch writes; all others are left as they are. */
export const STANDING_FLAGS = 57;
/** In ROW_CLUSTER: the cluster is a ring, whose members' outcomes prove nothing by their number. */
export const CLUSTER_RING_BIT = 0x20000000;
// Above the flags, three shares (0 to 1) of concentration (assembly/reporter-concentration.ts).
export const CONCENTRATION_SHIFT = 6; // 11 bits: sum of squares of the reporters' shares
export const CONCENTRATION_MAX = 2047;
export const SINGLE_SHIFT = 17; //        7 bits: part of it that no reporter repeated
export const SINGLE_MAX = 127;
export const MUTUAL_SHIFT = 24; //        8 bits: praise by agents that the agent praised
export const MUTUAL_MAX = 255;

// Index slot, 8 bytes: upper half of the hash | row number + 1. Zero is empty.
export const INDEX_LOG2_MIN = 12;
export const INDEX_LOAD_PERCENT = 75;

// Pair map entry, 24 bytes: outcomes of one reporter (or pool, or stranger) on one subject.
//   0 | key u64: (subject row + 1) << 32 | reporter row, pool, or stranger |
//   8 | successes: mass f32 | at u32 s | the mass's sign bit: both have praised each other
//  16 | failures:  mass f32 | at u32 s |
export const PAIR_STRIDE = 24;
export const PAIR_SUCCESS = 8;
export const PAIR_FAILURE = 16;
export const PAIR_LOG2_MIN = 12;
export const PAIR_LOAD_PERCENT = 70;
export const POOL_UNTRUSTED = 0xfffffffe;
export const POOL_CLUSTER_BIT = 0x80000000;
export const SOURCE_STRANGER_BIT = 0x40000000; // a stranger's voice, which has no row
export const SOURCE_INCIDENT_BITS = 0xc0000000; // failures under one incident's name

// Scratch of one thread, offsets from SCRATCH_BASE + slot * SCRATCH_STRIDE.
export const SCRATCH_STRIDE = 16384;
export const SCRATCH_SLOTS = 64;
export const SCRATCH_ID_A = 0;
export const SCRATCH_ID_B = 1024;
export const SCRATCH_ROW_A = 2048;
export const SCRATCH_ROW_B = 2304;
export const SCRATCH_LEG_A = 2560;
export const SCRATCH_LEG_B = 3200;
export const SCRATCH_RANGE = 4096;
export const ID_BYTES_MAX = 518; // 512, and `plain:` before what is no `agent://` identifier
export const RANGE_ROWS_MAX = 1024;

// Leg result: f64 words (word number, not byte offset).
export const LEG_KNOWN = 0;
export const LEG_PROBABILITY = 1;
export const LEG_OPTIMISTIC = 2;
export const LEG_PESSIMISTIC = 3;
export const LEG_INTERNAL = 4;
export const LEG_EFFECTIVE = 5;
export const LEG_TIER = 6;
export const LEG_REGIME = 7;
export const LEG_STAKES_LOGIT = 8; // cautious log-odds of failure, without what stakes add
export const LEG_REFUSED = 9;
export const LEG_STAKES_NOVELTY = 10; // weight of ln((1 + stakes) / (1 + proven)) in log-odds
export const LEG_REASON_COUNT = 11;
export const LEG_REASONS = 12; // 4 words
export const LEG_INPUTS = 16; // inputs of a leg result: the words from here to LEG_INPUTS_END
export const LEG_CONFIG = 16;
export const LEG_ETA = 17;
export const LEG_SD = 18;
export const LEG_MEAN = 19;
export const LEG_VIEWER = 20;
export const LEG_EVIDENCE = 21; //  n_eff: decayed weight of all outcomes
export const LEG_PROVEN = 22; //    decayed largest stakes that succeeded
export const LEG_SUBJECT_VARIANCE = 23; // before the model weighs it
export const LEG_BASE = 24; //             g the leg was scored at
export const LEG_VIEWER_VARIANCE = 25; //  0 without a viewer
export const LEG_OUTCOMES = 26; //         outcomes ever counted about the subject; below zero: in a ring
export const LEG_FLAGS = 27; //            ROW_FLAGS
export const LEG_FAILURES = 28; //         long failing mass as stored, not decayed to now
export const LEG_SHOCK_DAYS = 29; //       days since the last shock, -1 without one
export const LEG_FEATURES = 30; //         FEATURE_COUNT words, up to LEG_INPUTS_END
// Of handshake legs: the subject's own record as the check model reads it; of checks: LEG_MEAN and
// LEG_SUBJECT_VARIANCE.
export const LEG_RECORD_MEAN = 47;
export const LEG_RECORD_VARIANCE = 48;
export const LEG_SILENT_DAYS = 49; // days since the subject was heard of, -1 never
export const LEG_INPUTS_END = 50;
export const LEG_STAKES_FROM = 54; //  output: smallest stakes of the same probability
export const LEG_STAKES_TO = 55; //    output: largest of them, Infinity for any
export const LEG_THIN = 56; //         output: 1 where outcomes have resolved too little
export const LEG_DENIED = 57; //       output: 1 where the probability is above the border of denial
export const LEG_STAKES_UNTESTED = 58; // output: log-odds that stakes beyond the reach add
export const LEG_STAKES_REACH = 59; // output: largest stakes that the record vouches for
export const LEG_DEFICITS = 60; //     points of the four reasons while they are ranked
export const LEG_JUDGED = 64; //         output: 1 where the record may deny: not thin, and enough weight
export const LEG_RECORD_PROBABILITY = 65; // output: by the check model, as verify reads the subject
export const LEG_RECORD_OPTIMISTIC = 66;
export const LEG_RECORD_DENIED = 67;
export const LEG_RECORD_REFUSED = 68;
export const LEG_RECORD_THIN = 69;
export const LEG_VERIFY_CATCH = 70; //   output: shares of failures caught by verifying, by a person
export const LEG_HUMAN_CATCH = 71;
export const LEG_WORDS = 72;

// Scorecard features, in order. Sign on the log-odds of failure in brackets.
export const FEATURE_MOMENTUM = 0; //          (+) short against long failing rate
export const FEATURE_RECENT_FAILURE = 1; //    (+) exp(-days since the last failure / 30)
export const FEATURE_VIEWER_SHORT = 2; //      (+) the viewer's 14 d failing rate, handshake only
export const FEATURE_RECIPROCAL_FAILURE = 3; // (+) the subject has reported the viewer failing
export const FEATURE_RECIPROCAL_SUCCESS = 4; // (-) the subject has reported the viewer succeeding
export const FEATURE_STAKES_NOVELTY = 5; //    (+) stakes above what was ever proven
export const FEATURE_EVIDENCE = 6; //          (-) ln(1 + n_eff)
export const FEATURE_AGE = 7; //               (-) ln(1 + days since first outcome)
export const FEATURE_HALLUCINATION = 8; //     (+)
export const FEATURE_UNVERIFIED = 9; //        (+)
export const FEATURE_BETA = 10; //             (+) decayed Beta logit minus base rate
export const FEATURE_LATEST_FAILURES = 11; //  (+) failing share of the last few outcomes
export const FEATURE_BROKEN_RECORD = 12; //    (+) failures in a row after a good record
export const FEATURE_PRAISE_STRENGTH = 13; //  (-) praise by agents with good records of their own
export const FEATURE_VIEWER_LATEST = 14; //    (+) failing share of the viewer's last few reports
export const FEATURE_VIEWER_RECORD = 15; //    (+) the viewer's own mean as a subject
export const FEATURE_STAKES_UNTESTED = 16; //  (+) the good mean, far above the stakes proven
export const FEATURE_COUNT = 17;

// Config slot: 2048 bytes; words are f64 from byte 64. Two models of MODEL_WORDS each.
export const CONFIG_STRIDE = 2048;
export const CONFIG_SLOTS = 64;
export const CONFIG_NUMBER = 0; //   u32
export const CONFIG_FLAGS = 4; //    u32, none in use
export const CONFIG_DIGEST = 8; //   32 bytes, sha256 of the canonical config
export const CONFIG_WORDS = 64;
export const CONFIG_WORD_COUNT = 176;

export const WORD_BASE_RATE = 0;
export const WORD_BASE_VARIANCE = 1;
export const WORD_BASE_TAU = 2;
export const WORD_SUBJECT_VARIANCE = 3;
export const WORD_SUBJECT_TAU = 4;
export const WORD_REPORTER_VARIANCE = 5;
export const WORD_REPORTER_TAU = 6;
export const WORD_LONG_HALF_LIFE = 7;
export const WORD_SHORT_HALF_LIFE = 8;
export const WORD_STAKES_HALF_LIFE = 9;
export const WORD_GRADE_WEIGHTS = 10; //     5 words
export const WORD_SIGNATURE_WEIGHTS = 15; // 3 words
export const WORD_STAKES_UNIT = 18;
export const WORD_STAKES_HIGH = 19;
export const WORD_STAKES_FLOOR = 20;
export const WORD_CREDIBILITY_MIN = 21;
export const WORD_UNTRUSTED_BELOW = 22;
export const WORD_PAIR_CAP = 23;
export const WORD_POOL_CAP = 24;
export const WORD_CLUSTER_CAP = 25;
export const WORD_PAIR_TAU = 26;
export const WORD_FAILURE_WEIGHT_MIN = 27;
export const WORD_FACTOR = 28;
export const WORD_OFFSET = 29;
export const WORD_CAUTION = 30;
export const WORD_REFUSE_CAUTION = 31;
export const WORD_STAKES_CAUTION = 32; // standard deviations added where stakes are decided
export const WORD_DENY_FLOOR = 33; //    least probability of failure that may deny
export const WORD_ISOLATED_DAYS = 34; // since a reporter's last success, after which its failure is news in full
export const WORD_ISOLATED_SHARE = 35; // failing share of recent outcomes up to which it is isolated
export const WORD_FAILING_GAIN = 36; //  of one full outcome in ROW_FAILING
export const WORD_VERIFY_CATCH = 37;
export const WORD_HUMAN_CATCH = 38;
export const WORD_TIER_A = 40;
export const WORD_TIER_B = 41;
export const WORD_TIER_C = 42;
export const WORD_THIN_BELOW = 43; //    share of the prior variance that outcomes must resolve
export const WORD_THIN_OUTCOMES = 44; // and how many there must be
export const WORD_REGIME_MOMENTUM = 45;
export const WORD_SHOCK_RESIDUAL = 46;
export const WORD_SHOCK_DAYS = 47;
export const WORD_RECENT_TAU = 48;
export const WORD_PRIOR_WEIGHT = 49;
export const WORD_REASON_POINTS = 50;
export const WORD_BASE_PERIOD = 51; //       days; 0 moves the base rate with every outcome
export const WORD_BASE_STEP = 52; //         most that one period may move it
export const WORD_STRANGER_CAP = 53; //      most that one stranger's voice weighs on a subject
export const WORD_FIRST_PARTY_PAIR_CAP = 54;
export const WORD_BASE_NEWCOMER_STEP = 55; // most that all newcomers of a period may move it
export const WORD_BASE_NEWCOMER_DAYS = 56; // how long a reporter is one
export const WORD_LATEST_GAIN = 57; //       of one full outcome in ROW_LATEST
export const WORD_VIEWER_GAIN = 58; //       the same in ROW_REPORTED_LATEST
export const WORD_STAKES_REACH = 59; //      times the proven stakes that a record vouches for
export const WORD_STAKES_FREE = 60; //       and the least of it
export const WORD_ASKER_CAP = 61; //         failed texts that one tenant's word counts for
export const WORD_HEARD_WEIGHT = 62; //      weight of an outcome that is news in full
export const WORD_PROVEN_FROM = 63; //       stakes from which proven stakes rise
export const WORD_MODEL_CHECK = 64;
export const WORD_MODEL_HANDSHAKE = 120;

// One model: words from its base.
export const MODEL_INTERCEPT = 0;
export const MODEL_BASE = 1;
export const MODEL_MEAN = 2;
export const MODEL_VIEWER = 3;
export const MODEL_DENY_AT = 4; //        probability of failure from which a record denies
export const MODEL_MEAN_REFERENCE = 5;
export const MODEL_SD_REFERENCE = 6;
export const MODEL_WEIGHTS = 8; //        FEATURE_COUNT words
export const MODEL_REFERENCES = 32; //    FEATURE_COUNT words
export const MODEL_WORDS = 56;
