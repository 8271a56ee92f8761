import { Registry } from 'prom-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { contextFactory } from '../core/context.ts'
import { createLog } from '../core/log.ts'
import { MainThread } from '../core/main-thread.ts'
import { operation, walk, type AnyOperation } from '../core/operation.ts'
import { Envelope, Input, Type } from '../core/schema.ts'
import type { Services } from '../core/services.ts'
import type { SocketClient } from '../core/socket-calls.ts'
import { JsonParser } from './json-parser.ts'
import { HttpMetrics } from './metrics.ts'
import type { PipelineOptions } from './pipeline.ts'
import { RequestLog } from './request-log.ts'
import { PipelineCalls } from './socket-calls.ts'

const data = Type.Object({ path: Type.String(), limit: Type.Integer(), text: Type.String(), match: Type.String() })
const write = operation({
  route: 'PATCH /api/notes/{noteId}',
  summary: 'x',
  access: 'public',
  limit: 'none',
  socket: 'sync',
  path: Type.Object({ noteId: Type.String() }),
  query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
  body: Input({ text: Type.String() }),
  returns: { 200: Envelope(data) },
  example: {},
  handle: ({ path, query, body, ifMatch = [] }) => ({
    status: 200 as const,
    body: {
      status: true as const,
      message: '',
      data: { path: path.noteId, limit: query.limit ?? 0, text: body.text, match: ifMatch.join() },
    },
  }),
})
const noContent = { status: 204, body: undefined } as const
const read = operation({
  route: 'GET /api/notes',
  summary: 'x',
  access: 'public',
  limit: 'none',
  socket: true,
  query: Type.Object({ text: Type.Optional(Type.String()) }),
  returns: { 200: Envelope(Type.Object({ text: Type.String() })), 204: null },
  example: {},
  handle: ({ query: { text } }) =>
    text === undefined
      ? noContent
      : { status: 200 as const, body: { status: true as const, message: '', data: { text } } },
})
const { socket: _, ...silent }: AnyOperation = read
const unreachable = { ...silent, route: 'GET /api/other' } as const

const client = {
  credential: { kind: 'token', token: 'a.b.c' },
  remoteAddress: '192.0.2.7',
  userAgent: 'a test',
} as SocketClient

let calls: PipelineCalls
let lines: Record<string, unknown>[]

beforeEach(() => {
  lines = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  calls = new PipelineCalls(walk({ notes: { write, read, unreachable } }), {
    authenticator: { authenticate: () => ({ userId: 'ada' }), used: () => undefined },
    switches: { isOn: () => true },
    context: contextFactory({} as Services),
    requestLog: new RequestLog(createLog({ level: 'info', destination }), new HttpMetrics(new Registry())),
    thread: new MainThread({ onHeld: () => undefined }),
    json: new JsonParser(),
    publicUrl: 'https://crier.example',
    checkReplies: false,
  } as unknown as PipelineOptions)
})

const json = (reply: { json?: string }) =>
  JSON.parse(reply.json ?? 'null') as { code?: string; message: string; data: unknown }
const deep = () => {
  let value: unknown = 1
  for (let level = 0; level < 100; level += 1) value = { x: value }
  return value
}

describe('a call', () => {
  test('has the parts of a request, and the reply of REST', async () => {
    const reply = await calls.call(
      {
        operation: 'write',
        path: { noteId: 'a/b' },
        query: { limit: 3 },
        body: { text: 'hi' },
        ifMatch: '4',
        requestId: 'r-1',
      },
      client,
    )
    expect(reply).toMatchObject({ status: 200, headers: { 'x-request-id': 'r-1', 'content-type': 'application/json' } })
    expect(json(reply).data).toEqual({ path: 'a/b', limit: 3, text: 'hi', match: '4' })
    expect(await calls.call({ operation: 'read' }, client)).toEqual({
      status: 204,
      headers: expect.not.objectContaining({ 'content-type': 'application/json' }),
    })
  })

  test.each([
    ['text', 'A call must be an object with the field `operation`.'],
    [null, 'A call must be an object with the field `operation`.'],
    [['read'], 'A call must be an object with the field `operation`.'],
    [Buffer.from('x'), 'A call must be an object with the field `operation`.'],
    [{ operation: 'read', more: 1 }, 'The field more of the call is not valid.'],
    [{ operation: 'read', ifMatch: 4 }, 'The field ifMatch of the call is not valid.'],
    [{ operation: 'read', query: [] }, 'The field query of the call is not valid.'],
    [{ operation: 'read', path: 'x' }, 'The field path of the call is not valid.'],
  ])('that is %o is refused: %s', async (message, why) => {
    const reply = await calls.call(message, client)
    expect(reply.status).toBe(400)
    expect(json(reply)).toMatchObject({ code: 'bad_request', message: why })
    expect(lines).toMatchObject([{ op: 'none', status: 400, error: 'bad_request' }])
  })

  test('that is nested too deeply is refused', async () => {
    for (const reply of [
      await calls.call({ operation: 'read', body: deep() }, client),
      await calls.named('sync', { text: deep() }, client),
    ]) {
      expect(json(reply)).toMatchObject({ code: 'bad_request', message: 'The message is nested too deeply.' })
    }
  })

  test('of an operation that cannot be called is not found', async () => {
    for (const name of ['unreachable', 'nothing', 7, undefined]) {
      expect(await calls.call({ operation: name }, client)).toMatchObject({ status: 404 })
    }
    expect(await calls.named('resume', {}, client)).toMatchObject({ status: 404 })
  })

  test('leaves a path that is not text, or not well-formed, to validation', async () => {
    expect(await calls.call({ operation: 'write', path: { noteId: 7 }, body: { text: 'x' } }, client)).toMatchObject({
      status: 200,
    })
    const reply = await calls.call({ operation: 'write', path: { noteId: '\ud800' }, body: { text: 'x' } }, client)
    expect(json(reply).data).toMatchObject({ path: '\ufffd' })
  })
})

describe('a named message', () => {
  test('has the fields of path, query and body in one object', async () => {
    const reply = await calls.named('sync', { noteId: 'n1', limit: 2, text: 'hi' }, client)
    expect(json(reply).data).toEqual({ path: 'n1', limit: 2, text: 'hi', match: '' })
  })

  test('must be an object, and unknown fields are reported', async () => {
    const unknown = await calls.named('sync', { noteId: 'n1', text: 'hi', more: 1 }, client)
    expect(json(unknown)).toMatchObject({ code: 'validation_failed', errors: [{ path: '/body/more' }] })
    expect(json(await calls.named('sync', 'text', client)).message).toBe('The data of sync must be an object.')
  })
})
