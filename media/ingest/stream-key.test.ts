import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { fingerprintKey } from './stream-key.ts'

const SECRET = '0123456789abcdef0123456789abcdef'

test('returns the path and the hash of a key, without a query and surrounding white space', () => {
  const keyHash = createHash('sha256').update(`mystream1-${SECRET}`).digest('hex')
  for (const name of [`mystream1-${SECRET}`, `mystream1-${SECRET}?bandwidthtest=1`, ` mystream1-${SECRET}\n`]) {
    expect(fingerprintKey(name)).toEqual({ path: 'mystream1', keyHash })
  }
})

test.each([
  '',
  '-',
  SECRET,
  `short-${SECRET}`,
  `UPPERCASE-${SECRET}`,
  `two-parts1-${SECRET}`,
  `${'x'.repeat(65)}-${SECRET}`,
  `mystream1-${SECRET}0`,
  `mystream1-${SECRET.slice(1)}`,
  `mystream1/${SECRET}`,
  `__proto__-${SECRET}`,
])('rejects %j', (name) => {
  expect(fingerprintKey(name)).toBeNull()
})
