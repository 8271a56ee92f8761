import { describe, expect, test } from 'vitest'
import { pipelineErrors } from '../http/declared-errors.ts'
import { Conflict, NotFound, ServiceDisabled } from './errors.ts'
import { event } from './event.ts'
import { from, operation, walk, type AnyOperation, type NamedOperation, type Registry } from './operation.ts'
import { openApiDocument, type OperationExample } from './openapi.ts'
import { ComponentSchemas } from './openapi-schemas.ts'
import { FILE } from './reply.ts'
import { Envelope, Id, Input, named, Nullable, Type } from './schema.ts'

// Features that no operation of the service uses, and those that are hard to find in the large document of the service.

const Thing = named('Thing', Type.Object({ _id: Id, title: Nullable(Type.String()) }))
const returns = { 200: Envelope(Thing) }
const base = { summary: 'x', returns, example: {} } as const

interface Written {
  readonly description: string
  readonly security: unknown
  readonly parameters: readonly Record<string, unknown>[]
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, unknown> }
  readonly responses: Record<
    string,
    { $ref?: string; description: string; headers: object; content: Record<string, unknown> }
  >
  readonly [field: string]: unknown
}

function documentOf(declared: Registry[string], examples: ReadonlyMap<string, OperationExample> = new Map()) {
  const operations = walk({ things: declared })
  const options = {
    title: 't',
    version: '1',
    description: 'd',
    domains: { things: 'All things' },
    pipelineErrors,
    examples,
  }
  return { document: openApiDocument(operations, options), operations }
}

function write(op: AnyOperation, example?: OperationExample): Written {
  const { document, operations } = documentOf({ one: op }, new Map(example && [['one', example]]))
  const { method, pattern } = operations[0] as NamedOperation
  const paths = document['paths'] as Record<string, Record<string, Written>>
  return paths[pattern]?.[method.toLowerCase()] as Written
}

const read: AnyOperation = operation({
  ...base,
  route: 'GET /api/things',
  access: 'user',
  handle: () => undefined as never,
})
const create: AnyOperation = operation({
  ...base,
  route: 'POST /api/things',
  access: 'user',
  body: Input({ title: Type.String() }),
  handle: () => undefined as never,
})

