import { expect, test } from 'vitest'
import { redacted, withoutSecrets } from './redact.ts'

test('hides fields with the names of secrets, at any depth, and passwords in URLs', () => {
  const shown = redacted({
    url: 'see rtmp://me:hidden@example.com/live and https://example.com',
    list: [{ apiKey: 'x', api_key: 'x', title: 'kept' }, 7, null],
    accessToken: { deep: 'x' },
    otp: '123456',
    code: '123456',
    codec: 'h264',
  })
  expect(shown).toEqual({
    url: 'see rtmp://[secret]@example.com/live and https://example.com',
    list: [{ apiKey: '[secret]', api_key: '[secret]', title: 'kept' }, 7, null],
    accessToken: '[secret]',
    otp: '[secret]',
    code: '[secret]',
    codec: 'h264',
  })
  expect(withoutSecrets('postgres://a:b@one postgres://c:d@two')).toBe(
    'postgres://[secret]@one postgres://[secret]@two',
  )
})
