// Header lines of the console's answers: what its pages may load, and who may show them.

/** Nothing but the service's own files, no markup made of text, in nobody's frame. */
export const CONSOLE_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Of every answer below /console. */
export const CONSOLE_HEADER_LINES = [
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
] as const;

/** Of the page itself. */
export const CONSOLE_PAGE_HEADER_LINES = [
  "Content-Security-Policy",
  CONSOLE_CONTENT_SECURITY_POLICY,
  "Permissions-Policy",
  "camera=(), microphone=(), geolocation=()",
  ...CONSOLE_HEADER_LINES,
] as const;

/** Files are named by their content. */
export const IMMUTABLE_CACHE_CONTROL = "private, max-age=31536000, immutable";
