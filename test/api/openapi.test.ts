import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { DOMAINS } from '../../src/registry/domains.ts'
import { eventTypes } from '../../src/registry/events.ts'
import { openApiText } from '../../src/pages/documents.ts'
import { walk } from '../../src/core/operation.ts'
import { VERSION } from '../../src/config/version.ts'
import { startApp, type App } from '../support/app.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

const operations = walk(api)
const text = openApiText(operations, { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] })

/** The parts of an OpenAPI document that these tests read. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Described }>>
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>
    readonly schemas: Readonly<Record<string, { readonly properties: Readonly<Record<string, unknown>> }>>
  }
}

interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly responses: Readonly<Record<string, Response>>
  readonly 'x-scope'?: string
  readonly 'x-turn': boolean
}

interface Response {
  readonly $ref?: string
  readonly 'x-codes'?: readonly string[]
  readonly content?: Readonly<
    Record<string, { readonly schema: { readonly properties: { readonly data: { readonly items: object } } } }>
  >
}

const document = JSON.parse(text) as Document

test('is a valid OpenAPI 3.1 document without dangling references', async () => {
  const validator = new Validator()
  const result = await validator.validate(JSON.parse(text) as Record<string, unknown>)
  expect(result.errors ?? []).toEqual([])
  expect(result.valid).toBe(true)
  expect(validator.version).toBe('3.1')
  const references = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] as string)
  expect(references.length).toBeGreaterThan(0)
  for (const reference of new Set(references)) {
    const target = reference
      .split('/')
      .reduce<unknown>((here, key) => (here as Record<string, unknown> | undefined)?.[key], document)
    expect(target, reference).toBeDefined()
  }
})

test('has no form that client generators refuse', () => {
  const faults: string[] = []
  const visit = (value: unknown, path: string, isMember = false) => {
    if (value === null || typeof value !== 'object') return
    const { anyOf, description, enum: values, operationId, properties, type } = value as Record<string, unknown>
    if (!path.endsWith('/example') && !path.endsWith('/properties')) {
      for (const [index, member] of (Array.isArray(anyOf) ? anyOf : []).entries())
        if (member === null) faults.push(`${path}/anyOf/${index} is null instead of a schema`)
      if (type === 'null' && !isMember) faults.push(`${path} can only be null`)
      if (Array.isArray(type) && type.length === 0) faults.push(`${path} has no type`)
      if (Array.isArray(values) && values.length === 0) faults.push(`${path} has no value`)
      // Generators write descriptions as comments.
      if (typeof description === 'string' && description.includes('*/')) faults.push(`${path} ends a comment`)
      if (properties !== undefined)
        for (const [name, schema] of Object.entries(properties as object))
          if (schema === null || typeof schema !== 'object') faults.push(`${path}/properties/${name} is no schema`)
    }
    if (typeof operationId === 'string') ids.push(operationId.toLowerCase())
    // Examples are values, not schemas.
    for (const [key, part] of Object.entries(value))
      if (key !== 'example')
        visit(part, `${path}/${key.replaceAll('/', '~1')}`, Array.isArray(value) && path.endsWith('Of'))
  }
  const ids: string[] = []
  visit(document, '')
  expect(faults).toEqual([])
  expect(ids.length).toBeGreaterThan(operations.length)
  expect(new Set(ids).size).toBe(ids.length)
  const tagged = Object.values(document.webhooks).map(({ post }) => post.tags[0])
  expect(new Set(tagged)).toEqual(new Set(['webhook-messages']))
})

test('lists every operation with its name, domain, scope and errors', () => {
  const described = Object.values(document.paths).flatMap((path) => Object.values(path))
  expect(new Set(described.map((row) => row.operationId))).toEqual(new Set(operations.map((op) => op.name)))
  for (const op of operations) {
    const row = document.paths[op.pattern]?.[op.method.toLowerCase()] as Described
    expect(row.tags).toEqual([op.domain])
    expect(row['x-scope']).toBe(op.access.includes(':') ? op.access : undefined)
    expect(row['x-turn']).toBe(op.turn === true)
    expect(row.security.length > 0).toBe(op.access !== 'public' || op.bearer === 'own')
    const codes = Object.values(row.responses).flatMap(codesOf)
    for (const error of op.errors ?? []) expect(codes, `${op.name}: ${error.code}`).toContain(error.code)
    for (const status of Object.keys(op.returns as object)) expect(row.responses).toHaveProperty(status)
  }
})

function codesOf(response: Response): readonly string[] {
  const name = response.$ref?.split('/').at(-1)
  return (name ? document.components.responses[name] : response)?.['x-codes'] ?? []
}

test('describes every domain', () => {
  for (const domain of Object.keys(api)) expect(DOMAINS, 'src/registry/domains.ts').toHaveProperty(domain)
})

test('lists named schemas once', () => {
  expect(document.components.schemas['ErrorResponse']?.properties['code']).toEqual({ type: 'string' })
  expect(document.components.schemas['ServiceStatus']?.properties['updatedAt']).toEqual({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'ISO 8601, UTC, with milliseconds',
  })
  const listed =
    document.paths['/api/services/status']?.['get']?.responses['200']?.content?.['application/json']?.schema
  expect(listed?.properties.data.items).toEqual({ $ref: '#/components/schemas/ServiceStatus' })
})

test('is served with an ETag, and returns 304 when the client has that version', async () => {
  const first = await app.send('GET /api/openapi.json', { headers: { 'Accept-Encoding': 'identity' } })
  expect(first.status).toBe(200)
  expect(first.headers.get('content-type')).toBe('application/json')
  expect(first.headers.get('content-encoding')).toBeNull()
  expect(first.text).toBe(text)
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w-]{22}"$/)
  const headers = { 'Accept-Encoding': 'identity', 'If-None-Match': etag }
  const again = await app.send('GET /api/openapi.json', { headers })
  expect(again.status).toBe(304)
  expect(again.text).toBe('')
})

test('is compressed for clients that accept gzip, with a separate ETag', async () => {
  const encodings = { 'gzip, deflate': true, '*': true, 'gzip;q=0, *': false, br: false, 'GZIP;q=0.5': true }
  for (const [accepted, isCompressed] of Object.entries(encodings)) {
    const reply = await app.send('GET /api/openapi.json', { headers: { 'Accept-Encoding': accepted } })
    expect(reply.headers.get('content-encoding'), accepted).toBe(isCompressed ? 'gzip' : null)
    expect(reply.headers.get('vary')).toContain('Accept-Encoding')
    expect(reply.text).toBe(text)
    const etag = reply.headers.get('etag') ?? ''
    expect(etag).toMatch(isCompressed ? /^"[\w-]{22}-gz"$/ : /^"[\w-]{22}"$/)
    const headers = { 'Accept-Encoding': accepted, 'If-None-Match': etag }
    expect((await app.send('GET /api/openapi.json', { headers })).status).toBe(304)
    if (isCompressed) expect(Number(reply.headers.get('content-length'))).toBeLessThan(text.length / 8)
  }
})
