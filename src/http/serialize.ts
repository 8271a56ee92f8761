import fastJson from 'fast-json-stringify'
import type { TSchema } from 'typebox'
import type { NamedOperation } from '../core/operation.ts'

export type Serializer = (body: unknown) => string

/** The content type of a reply that the contract gives as text, or undefined where it is JSON or nothing. */
export function rawContentType(returns: unknown): string | undefined {
  return returns !== null && typeof returns === 'object' && 'contentType' in returns
    ? String((returns as { contentType: unknown }).contentType)
    : undefined
}

/** Compiles one serializer for each reply of an operation. A field that the schema does not have is never sent. */
export function serializers(op: NamedOperation): ReadonlyMap<number, Serializer> {
  const compiled = new Map<number, Serializer>()
  for (const [status, schema] of Object.entries(op.returns as Record<string, unknown>)) {
    if (schema === null || rawContentType(schema) !== undefined) continue
    compiled.set(Number(status), compileSerializer(schema as TSchema))
  }
  return compiled
}

/** Compiles a serializer from a schema. */
export function compileSerializer(schema: TSchema): Serializer {
  // Formats say what a value means; the serializer would turn strings into Dates and back for them.
  const plain = JSON.parse(JSON.stringify(schema, (key, value: unknown) => (SKIPPED.has(key) && typeof value === 'string' ? undefined : value))) as object
  return fastJson(plain as Parameters<typeof fastJson>[0]) as Serializer
}

const SKIPPED = new Set(['format', 'pattern', 'description'])
