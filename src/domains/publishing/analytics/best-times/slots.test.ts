import { describe, expect, test } from 'vitest'
import { randomOf } from '../../../../../test/support/random.ts'
import { scoreSlots, SLOTS, type Achievement } from './slots.ts'

/** A value with the standard normal distribution (Box and Muller). */
const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** Posts at random hours whose engagements are log-normal around the factor of their hour. */
function draw(seed: number, count: number, factor: (slot: number) => number): Achievement[] {
  const random = randomOf(seed)
  return Array.from({ length: count }, (_, index) => {
    const slot = Math.floor(random() * SLOTS)
    const group = index % 3 === 0 ? 'large' : 'small'
    const mean = group === 'large' ? 5_000 : 60
    return { slot, group, value: Math.round(mean * factor(slot) * Math.exp(0.5 * normal(random))) }
  })
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
/** Tuesday from 18 to 20 o'clock. */
const EVENING = [42, 43, 44]

describe('a known distribution', () => {
  test.each(SEEDS)('the hours that are better are found, and no others (seed %i)', (seed) => {
    const { best, slots } = scoreSlots(draw(seed, 1_500, (slot) => (EVENING.includes(slot) ? 2.5 : 1)))
    expect(best.length).toBeGreaterThan(0)
    // The hours beside the evening share its posts.
    for (const slot of best) expect([41, ...EVENING, 45]).toContain(slot)
    const middle = slots[43]!
    // Shrunk towards 1: three hours of 168 are little evidence that hours differ.
    expect(middle.score).toBeGreaterThan(1.05)
    expect(middle.low).toBeGreaterThan(1.2)
    expect(middle.high).toBeGreaterThan(1.8)
  })

  test('a better time of every day is found', () => {
    const { best } = scoreSlots(draw(9, 2_000, (slot) => (slot % 24 >= 7 && slot % 24 <= 9 ? 1.8 : 1)))
    expect(best).toHaveLength(5)
    for (const slot of best) expect([6, 7, 8, 9, 10]).toContain(slot % 24)
  })
})

describe('noise', () => {
  test('an hour is called better in one of a hundred weeks', () => {
    const found = Array.from({ length: 60 }, (_, seed) => scoreSlots(draw(seed + 100, 300, () => 1)).best.length > 0)
    // 0.6 are expected. More than three have a probability of 0.3 %.
    expect(found.filter(Boolean).length).toBeLessThanOrEqual(3)
  })

  test('nine in ten intervals have the true factor', () => {
    const cells = SEEDS.flatMap((seed) => scoreSlots(draw(seed, 2_000, () => 1)).slots)
    const share = cells.filter(({ high, low }) => low! <= 1 && high! >= 1).length / cells.length
    expect(share).toBeGreaterThan(0.85)
    expect(share).toBeLessThan(0.95)
  })

  test('three lucky posts do not win', () => {
    const posts = draw(7, 600, () => 1).filter(({ slot }) => Math.abs(slot - 100) > 2)
    const lucky = [1, 2].map(() => ({ slot: 100, group: 'small', value: 3_000 }))
    const { best, slots } = scoreSlots([...posts, ...lucky])
    expect(best).not.toContain(100)
    expect(slots[100]!.score!).toBeLessThan(10)
    expect(slots[100]!.postCount).toBe(2)
  })
})

test('too few posts have no best time', () => {
  expect(scoreSlots(draw(1, 30, (slot) => (slot === 3 ? 50 : 1))).best).toEqual([])
  const { best, slots } = scoreSlots([])
  expect(best).toEqual([])
  expect(slots.every(({ postCount, score }) => postCount === 0 && score === null)).toBe(true)
})

test('the same posts always have the same answer', () => {
  const posts = draw(5, 500, (slot) => (slot === 20 ? 3 : 1))
  expect(scoreSlots(posts)).toEqual(scoreSlots(posts))
})
