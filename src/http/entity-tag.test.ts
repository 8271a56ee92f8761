import { expect, test } from 'vitest'
import { knows } from './entity-tag.ts'

test.each([
  ['', false],
  ['"a"', true],
  ['W/"a"', true],
  [' * ', true],
  ['"b", "a"', true],
  ['"b" ,W/"a" ', true],
  ['"b"', false],
  ['a', false],
  ['"b", *', false],
])('If-None-Match %j of a client that has version "a": %s', (header, isKnown) => {
  expect(knows(header, '"a"')).toBe(isKnown)
})
