import { expect, test } from 'vitest'
import { keyHint } from './key-hint.ts'

test.each([
  ['live_1234567890_abcdefgh', 'efgh'],
  ['live_1234567890_abcdefgh?region=eu&token=secret', 'efgh'],
  ['twelve-chars', 'hars'],
  ['eleven-char', ''],
  ['', ''],
])('a list shows the key %j as %j', (key, hint) => {
  expect(keyHint(key)).toBe(hint)
})
