// Memory layout of the grounding module, shared by both compilers: untyped integer `export const`
// and nothing else. A memory of its own, apart from the agent table: texts are large and optional.
//
//        0 +--------------------------+ static data of the module (constant)
//    65536 +--------------------------+ header, fitted numbers
//   131072 +--------------------------+ folding: u16 per character, then capitals, one bit each
//   327680 +--------------------------+ lexicon: words with a meaning of their own
//   393216 +--------------------------+ idf: weight of the commonest stems
//   524288 +--------------------------+ directory: u32 address of each document's index, 0 if gone
//  1572864 +--------------------------+ heap: scratches of threads, document indexes
//          v  grows up to 4 GiB; indexes are immutable while their directory entry names them

export const GROUNDING_HEADER = 65536;
export const GROUNDING_FOLDS = 131072;
export const GROUNDING_CAPITALS = 294912;
export const GROUNDING_LEXICON = 327680;
export const GROUNDING_IDF = 393216;
export const GROUNDING_DIRECTORY = 524288;
export const GROUNDING_HEAP = 1572864;

export const GROUNDING_MAGIC = 0x54524752;

// Header, offsets from GROUNDING_HEADER; all u32 or i32.
export const NUMBERS_MAGIC = 0;
export const NUMBERS_HEAP_TOP = 4;
export const NUMBERS_BLOCK_LOCK = 8; //   held for a few instructions by who takes or gives a block
export const NUMBERS_BLOCK_BYTES = 12; // bytes of blocks ever taken from the heap
export const NUMBERS_BIAS = 16; //        1/1024
export const NUMBERS_IDF_UNSEEN = 20; //  1/16
export const NUMBERS_WEIGHTS = 32; //     FEATURES_COUNT words, 1/1024

export const NUMBERS_ABSENT = 64; //      weight of the text's share of absent words, 1/1024
export const NUMBERS_FACTS = 68; //       weight of its absent numbers and names, 1/1024
export const NUMBERS_CONTRADICTED = 72; // least risk of a text that contradicts a document, 1/1024

export const NUMBERS_BLOCKS = 128; //     BLOCK_CLASSES words: first free block of each size, or 0

// Blocks hold indexes. Sizes go up in quarters of a power of two, from 256 bytes: a freed block
// serves any request of its size. Its first word names the next free one.
export const BLOCK_CLASSES = 96;

// Folding: value of each UTF-16 unit, then of the 1,024 low halves behind 0xd835 (mathematical
// letters and digits). Digits are "0" to "9", letters their lower-case unit without accents.
export const FOLD_SEPARATOR = 0;
export const FOLD_IGNORED = 1;
export const FOLD_PAIRS = 65536;
export const FOLD_COUNT = 66560;
export const PAIR_HIGH = 0xd835;

// Lexicon slot, 16 bytes: | hash of the word | flags | number: hash | hash of its whole part |
export const LEXICON_LOG2 = 12;
export const WORD_STOP = 1;
export const WORD_NEGATION = 2;
export const WORD_REFUSAL = 4;
export const WORD_CONTRAST = 8;
export const WORD_NUMBER = 16;

// Idf slot, 8 bytes: | hash of the stem | weight in 1/16 |
export const IDF_LOG2 = 13;
export const IDF_ENTRIES_MAX = 4096;

export const DOCUMENTS_MAX = 262144;
export const DOCUMENTS_CITED_MAX = 64;

// Index of one document: 32 bytes, the table, postings, leaves.
//
//   0       4       8       12      16      20      24            32
//   +-------+-------+-------+-------+-------+-------+-------------+- - - -+- - - - -+- - - -+
//   | bytes | slots |post at|leaf at|leaves | tokens|sentences,size| table| postings| leaves|
//   +-------+-------+-------+-------+-------+-------+-------------+- - - -+- - - - -+- - - -+
//
// Table slot, 8 bytes: | key u32, 0 empty | 1, or 2 + place of its postings in u16 |. Keys are
// hashes of stems, and of prefixes, whole numbers and neighbouring stems made distinct by salts.
// Postings: u16 count, then the sentences in order; those of NUMBERED_KEY name a sentence once for
// each of its numbers. Leaf: kind u32, count u32, LEAF_STEMS_MAX u32.
export const DOCUMENT_BYTES = 0;
export const DOCUMENT_SLOTS = 4;
export const DOCUMENT_POSTINGS = 8;
export const DOCUMENT_LEAVES = 12;
export const DOCUMENT_LEAF_COUNT = 16;
export const DOCUMENT_TOKENS = 20;
export const DOCUMENT_SENTENCES = 24;
export const DOCUMENT_CLASS = 28; // of its block
export const DOCUMENT_TABLE = 32;
export const LEAF_STRIDE = 40;
export const LEAF_STEMS_MAX = 8;
export const LEAVES_MAX = 256;
export const SALT_PREFIX = 0x2c1b3c6d;
export const SALT_WHOLE = 0x5bd1e995;
export const SALT_PAIR = 0x297a2d39;
export const NUMBERED_KEY = 0x6e756d62;

