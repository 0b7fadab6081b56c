// Member names as they lie in memory, up to eight bytes a load, the closing quote where it fits.
export const AGENT_ID: u64 = 0x64695f746e656761; // agent_id
export const ACTION: u64 = 0x00226e6f69746361; // action"
export const STAKES_NAME: u64 = 0x00227365_6b617473; // stakes"
export const LEVELS_NAME: u64 = 0x0022736c_6576656c; // levels"
export const TRUE: u32 = 0x65757274; // true
export const FALS: u32 = 0x736c6166; // fals
export const CONTEXT: u64 = 0x22747865746e6f63; // context"
export const TOOL_LEVE: u64 = 0x6576656c5f6c6f6f; // ool_leve
export const SEVEN_BYTES: u64 = 0x00ffffffffffffff;
export const CONTENT_: u64 = 0x5f746e65746e6f63; // content_
export const HASH: u32 = 0x68736168; // hash
export const CITED_SO: u64 = 0x6f735f6465746963; // cited_so
export const URCE: u32 = 0x65637275; // urce
export const SESSION_: u64 = 0x5f6e6f6973736573; // session_
export const DURATION: u64 = 0x6e6f697461727564; // duration
export const _SEC: u32 = 0x6365735f; // _sec
export const SHA256: u64 = 0x3a36353261687322; // "sha256:
