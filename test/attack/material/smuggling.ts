// Generator of requests whose end is in doubt, each followed by a complete request that must never
// run: lengths that contradict themselves or each other, transfer codings, header lines that parsers
// read differently, and request lines of other protocols.

/** Bytes of one attempt: the pieces are sent one by one, each a segment of its own. */
export interface Smuggle {
  readonly name: string;
  readonly pieces: readonly string[];
}

/** Framing header lines that leave the end of the body in doubt; `n` is the length of the body. */
function lengthDoubts(n: number): Record<string, string[]> {
  const right = `Content-Length: ${n}`;
  const texts = [
    "",
    " ",
    "+2",
    "-1",
    "-0",
    "0x2",
    "2, 2",
    "2,2",
    "2;2",
    "2 2",
    "1e1",
    "2.0",
    "'2'",
    '"2"',
    "２",
    "9".repeat(25),
    `${n}`.padStart(9, "0"),
    `${n}\0`,
    `${n}\v`,
    `${n};`,
    `${n},0`,
    `0,${n}`,
    "NaN",
    "18446744073709551617",
    "4294967297",
    "_2",
    "2_0",
    "\t",
  ];
  const single = texts.map((text) => [
    `length ${JSON.stringify(text)}`,
    [`Content-Length:${text}`],
  ]);
  const pairs = texts.slice(0, 8).flatMap((text) => [
    [`length, then ${JSON.stringify(text)}`, [right, `Content-Length: ${text}`]],
    [`${JSON.stringify(text)}, then length`, [`Content-Length: ${text}`, right]],
  ]);
  return {
    ...(Object.fromEntries([...single, ...pairs]) as Record<string, string[]>),
    "two equal lengths": [right, right],
    "length and zero": [right, "Content-Length: 0"],
    "zero and length": ["Content-Length: 0", right],
    "length in two cases": [right, "content-LENGTH: 0"],
    "length with a space": [`Content-Length : ${n}`],
    "length with a tab": [`Content-Length\t: ${n}`],
    "length folded": [`Content-Length:\r\n ${n}`],
    "length with an underscore": [`Content_Length: ${n}`],
    "length with a NUL": [`Content-Length\0: ${n}`],
    "length after an empty name": [": v", right],
    "length after a line without a colon": ["nothing", right],
    "length after a lone CR": [`X: a\rContent-Length: 0`, right],
    "length after a lone LF": [`X: a\nContent-Length: 0`, right],
  };
}

function codingDoubts(n: number): Record<string, string[]> {
  const codings = [
    "chunked",
    "Chunked",
    "CHUNKED",
    "xchunked",
    "chunkedx",
    "identity",
    "gzip",
    "gzip, chunked",
    "chunked, identity",
    "chunked, chunked",
    ", chunked",
    "chunked,",
    "chunked;q=1",
    '"chunked"',
    " chunked",
    "\tchunked",
    "\vchunked",
    "chunked\0",
    "x",
    "",
    "cow, chunked",
    "trailers, deflate",
  ];
  const line = (coding: string) => `Transfer-Encoding:${coding}`;
  const right = `Content-Length: ${n}`;
  const alone = codings.map((coding) => [`coding ${JSON.stringify(coding)}`, [line(coding)]]);
  const before = codings.map((coding) => [
    `coding ${JSON.stringify(coding)} and length`,
    [line(coding), right],
  ]);
  const after = codings.map((coding) => [
    `length and coding ${JSON.stringify(coding)}`,
    [right, line(coding)],
  ]);
  const all = [...alone, ...before, ...after];
  return {
    ...(Object.fromEntries(all) as Record<string, string[]>),
    "two codings": [line("chunked"), line("chunked")],
    "coding and another": [line("chunked"), line("identity")],
    "coding with a space": ["Transfer-Encoding : chunked"],
    "coding folded": ["Transfer-Encoding:\r\n chunked"],
    "coding folded behind another": ["X: y\r\n Transfer-Encoding: chunked", right + "0"],
    "coding after an empty name": [": v", line("chunked")],
  };
}

