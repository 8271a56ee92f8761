import { expect, test } from 'vitest'
import { SignedTokens } from './signed-tokens.ts'

const tokens = new SignedTokens('secret', 'tests')

test('a token fits into a URL and has its text', () => {
  const token = tokens.sign('file ä? 1')
  expect(token).toMatch(/^[\w-]+\.[\w-]+$/)
  expect(tokens.read(token)).toBe('file ä? 1')
})

test.each([
  ['another text', (token: string) => token.replace(/^.*\./, `${Buffer.from('file 2').toString('base64url')}.`)],
  ['no signature', (token: string) => token.replace(/\..*$/, '')],
  ['a short signature', (token: string) => token.slice(0, -1)],
  ['nothing', () => ''],
])('a token with %s is not valid', (_what, change) => {
  expect(tokens.read(change(tokens.sign('file 1')))).toBeUndefined()
})

test('tokens of another purpose or secret are not valid', () => {
  expect(new SignedTokens('secret', 'others').read(tokens.sign('file 1'))).toBeUndefined()
  expect(new SignedTokens('other', 'tests').read(tokens.sign('file 1'))).toBeUndefined()
})
