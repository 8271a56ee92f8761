import { array, assert, constantFrom, dictionary, integer, oneof, property } from 'fast-check'
import { expect, test } from 'vitest'
import { completeSettings, DEFAULT_SETTINGS, isLocale, mergeDeep } from './settings.ts'

test('settings that were never set have their defaults', () => {
  expect(completeSettings({})).toEqual(DEFAULT_SETTINGS)
})

test('a merge changes neither side and is idempotent', () => {
  const object = dictionary(
    constantFrom('a', 'b', 'c'),
    oneof(integer(), array(integer()), dictionary(constantFrom('x', 'y'), integer())),
  )
  assert(
    property(object, object, (base, change) => {
      const [was, wasChange] = [structuredClone(base), structuredClone(change)]
      const merged = mergeDeep(base, change)
      expect(base).toEqual(was)
      expect(change).toEqual(wasChange)
      expect(mergeDeep(merged, change)).toEqual(merged)
      for (const key of Object.keys(base)) if (!(key in change)) expect(merged[key]).toEqual(base[key])
    }),
  )
})

test('language tags follow BCP 47', () => {
  for (const tag of ['en', 'pt-BR', 'zh-Hant-TW', 'de-1996']) expect(isLocale(tag)).toBe(true)
  for (const tag of ['', 'e', 'english please', 'de_DE', '-']) expect(isLocale(tag)).toBe(false)
})