describe('an operation', () => {
  test('shows who may call it, and with which credential', () => {
    expect(write(read)).toMatchObject({
      description: 'For every signed-in user.',
      security: [{ bearer: [] }, { apiKey: [] }],
    })
    expect(write({ ...read, access: 'public' })).toMatchObject({ description: 'Requires no credential.', security: [] })
    expect(write({ ...read, access: 'admin' }).description).toBe('For platform administrators.')
    expect(write({ ...read, access: 'internal' }).description).toContain('For workers of this installation.')
    const own = write({ ...create, access: 'public', bearer: 'own' })
    expect(own).toMatchObject({ security: [{ ownToken: [] }] })
    expect(own.description).toContain('Requires a token for this operation')
    const scoped = { ...read, access: 'team:read', workspace: from.query('workspaceId') } as const
    expect(write({ ...scoped, link: true })).toMatchObject({
      'x-scope': 'team:read',
      'x-turn': false,
      security: [{ bearer: ['team:read'] }, { apiKey: ['team:read'] }, { signedUrl: [] }],
    })
    const turn = write({ ...scoped, route: 'POST /api/things', turn: true, description: 'More.' })
    expect(turn['x-turn']).toBe(true)
    expect(turn.description).toMatch(/^More\.\n\nRequires the scope `team:read`.*\n\nRuns as a turn/)
  })

  test('lists its parameters, with examples, and arrays as repeated ones', () => {
    const { parameters } = write({
      ...read,
      route: 'GET /api/things/{thingId}',
      path: Type.Object({ thingId: Id }),
      query: Type.Object({
        tags: Type.Optional(Type.Array(Type.String())),
        text: Type.String({ description: 'What to find' }),
      }),
      example: { path: { thingId: 'id-1' }, query: { text: 'x' } },
    })
    expect(parameters).toMatchObject([
      { name: 'thingId', in: 'path', required: true, example: 'id-1' },
      { name: 'tags', in: 'query', required: false, style: 'form', explode: true },
      { name: 'text', in: 'query', required: true, description: 'What to find', example: 'x' },
      { $ref: '#/components/parameters/RequestId' },
    ])
    expect(parameters[0]).not.toHaveProperty('style')
    expect(parameters[1]).toHaveProperty(
      'description',
      'Repeat the parameter for several values, or separate values by commas',
    )
    expect(parameters[1]).not.toHaveProperty('example')
  })

  test('lists the headers that it reads', () => {
    const headersOf = (op: AnyOperation) =>
      write(op)
        .parameters.map(({ $ref }) => String($ref).split('/').at(-1))
        .filter((name) => name !== 'undefined')
    expect(headersOf(create)).toEqual(['RequestId', 'IdempotencyKey'])
    expect(headersOf({ ...read, etag: true })).toEqual(['RequestId', 'IfNoneMatch'])
    expect(headersOf({ ...read, etag: 'edits' })).toEqual(['RequestId'])
    expect(headersOf({ ...create, route: 'PATCH /api/things', etag: 'edits' })).toEqual(['RequestId', 'IfMatch'])
    expect(headersOf({ ...read, returns: { 200: FILE } })).toEqual(['RequestId', 'IfNoneMatch', 'Range', 'IfRange'])
    const upload = { kind: 'raw', maxBytes: 10, ranges: true } as const
    const { body: _, ...withoutBody } = create
    expect(headersOf({ ...withoutBody, route: 'PUT /api/things', upload })).toEqual(['RequestId', 'ContentRange'])
  })

  test('describes its body: JSON, text, or a file with its fields', () => {
    const content = (op: AnyOperation, example?: OperationExample) => write(op, example).requestBody
    expect(content(read)).toBeUndefined()
    expect(content(create)).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { type: 'object' } } },
    })
    expect(content(create)?.content['application/json']).not.toHaveProperty('example')
    const recorded = { status: 200, request: { title: 'recorded' }, reply: {} }
    expect(content({ ...create, example: { body: { title: 'declared' } } })).toMatchObject({
      content: { 'application/json': { example: { title: 'declared' } } },
    })
    expect(content({ ...create, example: { body: { title: 'declared' } } }, recorded)).toMatchObject({
      content: { 'application/json': { example: { title: 'recorded' } } },
    })
    expect(content({ ...create, bodyOptional: true })?.required).toBe(false)
    expect(Object.keys(content({ ...create, bodyType: 'application/sdp' })?.content ?? {})).toEqual(['application/sdp'])
    const multipart = content({ ...create, upload: { kind: 'multipart', maxBytes: 10 } }, recorded)
    expect(multipart?.content['multipart/form-data']).toMatchObject({
      schema: { properties: { title: {}, file: { format: 'binary' } }, required: ['title', 'file'] },
      example: { title: 'recorded', file: 'the bytes of the file' },
    })
    const { body: _, ...alone } = create
    expect(
      content({ ...alone, upload: { kind: 'multipart', maxBytes: 10 } })?.content['multipart/form-data'],
    ).toMatchObject({
      schema: { properties: { file: {} }, required: ['file'] },
    })
    expect(Object.keys(content({ ...alone, upload: { kind: 'raw', maxBytes: 10 } })?.content ?? {})).toEqual([
      'application/octet-stream',
      '*/*',
    ])
  })

  test('describes its replies, with the recorded one and the headers', () => {
    const { responses } = write(create, { status: 200, reply: { data: 1 } })
    expect(responses['200']).toMatchObject({
      description: 'OK',
      content: { 'application/json': { example: { data: 1 } } },
    })
    expect(Object.keys(responses['200']?.headers ?? {})).toEqual([
      'X-Request-Id',
      'Idempotent-Replayed',
      'RateLimit',
      'RateLimit-Policy',
    ])
    expect(
      write(create, { status: 201, reply: { data: 1 } }).responses['200']?.content['application/json'],
    ).not.toHaveProperty('example')
    const versioned = write({ ...read, etag: true, limit: 'none' }).responses
    expect([Object.keys(versioned['200']?.headers ?? {}), versioned['304']?.description]).toEqual([
      ['X-Request-Id', 'ETag'],
      'Not modified since the ETag in If-None-Match',
    ])
    expect(write({ ...read, etag: 'edits' }).responses).not.toHaveProperty('304')
    const file = write({ ...read, returns: { 200: FILE } }).responses
    expect(file['206']).toMatchObject({ description: 'The requested range of bytes', content: { '*/*': {} } })
    expect(Object.keys(file['200']?.headers ?? {})).toContain('Accept-Ranges')
    expect(file).toHaveProperty('304')
    expect(write({ ...read, returns: { 204: null } }).responses['204']).not.toHaveProperty('content')
  })

  test('lists its errors once per set of codes, and shows both bodies for a status that is also an error', () => {
    const { document } = documentOf({
      one: { ...create, errors: [Conflict, NotFound] },
      two: { ...read, errors: [NotFound] },
    })
    const { responses } = document['components'] as {
      responses: Record<string, { 'x-codes': string[]; headers: object }>
    }
    const conflict = Object.entries(responses).find(([name]) => name.split('.').includes('conflict'))
    expect(conflict?.[1]['x-codes']).toEqual(conflict?.[0].split('.'))
    expect(Object.keys(responses)).toEqual(Object.keys(responses).toSorted((a, b) => a.localeCompare(b)))
    const headersOf = (code: string) => Object.keys(responses[code]?.headers ?? {})
    expect(headersOf('not_found')).toEqual(['X-Request-Id'])
    expect(headersOf('rate_limited')).toEqual(['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy'])
    const unauthorized = Object.entries(responses).find(([name]) => name.includes('unauthorized'))
    expect(Object.keys(unauthorized?.[1].headers ?? {})).toEqual(['X-Request-Id', 'WWW-Authenticate'])
    const both = write({ ...read, errors: [ServiceDisabled], returns: { ...returns, 503: Envelope(Thing) } })
    expect(both.responses['503']?.content['application/json']).toMatchObject({ schema: { anyOf: [{}, {}] } })
  })
})

