import type { NamedOperation } from '../../src/core/operation.ts'
import { fixtures, rows } from './fixtures.ts'
import type { Prepared, Stage } from './stage.ts'
import { PIXEL } from './pixel.ts'
import type { Reply, SendOptions } from './send.ts'

const PICTURE = { name: 'pixel.png', content: PIXEL, type: 'image/png' }
/** The files of operations that take no picture. */
const FILES: Readonly<Record<string, typeof PICTURE>> = {
  importPosts: { name: 'posts.csv', content: Buffer.from('content,draft\nHello,true'), type: 'text/csv' },
}

/** An unknown id. */
export const NOTHING = '01900000-0000-7000-8000-00000000dead'

/** Replaces the workspace of a request, or the row that determines it. */
export function withWorkspace(op: NamedOperation, workspaceOrRow: string, sent: SendOptions): SendOptions {
  const { workspace } = op
  if (workspace === undefined) return sent
  const where = workspace.in === 'owner' || workspace.in === 'lookup' ? 'path' : workspace.in
  return { ...sent, [where]: { ...(sent[where] as object | undefined), [workspace.field]: workspaceOrRow } }
}

/** The example of an operation, with a workspace or row that does not exist. */
export function example(op: NamedOperation): SendOptions {
  return withWorkspace(op, NOTHING, {
    ...(op.example.path && { path: op.example.path }),
    ...(op.example.query && { query: op.example.query }),
    ...(op.example.body === undefined ? {} : { body: op.example.body }),
    ...(op.bodyType && { headers: { 'Content-Type': op.bodyType } }),
    ...(op.upload?.kind === 'multipart' && { file: FILES[op.name] ?? PICTURE }),
  })
}

/** The example, after creating everything that it needs. */
export async function stageExample(
  op: NamedOperation,
  stage: Stage,
): Promise<{ send: SendOptions; prepared: Prepared }> {
  const { workspace } = op
  const send =
    workspace === undefined
      ? example(op)
      : withWorkspace(
          op,
          workspace.in === 'owner' ? await makeRow(op, workspace.resource, stage) : stage.workspaceId,
          example(op),
        )
  const prepared = (await fixtures[op.name]?.(stage)) ?? {}
  const { as, path, query, body } = prepared
  return {
    prepared,
    send: {
      apiKey: stage.caller.apiKey,
      ...send,
      ...(path && { path: { ...send.path, ...path } }),
      ...(query && { query: { ...send.query, ...query } }),
      ...(body === undefined ? {} : { body }),
      ...as,
    },
  }
}

async function makeRow(op: NamedOperation, table: string, stage: Stage): Promise<string> {
  const factory = rows[table]
  if (factory === undefined)
    throw new Error(`${op.name} needs a row of ${table}: add a factory to the file of its domain in test/fixtures`)
  return factory(stage)
}

/** An error reply without the parts that differ between requests. */
export function comparable(reply: Reply): string {
  return `${reply.status} ${JSON.stringify({ ...reply.body, requestId: '' })}`
}

interface PropertySchema {
  readonly type?: string
  readonly anyOf?: readonly PropertySchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

/** A value that the schema rejects; undefined when it accepts everything. */
export function wrongValue(schema: PropertySchema): unknown {
  const kinds = schema.anyOf?.map((option) => option.type ?? (option.enum ? 'string' : undefined)) ?? [
    schema.type ?? (schema.enum || schema.const !== undefined ? 'string' : undefined),
  ]
  if (kinds.includes(undefined)) return undefined
  const candidates: [string, unknown][] = [
    ['object', { unexpected: true }],
    ['array', ['unexpected']],
    ['boolean', true],
    ['number', 12.5],
    ['string', 'unexpected'],
  ]
  return candidates.find(([kind]) => !kinds.includes(kind) && !(kind === 'number' && kinds.includes('integer')))?.[1]
}

/** The path of keys to a value in a request, starting with `path`, `query` or `body`. */
export type Place = readonly (string | number)[]

type Parts = Pick<SendOptions, 'path' | 'query' | 'body'>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Every place of a request that has an id. */
export function idPlaces({ path, query, body }: Parts): Place[] {
  const found: Place[] = []
  const walk = (value: unknown, place: Place) => {
    if (typeof value === 'string' && UUID.test(value)) found.push(place)
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
      for (const [key, item] of Object.entries(value)) walk(item, [...place, Array.isArray(value) ? Number(key) : key])
  }
  for (const [part, value] of Object.entries({ path, query, body })) walk(value, [part])
  return found
}

/** The id at a place; undefined when there is none. */
export function idAt(parts: Parts, place: Place): string | undefined {
  let value: unknown = parts
  for (const key of place) value = (value as Record<string | number, unknown> | undefined)?.[key]
  return typeof value === 'string' ? value : undefined
}

/** A copy of the request with another id at a place. */
export function withId<T extends Parts>(parts: T, place: Place, id: string): T {
  const { path, query, body } = parts
  const copy = structuredClone({ path, query, body })
  let value: unknown = copy
  for (const key of place.slice(0, -1)) value = (value as Record<string | number, unknown>)[key]
  ;(value as Record<string | number, unknown>)[place.at(-1) ?? ''] = id
  const given = Object.entries(copy).filter(([, part]) => part !== undefined)
  return { ...parts, ...Object.fromEntries(given) }
}
