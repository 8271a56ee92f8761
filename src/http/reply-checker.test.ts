import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { Conflict, InternalError, NotFound } from '../core/errors.ts'
import { operation, walk, type Operation } from '../core/operation.ts'
import { FileBody, LiveBody, RawBody } from '../core/reply.ts'
import { Envelope, Type } from '../core/schema.ts'
import { ContractError, faultOfMessage, ReplyChecker } from './reply-checker.ts'

const readThing = operation({
  route: 'GET /api/things/one',
  summary: 'Read a thing',
  access: 'user',
  returns: {
    200: Envelope(Type.Object({ name: Type.String(), tags: Type.Array(Type.Object({ text: Type.String() })) })),
    202: { contentType: 'text/plain' },
    204: null,
  },
  errors: [NotFound],
  example: {},
  handle: async () => ({ status: 204 as const, body: undefined }),
}) as unknown as Operation

const [op] = walk({ things: { readThing } })
const checker = new ReplyChecker(op!, [InternalError])
const check = (status: number, body?: unknown) => () => checker.checkReply({ status, body })
const thing = { name: 'a', tags: [{ text: 'b' }] }
const envelope = (data: unknown) => ({ status: true, message: 'Read', data })

test('a reply that its operation declares is accepted', () => {
  expect(check(200, envelope(thing))).not.toThrow()
  expect(check(204)).not.toThrow()
})

test.each([
  ['a status that is not declared', 201, undefined, 'readThing replied with the undeclared status 201'],
  ['a body where none is declared', 204, envelope(thing), 'readThing replied with 204 and an undeclared body'],
  ['no body where one is declared', 200, undefined, 'does not match its schema'],
  ['a field of another type', 200, envelope({ ...thing, name: 3 }), '/data/name'],
  ['a missing field', 200, envelope({ name: 'a' }), 'tags'],
  ['a field that is not declared', 200, envelope({ ...thing, secret: 'x' }), '/data'],
  ['such a field within a list', 200, envelope({ ...thing, tags: [{ text: 'b', secret: 'x' }] }), '/data/tags/0'],
])('%s is refused', (_what, status, body, why) => {
  expect(check(status, body)).toThrow(ContractError)
  expect(check(status, body)).toThrow(why)
})

test('a body of bytes is accepted where no JSON is declared', () => {
  const file = { size: 0, etag: 'a', name: 'a.txt', contentType: 'text/plain', disposition: 'inline' as const }
  const bodies = [
    new RawBody('text/plain', 'x'),
    new FileBody({ ...file, open: async () => Readable.from([]) }),
    new LiveBody('text/plain', Readable.from([])),
  ]
  for (const body of bodies) expect(check(202, body), body.constructor.name).not.toThrow()
  expect(check(202, { text: 'x' })).toThrow('an undeclared body')
})

test('only errors of the operation and of the pipeline may be raised', () => {
  expect(() => checker.checkError(NotFound())).not.toThrow()
  expect(() => checker.checkError(InternalError())).not.toThrow()
  expect(() => checker.checkError(Conflict())).toThrow('readThing raised the undeclared error conflict')
})

test.each([
  ['width is too large.', 'does not begin like a sentence'],
  ['`width` is too large.', 'does not begin like a sentence'],
  ['It is too large', 'does not end like a sentence'],
  ['It is too large..', 'does not end like a sentence'],
  ['Did you mean it?.', 'does not end like a sentence'],
  ['“a.mp4” is too large.', undefined],
  ['12 of 40 bytes were received.', undefined],
  ['Did you mean it?', undefined],
])('the message of an error is a sentence: %s', (message, fault) => {
  expect(faultOfMessage(message)).toBe(fault)
})
