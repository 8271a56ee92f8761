import { expect, test } from 'vitest'
import { asyncApiDocument } from './asyncapi.ts'
import { event } from './event.ts'
import { operation, walk, type AnyOperation } from './operation.ts'
import { Done, Id, Input, named, Type } from './schema.ts'

const Tag = named('Tag', Type.Object({ word: Type.String() }))
const read: AnyOperation = operation({
  route: 'GET /api/notes',
  summary: 'List notes',
  access: 'public',
  socket: true,
  returns: { 200: Done, 204: null, 206: { contentType: 'text/csv' } },
  example: {},
  handle: () => undefined as never,
})
const write: AnyOperation = {
  ...read,
  route: 'POST /api/notes/{noteId}',
  socket: 'sync',
  path: Type.Object({ noteId: Id }),
  query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
  body: Input({ text: Type.String(), tag: Type.Optional(Tag), tags: Type.Array(Tag) }),
  etag: 'edits',
}
const { socket: _, ...silent } = read
const noted = event({ name: 'note.written', summary: 'x', scope: 'team:read', data: Type.Object({}), example: {} })

const message = { summary: 'x', description: 'y', data: Type.Object({}), example: {} }
const document = asyncApiDocument({
  version: '1',
  events: [noted, { ...noted, name: 'note.heard', stored: false }],
  clientMessages: [
    { ...message, name: 'sync', ack: 'reply' },
    { ...message, name: 'other', ack: 'reply' },
    { ...message, name: 'typing' },
    { ...message, name: 'resume', ack: Type.Object({ ok: Type.Boolean() }) },
  ],
  serverMessages: [{ ...message, name: 'hello' }],
  operations: walk({ notes: { write, read, silent: { ...silent, route: 'GET /api/other' } } }),
  closingCodes: {},
  refusals: {},
  limits: [],
})

type Part = Readonly<Record<string, unknown>>
const { messages, schemas } = document['components'] as {
  messages: Record<string, { name: string; payload: Part }>
  schemas: Part
}
const operations = document['operations'] as Record<string, Part>

test('lists every message once, events first and in order', () => {
  expect(Object.keys(messages)).toEqual([
    'note.heard',
    'note.written',
    'hello',
    'sync',
    'sync.reply',
    'other',
    'other.reply',
    'typing',
    'resume',
    'resume.reply',
    'call.read',
    'call.read.reply',
    'call.write',
    'call.write.reply',
  ])
  expect(Object.keys(operations)).toContain('send.note.written')
  expect(operations['receive.typing']).not.toHaveProperty('reply')
  expect(operations['receive.sync']).toHaveProperty('reply')
  expect(messages['call.read']?.name).toBe('call')
  expect(messages['sync']?.name).toBe('sync')
})

test('describes calls by what the operation takes', () => {
  expect(messages['call.read']?.payload).toMatchObject({ required: ['operation'] })
  expect(Object.keys(messages['call.read']?.payload['properties'] as Part)).toEqual(['operation'])
  expect(messages['call.write']?.payload).toMatchObject({ required: ['operation', 'path', 'body'] })
  expect(Object.keys(messages['call.write']?.payload['properties'] as Part)).toEqual([
    'operation',
    'path',
    'query',
    'body',
    'idempotencyKey',
    'ifMatch',
  ])
})

test('describes replies by the JSON bodies of the operation and the error', () => {
  const bodyOf = (name: string) => {
    const payload = messages[name]?.payload as { readonly properties?: { readonly body?: Part } } | undefined
    return payload?.properties?.body
  }
  expect(bodyOf('call.read.reply')?.['anyOf']).toHaveLength(2)
  expect(bodyOf('sync.reply')?.['anyOf']).toHaveLength(2)
  expect(bodyOf('other.reply')).toEqual({})
  expect(messages['resume.reply']?.payload).toMatchObject({ properties: { ok: { type: 'boolean' } } })
})

test('describes stored events with their number', () => {
  expect(messages['note.written']?.payload).toMatchObject({ required: ['seq', 'type', 'workspaceId', 'at', 'data'] })
  expect(messages['note.heard']?.payload).not.toHaveProperty('required', expect.arrayContaining(['seq']))
})

test('lists a schema of a call once, also if a copy of it comes first', () => {
  const tag = { $ref: '#/components/schemas/Tag' }
  const body = { properties: { tag, tags: { items: tag } } }
  expect(messages['call.write']?.payload).toMatchObject({ properties: { body } })
  expect(schemas).toHaveProperty('Tag')
})
