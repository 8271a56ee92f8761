import { readdirSync, readFileSync } from 'node:fs'
import { codes, code as currencyOf } from 'currency-codes'
import { GUARDED, page } from '../http/page.ts'
import type { Page, PageContent } from '../http/server.ts'
import { LANGUAGES, rawTexts } from '../language/texts.ts'
import { served } from './served-file.ts'

const FOLDER = new URL('static/billing/', import.meta.url)
const QR = new URL(import.meta.resolve('uqr'))
const PREFIX = 'billingPage.'
const STRIPE = 'https://js.stripe.com'

/**
 * The pages on which payers choose a plan, enter a card, see their usage, cancel, and find receipts. They call the API. The
 * tokens of the session are only in the memory of the page.
 * @param scriptUrls the scripts of the configured gateways, which show their forms for cards in frames
 */
export function billingPages(scriptUrls: () => readonly string[]): Page[] {
  const html = readFileSync(new URL('index.html', FOLDER), 'utf8').replace('LANGUAGES', LANGUAGES.join(' '))
  const made = new Map<string, PageContent>()
  const serve = (): PageContent => {
    const urls = scriptUrls()
    const key = urls.join(' ')
    const known = made.get(key)
    if (known !== undefined) return known
    const content = page('text/html; charset=utf-8', html, {
      ...GUARDED,
      'Content-Security-Policy': policyWith(urls),
    })
    made.set(key, content)
    return content
  }
  return [
    { path: '/billing', serve },
    ...readdirSync(FOLDER)
      .filter((file) => file !== 'index.html')
      .map((file) => served(`/pages/billing/${file}`, `billing/${file}`, GUARDED)),
    script('/pages/billing/qr.js', readFileSync(QR, 'utf8')),
    ...LANGUAGES.map((language) => script(`/pages/billing/texts-${language}.js`, textsOf(language))),
  ]
}

function script(path: string, source: string): Page {
  const content = page('text/javascript; charset=utf-8', source, GUARDED)
  return { path, serve: () => content }
}

/** The texts of the page, and how many digits each currency has after the decimal point. */
function textsOf(language: string): string {
  const own = Object.entries(rawTexts(language)).filter(([key]) => key.startsWith(PREFIX))
  const texts = Object.fromEntries(own.map(([key, text]) => [key.slice(PREFIX.length), text]))
  const digits = Object.fromEntries(codes().map((code) => [code, currencyOf(code)?.digits ?? 2]))
  return `export default ${JSON.stringify({ texts, digits })}\n`
}

/**
 * The policy of all pages, and what the script of a gateway needs: to run, to open its frames, and to reach its API.
 * https://docs.stripe.com/security/guide#content-security-policy
 */
function policyWith(scriptUrls: readonly string[]): string {
  const policy = GUARDED['Content-Security-Policy']
  if (scriptUrls.length === 0) return policy
  const origins = scriptUrls.map((url) => new URL(url).origin)
  const scripts = origins.flatMap((origin) => (origin === STRIPE ? [STRIPE, 'https://*.js.stripe.com'] : [origin]))
  const apis = origins.map((origin) => (origin === STRIPE ? 'https://api.stripe.com' : origin))
  const frames = [...scripts, ...(origins.includes(STRIPE) ? ['https://hooks.stripe.com'] : [])]
  return policy
    .replace("script-src 'self'", ["script-src 'self'", ...scripts].join(' '))
    .replace("connect-src 'self'", ["connect-src 'self'", ...apis].join(' '))
    .concat('; ', ['frame-src', ...frames].join(' '))
}
