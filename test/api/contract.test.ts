import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { errorTable } from '../../src/core/error.ts'
import { limitClassOf } from '../../src/core/limits.ts'
import { walk } from '../../src/core/operation.ts'
import { isScope, SCOPES } from '../../src/core/scope.ts'

type Row = readonly [name: string, route: string, access: string, turn: boolean]

/** The agreed operations, by section. */
const CONTRACT = JSON.parse(readFileSync(new URL('contract.json', import.meta.url), 'utf8')) as Record<string, Row[]>

/** Operations that are not built yet, by section: all or these names. Remove a name when its operation is added. */
const LATER: Readonly<Record<string, string>> = {}

const operations = walk(api)
const built = new Map(operations.map((op) => [op.name, op]))
const agreed = new Map(Object.values(CONTRACT).flatMap((rows) => rows.map((row) => [row[0], row] as const)))

describe('the registry matches the contract', () => {
  for (const [section, rows] of Object.entries(CONTRACT)) {
    test(section, () => {
      const names = rows.map(([name]) => name)
      const later = LATER[section] === 'all' ? names : (LATER[section] ?? '').split(/\s+/).filter(Boolean)
      expect(names.filter((name) => !built.has(name))).toEqual(names.filter((name) => later.includes(name)))
      for (const name of later) expect(names, 'LATER').toContain(name)
    })
  }

  test.each(operations.map((op) => [op.name, op] as const))('%s', (name, op) => {
    expect([name, op.route, op.access, op.turn === true]).toEqual(agreed.get(name))
  })

  test('every operation has a unique name', () => {
    expect(built.size).toBe(operations.length)
  })
})

describe.each(operations.map((op) => [op.name, op] as const))('%s', (_name, op) => {
  test('has a summary of one sentence without a full stop', () => {
    expect(op.summary).toMatch(/^[A-Z][^\n]{4,110}[^.\s]$/)
  })

  test('has an example that its schemas accept', () => {
    for (const part of ['path', 'query', 'body'] as const) {
      const schema = op[part] as TSchema | undefined
      const given = op.example[part]
      if (schema === undefined) expect(given, part).toBeUndefined()
      else if (part === 'body' && given === undefined) expect(op.bodyOptional, 'an example of the body').toBe(true)
      else expect(Compile(schema).Errors(given ?? {}), part).toEqual([])
    }
  })

  test('declares a schema for each status, at least one of them a success', () => {
    const returns = Object.entries(op.returns as Record<string, unknown>)
    expect(returns.some(([status]) => status.startsWith('2'))).toBe(true)
    for (const [status, schema] of returns) {
      expect(Number(status)).toBeGreaterThanOrEqual(200)
      expect(schema === null || typeof schema === 'object', status).toBe(true)
    }
  })

  test('has a known access class, and a workspace when it needs a scope', () => {
    const classes = ['public', 'user', 'admin', 'internal']
    expect(classes.includes(op.access) || isScope(op.access), op.access).toBe(true)
    if (isScope(op.access)) expect(SCOPES[op.access]).toMatch(/\w/)
    if (op.method === 'GET') expect(op.turn, 'a read is no turn').toBeUndefined()
    expect(['read', 'write', 'auth', 'mail', 'none']).toContain(limitClassOf(op))
  })

  test('rejects unknown fields at any depth', () => {
    for (const part of ['path', 'query', 'body'] as const) {
      const schema = op[part] as object | undefined
      const open = part === 'query' && op.openQuery ? ['/query'] : []
      if (schema !== undefined) expect(openObjects(schema, `/${part}`), part).toEqual(open)
    }
  })

  test('limits the length of every string and list', () => {
    for (const part of ['query', 'body'] as const) {
      const schema = op[part] as object | undefined
      if (schema !== undefined) expect(unbounded(schema, `/${part}`), part).toEqual([])
    }
  })

  test('declares only errors of the error table, each once', () => {
    const codes = (op.errors ?? []).map((error) => error.code)
    expect(new Set(codes).size).toBe(codes.length)
    const table = errorTable().map((error) => error.code)
    for (const code of codes) expect(table).toContain(code)
  })
})

test('every error gives its cause and fix', () => {
  for (const error of errorTable()) {
    expect(error.code).toMatch(/^[a-z][a-z0-9_]+$/)
    for (const text of [error.message, error.cause, error.fix]) expect(text, error.code).toMatch(/^[A-Z`].{8,}\.$/s)
  }
})

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
  readonly maxProperties?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly maxLength?: number
  readonly maxItems?: number
}

function parts(schema: Schema, at: string): [Schema, string][] {
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, part]): [Schema, string] => [part, `${at}/${name}`]),
    ...Object.values(schema.patternProperties ?? {}).map((part): [Schema, string] => [part, `${at}/*`]),
    ...(schema.anyOf ?? []).map((part): [Schema, string] => [part, at]),
    ...(schema.items ? [[schema.items, `${at}/0`] as [Schema, string]] : []),
  ]
}

function openObjects(schema: Schema, at: string): string[] {
  const open = schema.properties !== undefined && schema.additionalProperties !== false
  return [...(open ? [at] : []), ...parts(schema, at).flatMap(([part, where]) => openObjects(part, where))]
}

/** String formats that limit the length. */
const BOUNDED_FORMATS = new Set(['uuid', 'date', 'date-time', 'email', 'ipv4', 'ipv6'])

function unbounded(schema: Schema, at: string): string[] {
  const fixed = schema.enum !== undefined || schema.const !== undefined
  const text = schema.type === 'string' && !fixed && schema.maxLength === undefined
  const bounded = BOUNDED_FORMATS.has(schema.format ?? '') || /^\^[^*+]*\$$/.test(schema.pattern ?? '')
  const list = schema.type === 'array' && schema.maxItems === undefined
  const here = (text && !bounded) || list ? [at] : []
  return [...here, ...parts(schema, at).flatMap(([part, where]) => unbounded(part, where))]
}
