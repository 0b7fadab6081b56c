export const HEADER_BASE = 65536;
