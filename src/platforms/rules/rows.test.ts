import { describe, expect, test } from 'vitest'
import { PLATFORMS } from '../registry.ts'
import { effectiveLimits } from './limits.ts'
import { COUNTING, RULE_IDS } from './rule.ts'

/** Rules about the length of a text, which must say how they count. */
const LENGTHS = Object.entries(RULE_IDS).flatMap(([id, unit]) => (/^(?:length|characters) of/.test(unit) ? [id] : []))

describe.each(PLATFORMS.map((platform) => [platform.title, platform] as const))(
  'the rules of %s',
  (_title, platform) => {
    test('have a value, a unit, a way of counting, a source, its month and a confidence', () => {
      for (const { confidence, counting, id, seen, source, value } of platform.rules) {
        expect(RULE_IDS[id], id).toBeDefined()
        if (typeof value === 'number') expect(value, id).toBeGreaterThanOrEqual(0)
        else expect(value.length, id).toBeGreaterThan(0)
        if (LENGTHS.includes(id) && value !== 0) expect(COUNTING[counting ?? ('' as never)], id).toBeDefined()
        expect(source, id).toMatch(/^.{5,}$/)
        expect(seen, id).toMatch(/^202\d-(?:0[1-9]|1[0-2])$/)
        expect(confidence, id).toBeOneOf(['read', 'vendor', 'reported'])
      }
    })

    test('are unique', () => {
      const ids = platform.rules.map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    })
  },
)

test('a refused file limits an account where no rule is stricter, and says so', () => {
  const [first] = PLATFORMS
  const rule = (id: 'image.maxBytes' | 'video.maxBytes', value: number) =>
    ({ id, value, source: 'a page', seen: '2026-11', confidence: 'read', effect: 'crops it' }) as const
  const platform = { ...first, rules: [rule('image.maxBytes', 1_000), rule('video.maxBytes', 9_000)] }
  const learned = { mostBytes: 5_000, at: '2026-10-03T12:00:00.000Z' }
  const { byId } = effectiveLimits(platform, undefined, { limits: {}, blocked: {}, learned })
  expect(byId.get('image.maxBytes')).toMatchObject({ value: 1_000, source: { origin: 'rule' } })
  for (const id of ['gif.maxBytes', 'video.maxBytes', 'document.maxBytes'] as const) {
    const source = { origin: 'live', seen: '2026-10', confidence: 'reported' }
    expect(byId.get(id)).toMatchObject({ value: 5_000, effect: undefined, source })
  }
})
