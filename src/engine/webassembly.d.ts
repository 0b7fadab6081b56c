// Declares the part of the WebAssembly JavaScript API that the engine uses. TypeScript keeps it in
// the DOM library, whose other globals must not be in scope of server code.
declare namespace WebAssembly {
  interface MemoryDescriptor {
    initial: number;
    maximum: number;
    shared: true;
  }
  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: SharedArrayBuffer;
    grow(pages: number): number;
  }
  class Module {
    constructor(bytes: Uint8Array);
    static exports(module: Module): { name: string; kind: string }[];
    static imports(module: Module): { module: string; name: string; kind: string }[];
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>);
    readonly exports: Record<string, unknown>;
  }
}
