import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LANGUAGES, rawTexts } from '../language/texts.ts'
import { billingPages } from './billing-pages.ts'

const FOLDER = new URL('static/billing/', import.meta.url)
const sources = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.js'))
  .map((file) => readFileSync(new URL(file, FOLDER), 'utf8'))
  .join('\n')

test.each(LANGUAGES)('the scripts have the texts that they use in %s, and fill in values as they are', (language) => {
  const texts = Object.entries(rawTexts(language)).filter(([key]) => key.startsWith('billingPage.'))
  const known = new Set(texts.map(([key]) => key.slice('billingPage.'.length)))
  const used = [...sources.matchAll(/\bt\(\s*'([\w.]+)'/g)].map(([, key = '']) => key)
  expect(used.filter((key) => !known.has(key))).toEqual([])
  // The browser has no MessageFormat: only names in braces, no plurals and quotes.
  for (const [key, text] of texts) expect(text.replaceAll(/\{\w+\}/g, ''), key).not.toMatch(/[{}]|'/)
})

const policyOf = async (urls: string[]) => {
  const [first] = billingPages(() => urls)
  return (await first?.serve())?.headers?.['Content-Security-Policy']
}

test('the policy allows what the script of a gateway needs, and nothing else', async () => {
  const bare = await policyOf([])
  expect(bare).toContain("script-src 'self';")
  expect(bare).not.toContain('frame-src')
  const stripe = await policyOf(['https://js.stripe.com/endive/stripe.js'])
  expect(stripe).toContain("script-src 'self' https://js.stripe.com https://*.js.stripe.com;")
  expect(stripe).toContain("connect-src 'self' https://api.stripe.com;")
  expect(stripe).toContain('frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com')
  expect(stripe).toContain("frame-ancestors 'none'")
  const other = await policyOf(['http://127.0.0.1:8080/js/stripe.js'])
  expect(other).toContain("script-src 'self' http://127.0.0.1:8080;")
  expect(other).not.toContain('stripe.com')
})
