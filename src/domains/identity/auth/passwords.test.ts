import { describe, expect, test, vi } from 'vitest'
import { PasswordHasher } from './passwords.ts'

/** The hashes that passwords were checked against. */
const checked = vi.hoisted((): string[] => [])
vi.mock(import('argon2'), async (load) => {
  const argon2 = await load()
  const verify: typeof argon2.verify = (hash, ...rest) => {
    checked.push(hash)
    return argon2.verify(hash, ...rest)
  }
  return { ...argon2, verify }
})

const PASSWORD = 'correct horse battery staple'

describe('the password hasher', () => {
  test('creates salted argon2id hashes with the parameters of OWASP', async () => {
    const hasher = new PasswordHasher()
    const [first, second] = await Promise.all([hasher.hash(PASSWORD), hasher.hash(PASSWORD)])
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,p=1,t=2\$/)
    expect(first).not.toBe(second)
    expect(await hasher.verify(first, PASSWORD)).toBe(true)
    expect(await hasher.verify(first, `${PASSWORD} `)).toBe(false)
  })

  test('treats composed and decomposed characters as the same', async () => {
    const hasher = new PasswordHasher()
    const stored = await hasher.hash('Stra\u00dfencaf\u00e9 12')
    expect(await hasher.verify(stored, 'Stra\u00dfencafe\u0301 12')).toBe(true)
  })

  test('returns false without a hash, after the same work', async () => {
    const hasher = new PasswordHasher()
    await hasher.prepare()
    const stored = await hasher.hash(PASSWORD)
    checked.length = 0
    for (const hash of [stored, null, undefined]) expect(await hasher.verify(hash, 'not the password')).toBe(false)
    // One check each, and what it costs depends on the parameters in the hash.
    const costs = checked.map((hash) => hash.split('$').slice(0, 4).join('$'))
    expect(costs).toEqual(Array.from({ length: 3 }, () => '$argon2id$v=19$m=19456,p=1,t=2'))
    expect(checked[0]).toBe(stored)
    expect(checked[1]).not.toBe(stored)
  })

  test('hashes two at a time, queues 64, refuses the rest and recovers', async () => {
    const hasher = new PasswordHasher()
    let done = 0
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, async () => {
        await hasher.hash(PASSWORD)
        done += 1
      }),
    )
    const refused = results.filter((result) => result.status === 'rejected')
    expect(done).toBe(66)
    expect(refused).toHaveLength(34)
    expect(refused[0]?.reason).toMatchObject({ code: 'overloaded', retryAfter: 2 })
    expect(() => hasher.admit()).not.toThrow()
    await hasher.hash(PASSWORD)
  })

  test('passes its slot on when a hash fails', async () => {
    const hasher = new PasswordHasher()
    const broken = Array.from({ length: 6 }, () => hasher.verify('not a hash', PASSWORD).catch(() => 'failed'))
    expect(await Promise.all(broken)).toEqual(Array.from({ length: 6 }, () => 'failed'))
    expect(await hasher.hash(PASSWORD)).toContain('argon2id')
  })
})
