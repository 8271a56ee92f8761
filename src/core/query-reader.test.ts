import { expect, test } from 'vitest'
import { errorsOfParameters, queryReader } from './query-reader.ts'
import { OneOf, Text, Type } from './schema.ts'
import { MAX_VALUES, Several, SeveralTexts } from './several.ts'
import { validator } from './validate.ts'

const schema = Type.Object(
  { status: Several(OneOf(['open', 'closed', 'late'])), label: SeveralTexts(Text(1, 20)), limit: Type.Integer() },
  { additionalProperties: false, required: [] },
)
const read = queryReader(schema, '/query')
const check = validator(schema, '/query')

function errorsOf(text: string): string[] {
  const { errors, values } = read(text)
  const checked = check(values)
  const invalid = checked.ok ? [] : errorsOfParameters(checked.errors, values)
  return [...errors, ...invalid].map(({ code, message, path }) => `${path} ${code}: ${message}`)
}

test.each([
  ['status=open', ['open']],
  ['status=open&status=closed', ['open', 'closed']],
  ['status=open,closed', ['open', 'closed']],
  ['status=open%2Cclosed', ['open', 'closed']],
  ['status=open,closed&limit=3&status=late', ['open', 'closed', 'late']],
])('a filter takes one value, or several: %s', (text, expected) => {
  expect(read(text).values['status']).toEqual(expected)
  expect(errorsOf(text)).toEqual([])
})

test.each([
  ['label=a', ['a']],
  ['label=a&label=b,c', ['a', 'b', 'c']],
  ['label=Berlin%2C+Paris,Rome', ['Berlin, Paris', 'Rome']],
  ['&label=a&&status=open&label=b%2Cc', ['a', 'b,c']],
  ['label=a=b%26c', ['a=b&c']],
  ['label=%3Fa,?b', ['?a', '?b']],
  ['label', ['']],
  ['label=', ['']],
  ['label=%E0%A4%A,b', ['\uFFFD%A', 'b']],
])('an encoded comma belongs to a text: %s', (text, expected) => {
  expect(read(text).values['label']).toEqual(expected)
})

test('a parameter with one value that is repeated is an error, and nothing hides the others', () => {
  expect(errorsOf('limit=1&limit=2&status=odd&limit=3')).toEqual([
    '/query/limit repeated: must not be repeated: it takes one value',
    '/query/status enum: must be one of open, closed, late',
  ])
  expect(errorsOf('other=1&other=2')).toEqual([expect.stringMatching(/^\/query\/other unknown_field:/)])
})

test('an invalid value names the parameter, and its position if there are several', () => {
  expect(errorsOf('status=')).toEqual(['/query/status enum: must be one of open, closed, late'])
  expect(errorsOf('status=open,odd')).toEqual(['/query/status enum: must be one of open, closed, late (value 2)'])
  const many = Array.from({ length: MAX_VALUES + 1 }, () => 'open').join()
  expect(errorsOf(`status=${many}`)).toEqual([`/query/status maxItems: must have at most ${MAX_VALUES} items`])
})
