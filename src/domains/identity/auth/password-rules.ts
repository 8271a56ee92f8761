import { ValidationFailed } from '../../../core/errors.ts'
import { Type } from '../../../core/schema.ts'
import { COMMON_PASSWORDS, COMMON_WORDS } from './common-passwords.ts'

export const MIN_PASSWORD = 10

/** A new password. Every character counts, including spaces. */
export const NewPassword = Type.String({
  minLength: MIN_PASSWORD,
  maxLength: 200,
  description: 'At least 10 characters. Common passwords and the email address are not accepted',
  'x-verbatim': true,
})

/** A password to check. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 200, 'x-verbatim': true })

/**
 * Refuses passwords that attackers try first.
 * @param path the JSON pointer of the password in the request
 * @throws AppError validation_failed
 */
export function checkPassword(password: string, email: string, path = '/body/password'): void {
  const fault = passwordFault(password, email)
  if (fault === undefined) return
  throw ValidationFailed({ errors: [{ path, code: 'weak_password', message: fault }] })
}

/** Why a password is too easy to guess; undefined for a good one. */
export function passwordFault(password: string, email: string): string | undefined {
  const text = password.normalize('NFKC').toLowerCase()
  const plain = text.replaceAll(/\s/g, '')
  if (plain.length < MIN_PASSWORD) return `must have at least ${MIN_PASSWORD} characters other than spaces`
  if (new Set(plain).size < 4) return 'must have at least 4 different characters'
  if (isOfEmail(plain, email)) return 'must not be derived from the email address'
  if (COMMON_PASSWORDS.has(plain)) return 'must not be one of the most common passwords'
  if (repeats(plain)) return 'must not repeat the same few characters'
  if (isWalk(plain)) return 'must not be a sequence of adjacent letters, digits or keys'
  if (coreIsCommon(plain)) return 'must not be a common word with digits or symbols around it'
  return undefined
}

function isOfEmail(plain: string, email: string): boolean {
  const [local = '', domain = ''] = email.toLowerCase().split('@')
  if (plain.includes(`${local}@`) || plain === local + domain) return true
  const core = letters(local)
  return core.length >= 4 && letters(plain) === core
}

function repeats(plain: string): boolean {
  return /^(.{1,6})\1+.{0,4}$/.test(plain) && new Set(plain).size <= 6
}

const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '`1234567890-=',
  'qwertyuiop[]\\',
  "asdfghjkl;'",
  'zxcvbnm,./',
  'qwertzuiopü',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  'wxcvbn',
  'qazwsxedcrfvtgbyhnujmikolp',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  'a1b2c3d4e5f6g7h8i9j0',
  '1a2b3c4d5e6f7g8h9i0j',
  '!@#$%^&*()_+',
]
const RUNS = [...ROWS, ...ROWS.map((row) => row.split('').toReversed().join(''))]

/** Consists of at most three runs of three or more neighbouring characters, and at most two more at the end. */
function isWalk(plain: string): boolean {
  let rest = plain
  for (let pieces = 0; pieces < 3 && rest !== ''; pieces += 1) {
    let length = Math.min(rest.length, 40)
    while (length >= 3 && !RUNS.some((run) => run.includes(rest.slice(0, length)))) length -= 1
    if (length < 3) return rest.length <= 2
    rest = rest.slice(length)
  }
  return rest.length <= 2
}

const LEET: Readonly<Record<string, string>> = {
  '@': 'a',
  4: 'a',
  3: 'e',
  1: 'i',
  '!': 'i',
  0: 'o',
  $: 's',
  5: 's',
  7: 't',
}

/** `P@ssw0rd` → `password`, without leading and trailing digits and signs. */
function letters(plain: string): string {
  const bare = plain.replaceAll(/^[\d\W_]+|[\d\W_]+$/g, '')
  return bare.replaceAll(/[@431!0$57]/g, (sign) => LEET[sign] ?? sign).replaceAll(/[^\p{L}]/gu, '')
}

/** One or two of the most common words, with digits or signs. */
function coreIsCommon(plain: string): boolean {
  const core = letters(plain)
  if (core === '') return /^\d{1,12}$/.test(plain) && isDateLike(plain)
  if (COMMON_WORDS.has(core)) return true
  for (let cut = 3; cut <= core.length - 3; cut += 1) {
    const [head, tail] = [core.slice(0, cut), core.slice(cut)]
    if (COMMON_WORDS.has(head) && (head === tail || TAILS.has(tail))) return true
  }
  return false
}

const TAILS = new Set([
  'password',
  'pass',
  'word',
  'admin',
  'user',
  'login',
  'you',
  'love',
  'test',
  'abc',
  'qwerty',
  'crier',
])

/** A date, with up to two more digits: `19901231`, `0101199001`. */
function isDateLike(digits: string): boolean {
  return /^((19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])|([0-2]\d|3[01])(0[1-9]|1[0-2])(19|20)\d\d)\d{0,2}$/.test(digits)
}
