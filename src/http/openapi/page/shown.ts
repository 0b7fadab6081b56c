// Shapes of the OpenAPI document as far as the page shows it, and the look-up of its references.

export interface Reference {
  readonly $ref: string;
}

export interface ShownSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly ShownSchema[];
  readonly items?: ShownSchema;
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface ShownHeader {
  readonly description?: string;
  readonly schema: ShownSchema;
}

export interface ShownParameter extends ShownHeader {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: string | number;
}

export interface ShownMedia {
  readonly schema?: ShownSchema;
  readonly examples?: Readonly<Record<string, Reference>>;
}
export type ShownContent = Readonly<Record<string, ShownMedia>>;

export interface ShownResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: ShownContent;
}

export interface ShownOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags?: readonly string[];
  readonly security: readonly object[];
  readonly "x-required-scope"?: string;
  readonly parameters: readonly (Reference | ShownParameter)[];
  readonly requestBody?: { readonly description: string; readonly content: ShownContent };
  readonly responses: Readonly<Record<string, Reference | ShownResponse>>;
}

export interface ShownDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ShownOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ShownSchema>>;
    readonly parameters: Readonly<Record<string, ShownParameter>>;
    readonly headers: Readonly<Record<string, ShownHeader>>;
    readonly responses: Readonly<Record<string, ShownResponse>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

/** The name at the end of a reference. */
export function nameOf({ $ref: reference }: Reference): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