test('a document has webhooks if there are events', () => {
  const { document, operations } = documentOf({ one: read })
  expect(document).not.toHaveProperty('webhooks')
  const made = event({ name: 'thing.made', summary: 'x', scope: 'team:read', data: Type.Object({}), example: {} })
  const options = { title: 't', version: '1', description: 'd', domains: {}, pipelineErrors, events: [made] }
  expect(Object.keys(openApiDocument(operations, options)['webhooks'] as object)).toContain('thing.made')
})

test('the document sorts paths and methods, and describes its domains', () => {
  const { document } = documentOf({
    b: { ...read, route: 'GET /api/b' },
    c: { ...create, route: 'POST /api/a' },
    a: { ...read, route: 'GET /api/a' },
  })
  const paths = document['paths'] as Record<string, object>
  expect(Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)])).toEqual([
    ['/api/a', ['get', 'post']],
    ['/api/b', ['get']],
  ])
  expect(document['tags']).toEqual([{ name: 'things', description: 'All things' }])
})

describe('schemas', () => {
  test('with a name are listed once and referred to, also in copies', () => {
    const schemas = new ComponentSchemas()
    schemas.learn(Type.Object({ thing: Thing }))
    expect(schemas.write(Type.Object({ thing: Type.Optional(Thing), all: Type.Array(Thing) }))).toMatchObject({
      properties: {
        thing: { $ref: '#/components/schemas/Thing' },
        all: { items: { $ref: '#/components/schemas/Thing' } },
      },
    })
    expect(Object.keys(schemas.components())).toEqual(['Thing'])
    expect(() => schemas.learn(Thing)).not.toThrow()
    expect(() => schemas.learn(named('Thing', Type.Object({ other: Type.String() })))).toThrow(
      'two different schemas are named Thing',
    )
  })

  test('are written in the forms that generators handle best', () => {
    const write = (schema: object) => new ComponentSchemas().write(schema)
    expect(write(Nullable(Type.String({ minLength: 1 })))).toEqual({ type: ['string', 'null'], minLength: 1 })
    const choice = { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }
    expect(write(choice)).toEqual(choice)
    expect(write({ anyOf: [{ type: 'string', const: 'a' }, { type: 'null' }] })).toHaveProperty('anyOf')
    expect(write({ anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] })).toHaveProperty('anyOf')
    expect(write({ anyOf: [{ type: 'string' }, { type: 'integer' }] })).toHaveProperty('anyOf')
    expect(write({ enum: ['a', 'b'] })).toEqual({ type: 'string', enum: ['a', 'b'] })
    expect(write({ enum: ['a', 1] })).toEqual({ enum: ['a', 1] })
    expect(write({ type: 'object', patternProperties: { '^.*$': { type: 'string' } } })).toEqual({
      type: 'object',
      additionalProperties: { type: 'string' },
    })
    expect(write({ type: 'object', patternProperties: { '^.*$': {} } })).toHaveProperty('additionalProperties', true)
    expect(write(Type.Object({ gone: Type.Null() }))).toHaveProperty('properties.gone', {
      type: ['string', 'null'],
      enum: [null],
    })
    expect(write(Type.Integer({ maximum: 2 ** 31 - 1 }))).not.toHaveProperty('format')
    for (const schema of [Type.Integer(), Type.Integer({ maximum: 2 ** 31 }), Nullable(Type.Integer())])
      expect(write(schema)).toHaveProperty('format', 'int64')
    const map = { type: 'object', patternProperties: { '^a': { type: 'string' } } }
    expect(write(map)).toEqual(map)
    expect(write(Type.String({ 'x-verbatim': true }))).toEqual({ type: 'string' })
    expect(write({ type: 'object', additionalProperties: Thing })).toEqual({
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/Thing' },
    })
    expect(write({ type: 'object', additionalProperties: false })).toEqual({
      type: 'object',
      additionalProperties: false,
    })
  })
})
