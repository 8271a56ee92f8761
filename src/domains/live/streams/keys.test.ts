import { expect, test } from 'vitest'
import { fingerprintKey } from '../../../../media/ingest/stream-key.ts'
import { keyHint, newIngestKey } from './keys.ts'

test('the media library reads a key as it was made', () => {
  const { key, path, hash } = newIngestKey()
  expect(fingerprintKey(key)).toEqual({ path, keyHash: hash })
  expect(newIngestKey().key).not.toBe(key)
})

test.each([
  ['live_1234567890_abcdefgh', 'efgh'],
  ['live_1234567890_abcdefgh?region=eu&token=secret', 'efgh'],
  ['twelve-chars', 'hars'],
  ['eleven-char', ''],
  ['', ''],
])('of the key %j a list shows %j', (key, hint) => {
  expect(keyHint(key)).toBe(hint)
})
