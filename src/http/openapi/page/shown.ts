// Shapes of the OpenAPI document as far as the page shows it, and the look-up of its references.

export interface OpenApiReference {
  readonly $ref: string;
}

export interface OpenApiSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly OpenApiSchema[];
  readonly items?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
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

export interface OpenApiHeader {
  readonly description?: string;
  readonly schema: OpenApiSchema;
}

export interface OpenApiParameter extends OpenApiHeader {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: string | number;
}

export interface OpenApiMedia {
  readonly schema?: OpenApiSchema;
  readonly examples?: Readonly<Record<string, OpenApiReference>>;
}
export type OpenApiContent = Readonly<Record<string, OpenApiMedia>>;

export interface OpenApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, OpenApiReference>>;
  readonly content?: OpenApiContent;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags?: readonly string[];
  readonly security: readonly object[];
  readonly "x-required-scope"?: string;
  readonly parameters: readonly (OpenApiReference | OpenApiParameter)[];
  readonly requestBody?: { readonly description: string; readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, OpenApiReference | OpenApiResponse>>;
}

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, OpenApiSchema>>;
    readonly parameters: Readonly<Record<string, OpenApiParameter>>;
    readonly headers: Readonly<Record<string, OpenApiHeader>>;
    readonly responses: Readonly<Record<string, OpenApiResponse>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

/** The name at the end of a reference. */
export function parseReferenceName({ $ref: reference }: OpenApiReference): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
