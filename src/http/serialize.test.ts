import { expect, test } from 'vitest'
import { operation, walk } from '../core/operation.ts'
import { Done, Id, Nullable, Timestamp, Type } from '../core/schema.ts'
import { compileSerializer, rawContentType, serializers } from './serialize.ts'

test('writes the fields of the schema and no others', () => {
  const write = compileSerializer(Type.Object({ a: Type.String(), b: Type.Optional(Type.Integer()) }))
  expect(write({ a: 'x', secret: 'y' })).toBe('{"a":"x"}')
  expect(write({ a: 'x', b: 2 })).toBe('{"a":"x","b":2}')
})

test('writes a value or null, whichever comes first in the schema', () => {
  const inner = Type.Object({ x: Type.Integer() })
  for (const schema of [Nullable(inner), Type.Union([Type.Null(), inner])]) {
    const write = compileSerializer(Type.Object({ value: schema }))
    expect([write({ value: null }), write({ value: { x: 1, y: 2 } })]).toEqual(['{"value":null}', '{"value":{"x":1}}'])
  }
  const either = compileSerializer(Type.Object({ value: Type.Union([Type.String(), Type.Integer()]) }))
  expect([either({ value: 'a' }), either({ value: 1 })]).toEqual(['{"value":"a"}', '{"value":1}'])
  const three = compileSerializer(Type.Object({ value: Type.Union([Type.String(), Type.Integer(), Type.Null()]) }))
  expect([three({ value: 'a' }), three({ value: 1 }), three({ value: null })]).toEqual([
    '{"value":"a"}',
    '{"value":1}',
    '{"value":null}',
  ])
})

test('escapes text, but does not search ids and times that the server generates', () => {
  const text = compileSerializer(Type.Object({ text: Type.String({ description: 'any', pattern: '^' }) }))
  expect(text({ text: '"\\n' })).toBe(JSON.stringify({ text: '"\\n' }))
  const made = compileSerializer(Type.Object({ id: Id, at: Timestamp }))
  const values = { id: '01939c5e-7a3b-7c21-9f58-000000000001', at: '2026-11-01T12:00:00.000Z' }
  expect(made(values)).toBe(JSON.stringify(values))
  const uri = compileSerializer(Type.Object({ url: Type.String({ format: 'uri' }) }))
  expect(uri({ url: 'https://a/"' })).toBe(JSON.stringify({ url: 'https://a/"' }))
})

test('writes ids and times unchanged, and does not validate a nullable value', () => {
  const made = compileSerializer(Type.Object({ id: Id, at: Timestamp, list: Type.Array(Id) }))
  expect(made({ id: '"', at: '"', list: ['"'] })).toBe('{"id":""","at":""","list":["""]}')
  for (const schema of [Nullable(Id), Type.Union([Type.Null(), Id])]) {
    const either = compileSerializer(Type.Object({ id: schema }))
    expect([either({ id: 'no uuid' }), either({ id: null })]).toEqual(['{"id":"no uuid"}', '{"id":null}'])
  }
})

test('keeps fields whose names are keywords', () => {
  const write = compileSerializer(
    Type.Object({ description: Type.String(), format: Type.String(), pattern: Nullable(Type.String()) }),
  )
  expect(write({ description: 'a', format: 'b', pattern: null })).toBe(
    '{"description":"a","format":"b","pattern":null}',
  )
})

test('an operation has a serializer for each JSON reply', () => {
  const [op] = walk({
    notes: {
      one: operation({
        route: 'GET /api/notes',
        summary: 'x',
        access: 'public',
        returns: { 200: Done, 202: { contentType: 'text/csv' }, 204: null },
        example: {},
        handle: () => undefined as never,
      }),
    },
  })
  expect([...serializers(op!).keys()]).toEqual([200])
  expect([rawContentType({ contentType: 'text/csv' }), rawContentType(Done), rawContentType(null)]).toEqual([
    'text/csv',
    undefined,
    undefined,
  ])
})
