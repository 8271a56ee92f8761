import { expect, test } from 'vitest'
import { from, operation, walk, type Operation } from './operation.ts'
import { Envelope, Id, Input, Type } from './schema.ts'

const sound = operation({
  route: 'POST /api/things',
  summary: 'Make a thing',
  access: 'team:read',
  workspace: from.body('workspaceId'),
  body: Input({ workspaceId: Id }),
  returns: { 201: null },
  example: { body: {} },
  handle: async () => ({ status: 201 as const, body: undefined }),
}) as unknown as Operation

const walkOne = (changes: object) => walk({ things: { makeThing: { ...sound, ...changes } as Operation } })

test('an operation knows its name, domain, method and path', () => {
  expect(walkOne({})).toMatchObject([
    { name: 'makeThing', domain: 'things', method: 'POST', pattern: '/api/things', resource: undefined },
  ])
})

const GET = { route: 'GET /api/things', body: undefined, workspace: from.query('workspaceId') }
const FILE = { returns: { 200: { contentType: 'image/png', file: true } } }

test.each<[string, object]>([
  ['a scope needs `workspace`', { workspace: undefined }],
  ['only a turn has a prelude', { prelude: async () => undefined }],
  ['a turn needs `workspace`', { access: 'user', workspace: undefined, turn: true }],
  ['GET takes no body', { ...GET, body: sound.body }],
  ['GET takes no body', { ...GET, upload: { kind: 'raw', maxBytes: 1 } }],
  ['only GET can have signed links', { link: true }],
  ['sockets cannot carry files', { socket: true, upload: { kind: 'form', maxBytes: 1 } }],
  ['sockets cannot carry files', { ...GET, ...FILE, socket: true }],
  ['only GET can take a ticket in the query', { ticket: 'ticket' }],
  ['`bearer: own` needs `access: public`', { bearer: 'own' }],
  ['a body that is not JSON needs a plain HTTP operation', { bodyType: 'application/sdp', socket: true }],
  ['a body that is not JSON needs a plain HTTP operation', { bodyType: 'application/sdp', turn: true }],
  [
    'a body that is not JSON needs a plain HTTP operation',
    { bodyType: 'application/sdp', upload: { kind: 'form', maxBytes: 1 } },
  ],
  ['`unconfirmed` is only for operations of the signed-in user', { unconfirmed: true }],
  ['a turn cannot take a file', { turn: true, upload: { kind: 'form', maxBytes: 1 } }],
  ['a raw body has no fields', { upload: { kind: 'raw', maxBytes: 1 } }],
  ['path schema must have exactly id', { route: 'POST /api/things/{id}' }],
  ['path schema must have exactly nothing', { path: Input({ id: Id }) }],
])('a declaration is rejected because %s (%#)', (why, changes) => {
  expect(() => walkOne(changes)).toThrow(`operation makeThing: ${why}`)
})

test.each<[string, object]>([
  ['a turn with a prelude', { turn: true, prelude: async () => undefined }],
  ['a read with a signed link', { ...GET, ...FILE, link: true }],
  ['a read with a ticket', { ...GET, ticket: 'ticket' }],
  ['a public operation with its own token', { access: 'public', workspace: undefined, bearer: 'own' }],
  ['a call over a socket', { socket: true }],
  ['an operation for users whose address is not confirmed', { access: 'user', unconfirmed: true }],
  ['a form with a file', { upload: { kind: 'form', maxBytes: 1 } }],
  ['a path with a parameter', { route: 'POST /api/things/{id}', path: Input({ id: Id }) }],
])('%s is accepted', (_what, changes) => {
  expect(walkOne(changes)).toHaveLength(1)
})

test('a route cannot be declared twice', () => {
  const twice = { things: { makeThing: sound, makeAnother: sound } }
  expect(() => walk(twice)).toThrow('operation makeAnother: route POST /api/things is declared twice')
})

test('PUT and PATCH have the fields of the replies of their path; other methods have none', () => {
  const reply = (field: string) => ({ 200: Envelope(Type.Object({ [field]: Type.String() })) })
  const at = (method: string, returns: object) => ({
    ...sound,
    route: `${method} /api/things/one`,
    body: method === 'GET' ? undefined : sound.body,
    returns,
  })
  const operations = walk({
    things: {
      read: at('GET', reply('name')),
      replace: at('PUT', reply('owner')),
      change: at('PATCH', { 204: null }),
      act: at('POST', reply('other')),
    },
  })
  const known = operations.map(({ name, resource }) => {
    const { properties = {} }: { properties?: object } = resource ?? {}
    return [name, Object.keys(properties)]
  })
  expect(known).toEqual([
    ['read', []],
    ['replace', ['name', 'owner']],
    ['change', ['name', 'owner']],
    ['act', []],
  ])
})
