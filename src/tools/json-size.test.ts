import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasTooManyMarks, MAX_JSON_MARKS } from './json-size.ts'

test.each([
  ['[1,2,3]', 3],
  ['{"a":{"b":[]}}', 5],
  ['["a,b:[{","\\"],[\\\\","\\\\"]', 3],
  ['"[[[["', 0],
  ['"open [[[', 0],
  ['[] []', 2],
])('%s has %d marks', (text, marks) => {
  // Texts that are shorter than the bound are not searched.
  const long = text + ' '.repeat(20)
  if (marks > 0) expect(hasTooManyMarks(long, marks - 1)).toBe(true)
  expect(hasTooManyMarks(long, marks)).toBe(false)
})

/** Counts in the parsed value instead of the text. */
function marksOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  const items = Object.values(value)
  const own = Math.max(items.length - 1, 0) + (Array.isArray(value) ? 1 : 1 + items.length)
  return items.reduce<number>((sum, item) => sum + marksOf(item), own)
}

test('any JSON has as many marks as its values need', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const marks = marksOf(JSON.parse(text))
      const long = text + ' '.repeat(marks + 1)
      if (marks > 0) expect(hasTooManyMarks(long, marks - 1)).toBe(true)
      expect(hasTooManyMarks(long, marks)).toBe(false)
    }),
    { numRuns: 500, seed: 20261130 },
  )
})

test('the largest body of a project or of posts may have as many fields as it can need', () => {
  const targets = Array.from({ length: 40 }, () => ({ accountId: 'x', override: { content: 'y' } }))
  const posts = Array.from({ length: 500 }, () => ({ content: 'z', targets }))
  expect(hasTooManyMarks(JSON.stringify({ workspaceId: 'w', posts }), MAX_JSON_MARKS)).toBe(false)
  expect(hasTooManyMarks(`[${'[],'.repeat(MAX_JSON_MARKS / 2)}1]`, MAX_JSON_MARKS)).toBe(true)
})
