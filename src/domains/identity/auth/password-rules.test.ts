import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { COMMON_PASSWORDS } from './common-passwords.ts'
import { passwordFault } from './password-rules.ts'

const EMAIL = 'ada.lovelace@example.com'

describe('a password is refused', () => {
  test.each([
    ['too short', 'Xk9#mQ2!a'],
    ['blanks do not count', 'a b c d e f g'],
    ['one character', 'aaaaaaaaaaaaaa'],
    ['three characters', 'aabbccaabbcc'],
    ['digits in a row', '1234567890'],
    ['and one more sign', '1234567890!'],
    ['backwards', '0987654321'],
    ['a row of keys', 'qwertyuiop'],
    ['two rows of keys', 'asdfghjklzxcvbnm'],
    ['a German row', 'qwertzuiop'],
    ['columns of keys', '1qaz2wsx3edc'],
    ['zigzag', '1q2w3e4r5t6y'],
    ['the alphabet', 'abcdefghijkl'],
    ['a pattern over and over', 'abc1abc1abc1'],
    ['the word itself', 'Password123!'],
    ['in leet', 'P@ssw0rd2026'],
    ['a common word with a year', 'Sunshine2024'],
    ['a season', 'Summer2026!!'],
    ['a confession', 'ILoveYou1234'],
    ['two common words', 'adminpassword1'],
    ['the product', 'crier1234567'],
    ['the address', 'ada.lovelace@example.com'],
    ['the name in the address', 'ada.lovelace'],
    ['the name with digits', 'AdaLovelace99'],
    ['a date', '19901231'.padEnd(10, '1')],
  ])('%s: %s', (_why, password) => {
    expect(passwordFault(password, EMAIL)).toBeTypeOf('string')
  })

  test.each([...COMMON_PASSWORDS])('as one of the commonest: %s', (password) => {
    expect(passwordFault(password, EMAIL)).toBeTypeOf('string')
    expect(passwordFault(password.toUpperCase(), EMAIL)).toBeTypeOf('string')
  })
})

describe('a password is accepted', () => {
  test.each([
    'correct horse battery staple',
    'the keys to the tower',
    'wrong pony charger pin',
    'lovelace was the first',
    'xK9#mQ2!aLp0',
    'my dragon eats porridge',
    'пароль-для-почты-7',
    '日本語のパスワードです長い',
    '7391840265',
  ])('%s', (password) => {
    expect(passwordFault(password, EMAIL)).toBeUndefined()
  })

  test('when it is random', () => {
    for (let count = 0; count < 2_000; count += 1) {
      // The same ones in every run.
      const password = createHash('sha256').update(`password ${count}`).digest('base64url').slice(0, 12)
      expect(passwordFault(password, EMAIL), password).toBeUndefined()
    }
  })

  test('for any address, also one of digits only', () => {
    expect(passwordFault('7391840265', '1234567@example.com')).toBeUndefined()
    expect(passwordFault('xK9#mQ2!aLp0', 'x@example.com')).toBeUndefined()
  })
})

test('a long password is checked fast', () => {
  const start = performance.now()
  for (const password of ['a1'.repeat(100), 'qwerty'.repeat(33), 'abcdefghij'.repeat(20), 'x'.repeat(199) + 'y']) {
    passwordFault(password, EMAIL)
  }
  // A pattern that backtracks would take minutes; the bound leaves time for a machine that is busy.
  expect(performance.now() - start).toBeLessThan(5_000)
})
