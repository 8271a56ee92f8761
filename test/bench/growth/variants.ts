import type { NamedOperation } from '../../../src/core/operation.ts'
import { NOTHING } from '../../support/matrix.ts'
import type { SendOptions } from '../../support/send.ts'

/** The example of a read with one more parameter. */
export interface Variant {
  /** For example `status=draft`. */
  readonly name: string
  /** @param body the reply to the example */
  readonly change: (send: SendOptions, body: unknown) => SendOptions
}

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Parameters that ask for more or sign a request, rather than filter it. */
const OTHERS = new Set([
  'workspaceId',
  'limit',
  'cursor',
  'generation',
  'expires',
  'signature',
  'token',
  'code',
  'state',
])
const MANY_VALUES = 12
const DAY = 86_400_000
/** A text that nothing has, which makes a search read the most. */
const NO_MATCH = 'qzxvkw'

/** A read with each of its optional parameters, one at a time, and its second page. */
export function variants(op: NamedOperation, [small]: readonly [SendOptions, SendOptions]): Variant[] {
  const { properties = {} } = (op.query ?? {}) as Schema
  const found = Object.entries(properties)
    .filter(([name]) => !OTHERS.has(name) && small.query?.[name] === undefined)
    .flatMap(([name, schema]) =>
      valuesOf(name, schema).map((value) => ({
        name: `${name}=${String(value)}`,
        change: (send: SendOptions) => ({ ...send, query: { ...send.query, [name]: value } }),
      })),
    )
  return 'cursor' in properties ? [...found, SECOND_PAGE] : found
}

const SECOND_PAGE: Variant = {
  name: 'cursor',
  change: (send, body) => {
    const cursor = (body as { pagination?: { nextCursor?: string | null } } | undefined)?.pagination?.nextCursor
    return typeof cursor === 'string' ? { ...send, query: { ...send.query, cursor } } : send
  },
}

function valuesOf(name: string, schema: Schema): unknown[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((option) => valuesOf(name, option)).slice(0, MANY_VALUES)
  if (schema.enum !== undefined) return schema.enum.slice(0, MANY_VALUES)
  if (schema.items !== undefined) {
    const values = valuesOf(name, schema.items)
    // Several values have a statement of their own.
    return [...values, [values[0], values[1] ?? values[0]]]
  }
  switch (schema.type) {
    case 'boolean':
      return [true, false]
    case 'integer':
    case 'number':
      return [...new Set([schema.minimum ?? 0, Math.min(schema.maximum ?? 1_000_000, 1_000_000)])]
    case 'string':
      return [textOf(name, schema.format)]
    default:
      return []
  }
}

function textOf(name: string, format: string | undefined): string {
  if (format === 'uuid') return NOTHING
  if (format !== 'date' && format !== 'date-time') return NO_MATCH
  // The start of a long range; its end is now.
  const time = new Date(Date.now() - (/from|after|since|start/i.test(name) ? 364 * DAY : 0)).toISOString()
  return format === 'date' ? time.slice(0, 10) : time
}
