import { expect, test } from 'vitest'
import { firstIdOf, isUuid, requestId, sha256, uuidv7 } from './id.ts'

/** A time that no other test of this process has used, because ids never go back. */
let now = Date.parse('2030-01-01T00:00:00Z')
const later = (ms: number) => (now += ms)

const timeOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

test('an id is a UUID of version 7 with the time in it', () => {
  for (let count = 0; count < 100; count += 1) {
    const id = uuidv7(later(1))
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isUuid(id)).toBe(true)
    expect(timeOf(id)).toBe(now)
  }
})

test('the first id of a time is before the ids of that time, and after earlier ones', () => {
  const [before, at] = [uuidv7(later(1)), uuidv7(later(1))]
  const first = firstIdOf(now)
  expect([first > before, first < at, isUuid(first)]).toEqual([true, true, true])
})

test('ids of one process sort in the order in which they were made, also when the clock stands still or goes back', () => {
  later(1)
  // More ids than one millisecond has numbers for: 4,096.
  const ids = Array.from({ length: 10_000 }, (_, index) => uuidv7(index % 3 === 0 ? now - 5 : now))
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
  // The time runs ahead by no more than the numbers need.
  expect(timeOf(ids.at(-1) as string) - now).toBeLessThanOrEqual(3)
})

test('the random part differs between ids of one millisecond', () => {
  const ends = Array.from({ length: 1_000 }, () => uuidv7(now).slice(19))
  expect(new Set(ends).size).toBe(ends.length)
  // Behind the two bits of the variant, every digit takes all values.
  const digits = ends.map((end) => end.replace('-', '').slice(1))
  for (let position = 0; position < 15; position += 1) {
    expect(new Set(digits.map((text) => text[position])).size, String(position)).toBe(16)
    for (let other = 0; other < position; other += 1) {
      const same = digits.filter((text) => text[position] === text[other]).length
      expect(same, `${other} and ${position}`).toBeLessThan(digits.length / 2)
    }
  }
})

test('only UUIDs in lower case are accepted', () => {
  const id = uuidv7(now)
  for (const text of [id.toUpperCase(), ` ${id}`, `${id}0`, id.replaceAll('-', ''), ''])
    expect(isUuid(text)).toBe(false)
})

test('request ids have one form and are unique', () => {
  const ids = Array.from({ length: 5_000 }, () => requestId())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{10}[0-9a-z]{5}$/)
})

test('a hash is SHA-256 in hexadecimal digits', () => {
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
