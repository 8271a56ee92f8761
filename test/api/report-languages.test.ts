import { writeFileSync } from 'node:fs'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { REPORT_LANGUAGES } from '../../src/domains/publishing/analytics/report/language.ts'
import { reportHtml, reportPages, reportPdf } from '../../src/domains/publishing/analytics/report/thread.ts'
import { rawTexts, textsFor } from '../../src/language/texts.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { reportSample, SAMPLES } from '../support/report-samples.ts'

/** Reports in each language, with few and many accounts: as a page on a phone and on a desk, and as a PDF. */

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await sharedBrowser()
  page = await browser.newPage()
})
afterAll(async () => {
  await closePages(browser)
})

/** Words of the other language, which no report in this one has. `de` has no name of a product in it. */
const FOREIGN = {
  en: /\b(?:der|die|das|und|nicht|ist|sind|wurde|ein|eine|mit|von|bis|keine?|Konto|Beitr\w+|Zeit\w*|Zahlen)\b|[äöüß„]/i,
  de: /\b(?:the|and|you|not|this|with|is|are|of|to|for|has|it|from|no|report(?:s|ed)?|posts?|accounts?|followers|figures|change|before|measured|engagements?|shares?|comments?|views|streams|viewers|minutes|summary|method|missing|without|numbers|charts?|tables?|picture|newest|destinations?|received|bitrate|compared|made|days|on|by|country|city|age|gender|women|men|Germany|France)\b|(?:^|\s)“/i,
} as const

/** Where texts are: pairs that overlap, and those outside of the page. A pixel is tolerated, and what is clipped in a legend. */
const OVERLAPS = `(selector) => {
  const shown = [...document.querySelectorAll(selector)].map((element) => ({ element, text: element.textContent.trim() }))
  const boxes = shown
    .filter(({ text }) => text !== '')
    .map(({ element, text }) => ({ element, text, box: element.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0 && box.height > 0)
  const faults = []
  for (const [index, one] of boxes.entries()) {
    for (const other of boxes.slice(index + 1)) {
      if (one.element.contains(other.element)) continue
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top)
      if (across > 1 && down > 2) faults.push(one.text + ' | ' + other.text)
    }
  }
  return faults
}`

async function overlaps(selector: string): Promise<string[]> {
  return page.evaluate(`(${OVERLAPS})(${JSON.stringify(selector)})`)
}

/** Texts of a chart that are cut off by its edges, and words of its own that are shortened. */
const CUT = `[...document.querySelectorAll('svg')].flatMap((svg) => {
  const outer = svg.getBoundingClientRect()
  return [...svg.querySelectorAll('text')]
    .filter((text) => {
      const box = text.getBoundingClientRect()
      if (/\\.\\.\\.$|…$/.test(text.textContent) && !text.textContent.startsWith('Lorem ipsum')) return true
      return box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1
    })
    .map((text) => text.textContent)
})`

/** All that a reader sees or hears. */
const TEXT = `[
  document.title,
  document.body.innerText,
  ...[...document.querySelectorAll('svg text')].map((text) => text.textContent),
  ...[...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label')),
  ...[...document.images].map((image) => image.alt),
].join('\\n')`

async function pdfText(pdf: Buffer): Promise<string> {
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(pdf)
  const text = [...document.pages()].map((one) => one.getText()).join('\n')
  document.destroy()
  library.destroy()
  return text.replaceAll(/\s+/g, ' ')
}

/** What is in the text of a report that should not be. */
function wrongIn(text: string, language: 'en' | 'de'): string[] {
  const found = [FOREIGN[language], /[{}]|\b(?:undefined|null|NaN|Invalid Date)\b|\[object|∞|socialReport\./]
  return found.flatMap((pattern) => pattern.exec(text)?.[0] ?? [])
}

const folder = process.env['SCREENSHOTS']

describe.each(REPORT_LANGUAGES)('a report in %s', (language) => {
  describe.each(SAMPLES)('of %o', (options) => {
    const model = reportSample(language, options)
    const name = `${folder ?? ''}/report-${language}-${options.accounts}${options.isEmpty === true ? '-empty' : ''}`

    test('is a page in one language that fits a phone and a desk', async () => {
      const html = reportHtml(model)
      for (const width of [360, 1_000]) {
        await page.setViewportSize({ width, height: 800 })
        await page.setContent(html)
        await page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        expect(await page.evaluate('document.documentElement.lang')).toBe(language)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
        expect(wrongIn(await page.evaluate<string>(TEXT), language)).toEqual([])
        for (const selector of ['svg text', 'h1, h2, p, th, td, dt, dd, li > p, summary']) {
          expect(await overlaps(selector)).toEqual([])
        }
        expect(await page.evaluate(CUT)).toEqual([])
        if (folder === undefined) continue
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          await page.screenshot({ path: `${name}-${width}-${colorScheme}.png`, fullPage: true })
        }
      }
    })

    test('is a PDF in one language whose texts do not overlap', async () => {
      const pdf = await reportPdf(model)
      if (folder !== undefined) writeFileSync(`${name}.pdf`, pdf)
      expect(pdf.toString('latin1')).toMatch(new RegExp(`/Lang\\s*\\(${language}\\)`))
      expect(wrongIn(await pdfText(pdf), language)).toEqual([])
      await page.setViewportSize({ width: 1_000, height: 800 })
      await page.setContent(await reportPages(model))
      expect(await page.evaluate("document.querySelectorAll('.typst-text').length")).toBeGreaterThan(10)
      expect(await overlaps('.typst-text')).toEqual([])
    })
  })
})

test('no text of reports is left out, and none is the same in both languages', () => {
  const texts = textsFor('de')
  const spy = vi.spyOn(texts, 'say')
  const models = SAMPLES.map((options) => reportSample('de', options))
  const all = models.map((model) => reportHtml(model)).join('\n')
  const used = new Set<string>(spy.mock.calls.map(([key]) => key))
  spy.mockRestore()
  const [de, en] = [rawTexts('de'), rawTexts('en')]
  // The page shows all texts but these, which only the PDF has.
  const unused = Object.keys(en).filter((key) => key.startsWith('socialReport.') && !used.has(key))
  expect(unused).toEqual(['socialReport.chartNumbers', 'socialReport.picture', 'socialReport.gap.reason.future'])
  expect(all).toContain(de['socialReport.noAccounts'])
  const same = Object.keys(en).filter(
    (key) => key.startsWith('socialReport.') && de[key] === en[key] && /\p{L}/u.test(en[key] ?? ''),
  )
  expect(same).toEqual(['socialReport.figure.likes'])
})
