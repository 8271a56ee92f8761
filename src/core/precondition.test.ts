import { expect, test } from 'vitest'
import { readIfMatch, requireVersion } from './precondition.ts'

test.each([
  ['', undefined],
  [' * ', undefined],
  ['"3"', ['3']],
  ['"x", "1"', ['x', '1']],
  ['"x","a,b" , "1"', ['x', 'a,b', '1']],
  ['W/"3"', []],
  ['W/"3", "4"', ['4']],
  ['3', ['3']],
  ['"*"', ['*']],
])('If-Match: %s', (header, tags) => {
  expect(readIfMatch(header)).toEqual(tags)
})

test('a version matches any of the tags, and no tags match every version', () => {
  expect(() => requireVersion(undefined, 3)).not.toThrow()
  expect(() => requireVersion(['x', '3'], 3)).not.toThrow()
  expect(() => requireVersion(['x', '4'], 3)).toThrow('at version 3, not x or 4')
  expect(() => requireVersion([], 3)).toThrow('no strong entity tag')
})