const REQUEST_LINES = (path: string): Record<string, string> => ({
  "HTTP/0.9": `POST ${path}`,
  "HTTP/2.0": `POST ${path} HTTP/2.0`,
  "HTTP/1.10": `POST ${path} HTTP/1.10`,
  "HTTP/11": `POST ${path} HTTP/11`,
  "lower-case protocol": `POST ${path} http/1.1`,
  "an absolute target": `POST http://localhost${path} HTTP/1.1`,
  "another host's target": `POST http://other${path} HTTP/1.1`,
  "an authority": "CONNECT localhost:80 HTTP/1.1",
  "an asterisk": "POST * HTTP/1.1",
  "a NUL in the target": `POST ${path}\0 HTTP/1.1`,
  "a CR in the target": `POST ${path}\r HTTP/1.1`,
  "no target": "POST HTTP/1.1",
  "no method": `${path} HTTP/1.1`,
  "a method with a NUL": `PO\0ST ${path} HTTP/1.1`,
});

/** Chunked bodies, whole and broken; what stands behind them is the hidden request. */
const CHUNKS = {
  none: "",
  end: "0\r\n\r\n",
  extension: "0;a=b\r\n\r\n",
  trailer: "0\r\nX: y\r\n\r\n",
  "bare LF": "0\n\n",
  "no end": "2\r\n{}",
  "huge size": "ffffffffffffffff\r\n",
  "negative size": "-1\r\n\r\n",
};

export interface SmuggleParts {
  /** Header lines of a request that the service would take. */
  readonly headers: readonly string[];
  readonly path: string;
  readonly body: string;
  /** The request that must not run. */
  readonly hidden: string;
}

/** Every variant, in a fixed order. */
export function* smuggles({ headers, path, body, hidden }: SmuggleParts): Generator<Smuggle> {
  const n = Buffer.byteLength(body);
  const post = (line: string, lines: readonly string[], rest: string) =>
    `${[line, ...lines].join("\r\n")}\r\n\r\n${rest}`;
  const asOne = (name: string, first: string): Smuggle[] => [
    { name: `${name}, in one segment`, pieces: [first + hidden] },
    { name: `${name}, in the next segment`, pieces: [first, hidden] },
  ];
  const line = `POST ${path} HTTP/1.1`;
  for (const [name, doubt] of Object.entries(lengthDoubts(n))) {
    yield* asOne(name, post(line, [...headers, ...doubt], body));
    yield* asOne(`${name} first`, post(line, [...doubt, ...headers], body));
    yield { name: `${name}, no body`, pieces: [post(line, [...headers, ...doubt], hidden)] };
  }
  for (const [name, doubt] of Object.entries(codingDoubts(n))) {
    for (const [kind, chunks] of Object.entries(CHUNKS).slice(0, 3)) {
      const first = post(line, [...headers, ...doubt], chunks);
      yield { name: `${name}, chunks: ${kind}`, pieces: [first + hidden] };
    }
    yield* asOne(name, post(line, [...headers, ...doubt], body));
  }
  for (const [kind, chunks] of Object.entries(CHUNKS)) {
    const first = post(line, [...headers, "Transfer-Encoding: chunked"], chunks);
    yield* asOne(`chunks: ${kind}`, first);
  }
  for (const [name, odd] of Object.entries(REQUEST_LINES(path))) {
    yield* asOne(name, post(odd, [...headers, `Content-Length: ${n}`], body));
  }
  for (const method of ["GET", "HEAD"]) {
    yield* asOne(
      `${method} with a body`,
      post(`${method} /healthz HTTP/1.1`, [...headers, `Content-Length: ${n}`], body),
    );
  }
  const doubled = ["Host: other", "Authorization: Bearer x", "Content-Type: text/plain"];
  for (const again of doubled) {
    yield* asOne(`two of ${again}`, post(line, [...headers, again, `Content-Length: ${n}`], body));
  }
  const bare = post(line, [...headers, `Content-Length: ${n}`], body).replaceAll("\r\n", "\n");
  yield* asOne("bare line feeds", bare);
  yield* asOne("bare carriage returns", bare.replaceAll("\n", "\r"));
}
