import { expect, test } from 'vitest'
import { MAX_JSON_MARKS } from '../tools/json-size.ts'
import { operation, walk, type AnyOperation } from '../core/operation.ts'
import { Done, Input, Type } from '../core/schema.ts'
import { inputReader } from './input.ts'

const addNote: AnyOperation = operation({
  route: 'POST /api/notes',
  summary: 'Add a note',
  access: 'public',
  bodyLimit: 8_000_000,
  bodyMarks: MAX_JSON_MARKS,
  body: Input({ any: Type.Unknown() }),
  returns: { 200: Done },
  example: { body: { any: 1 } },
  handle: () => undefined as never,
})
const [op] = walk({ notes: { addNote } })
const { parse } = inputReader(op!)

test('a body of too many fields and items is refused before it is parsed', () => {
  // Not even valid JSON, so that parsing it would be another error.
  expect(() => parse(`{"any":[${'[],'.repeat(MAX_JSON_MARKS / 2)}`)).toThrow(
    'has more than 250000 fields and list items',
  )
  expect(parse(JSON.stringify({ any: '[],'.repeat(MAX_JSON_MARKS) }))).toEqual({ any: expect.any(String) })
  expect(() => parse('{"any":[')).toThrow('The body is not valid JSON')
})