// Limits. A sentence is cut at SENTENCE_TOKENS_MAX, so everything per sentence is bounded.
export const TOKENS_MAX = 65536;
export const SENTENCE_TOKENS_MAX = 512;
export const WORD_UNITS_MAX = 48;
export const POSTINGS_MAX = 256;
export const QUESTION_TOKENS_MAX = 1024;
export const TEXT_UNITS_MAX = 524288;
/** Absent numbers and names of a text that count. */
export const FACTS_MAX = 4;
/** Distinct words, and their share of weight in one sentence, that make it the same statement. */
export const STATEMENT_STEMS_MIN = 2;
export const STATEMENT_SHARE_MIN = 614;
/** Distinct stems below which a sentence gives no sign of the document it belongs to. */
export const CITATION_STEMS_MIN = 5;

// Scratch of one thread, offsets from the address that `openScratch` gave it.
export const SCRATCH_WORD = 0; //         WORD_UNITS_MAX units
export const SCRATCH_RESULT = 128; //     RESULT_WORDS i32
export const SCRATCH_CITED = 256; //      u32 document numbers, written by the caller
export const SCRATCH_WINDOW = 512; //     i32 per cited document, 1/1024; -1 not assessed
export const SCRATCH_CONTAINED = 768; //  i32 per cited document, 1/1024
export const SCRATCH_TOKENS = 1024; //    512 tokens of 24 bytes
export const SCRATCH_DISTINCT = 13312; // 1,024 slots: stem, stamp
export const SCRATCH_STEMS = 21504; //    512 of 16 bytes: stem, prefix, flags, weight
export const SCRATCH_CLAUSE = 29696; //   1,024 slots: stem, stamp
export const SCRATCH_QUESTION = 37888; // 2,048 slots: stem
export const SCRATCH_INDEXES = 46080; //  u32 address per cited document
export const SCRATCH_ROWS = 47104; //     SENTENCE_ROWS_MAX rows of ROW_WORDS i32
export const SCRATCH_SUMS = 71680; //     u32 per sentence of a document; zero between calls
export const SCRATCH_TEXT = 334336; //    TEXT_UNITS_MAX units
export const SCRATCH_BYTES = 1384448;
export const SENTENCE_ROWS_MAX = 512;

// Result words.
export const RESULT_RISK = 0;
export const RESULT_SENTENCES = 1; //      scored
// The sentence to name: the first that contradicts a document, else the worst.
export const RESULT_WORST = 2; //          its z
export const RESULT_WORST_NUMBER = 3; //   its number, from 0
export const RESULT_WORST_START = 4; //    units
export const RESULT_WORST_END = 5;
export const RESULT_UNSUPPORTED = 6; //    0 none, 1 a number, 2 a name
export const RESULT_UNSUPPORTED_START = 7;
export const RESULT_UNSUPPORTED_END = 8;
export const RESULT_MIXED = 9; //          words that mix scripts
export const RESULT_TOKENS = 10;
export const RESULT_CONTRADICTED = 11; //  1: the sentence named contradicts a document
export const RESULT_STAMP = 15; //         of the scratch's slot tables
export const RESULT_WORDS = 16;

// Sentence row, i32 words: FEATURES_COUNT features in 1/1024, then these.
export const FEATURE_NOVEL = 0; //         content words not known, share
export const FEATURE_NOVEL_COUNT = 1; //   the same, of at most six
export const FEATURE_WINDOW = 2; //        weight not found in the best two neighbouring sentences
export const FEATURE_FOUND = 3; //         weight not found anywhere
export const FEATURE_NUMBERS = 4; //       unsupported numbers, of at most two
export const FEATURE_NAMES = 5; //         unsupported names, of at most two
export const FEATURE_PAIRS = 6; //         tokens outside every pair that the evidence holds too
export const FEATURE_LEAVES = 7; //        leaves that are false or null and yet asserted, at most 2
export const FEATURES_COUNT = 8;
export const ROW_RISK = 8;
export const ROW_NUMBER = 9;
export const ROW_START = 10;
export const ROW_END = 11;
export const ROW_WORDS = 12;

export const ONE = 1024;
export const HALF = 512;

export const STATUS_OK = 0;
export const STATUS_INVALID = 2;
