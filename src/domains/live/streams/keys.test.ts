import { expect, test } from 'vitest'
import { fingerprintKey } from '../../../../media/ingest/stream-key.ts'
import { newIngestKey } from './keys.ts'

test('the media library reads a key as it was made', () => {
  const { key, path, hash } = newIngestKey()
  expect(fingerprintKey(key)).toEqual({ path, keyHash: hash })
  expect(newIngestKey().key).not.toBe(key)
})
