import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorTable } from '../src/core/error.ts'
import { faultOfMessage } from '../src/http/reply-checker.ts'
import { api } from '../src/registry/api.ts'

/**
 * Messages of errors are sentences. `ReplyChecker` enforces it for every reply of the API tests, and this for texts that
 * no test causes.
 */

const sources = globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] })

test('every message of the error table is a sentence', () => {
  expect(Object.keys(api).length).toBeGreaterThan(0)
  const faults = errorTable().flatMap(({ code, message }) => {
    const fault = faultOfMessage(message)
    return fault === undefined ? [] : [`${code}: ${fault}`]
  })
  expect(errorTable().length).toBeGreaterThan(100)
  expect(faults).toEqual([])
})

/** What messages may begin with that is not in the source: titles of platforms, numbers, and sentences. */
const BEGINNINGS =
  /^\$\{(title|label|file\.size|length|what|who|wrong|whose|status|outcome\.message|host|counted\(|message\}|open\.length|platform\.title|name|capitalized)/

test('every message that is thrown begins like a sentence', () => {
  const thrown = /\b[A-Z]\w+\(\{\s*message:\s*(?:\(|)\s*(['"`])((?:(?!\1)[^\\\n]|\\.){0,300})/g
  let count = 0
  const faults = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(thrown)].flatMap(([, , text = '']) => {
      count += 1
      return /^[\p{Lu}\p{N}“(@#]/u.test(text) || BEGINNINGS.test(text) ? [] : [`${file}: ${text}`]
    }),
  )
  expect(count).toBeGreaterThan(200)
  expect(faults).toEqual([])
})

test('no sentence in a constant begins with a name in code', () => {
  // Descriptions of operations and fields may: they are no messages.
  const texts = /^(?:const [A-Z_]+ =|  [\w ]*=)\s*['"](`[^`\n]+`[^'"\n]*\.)['"]/gm
  const faults = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(texts)].map(([, text]) => `${file}: ${text}`),
  )
  expect(faults).toEqual([])
})

test('no text has two ends', () => {
  const faults = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?<![./])[a-z}][.?!]\.['"`]/g)].map(({ 0: text }) => `${file}: ${text}`),
  )
  expect(faults).toEqual([])
})
