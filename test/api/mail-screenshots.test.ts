import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rawTexts, textsFor } from '../../src/language/texts.ts'
import { notificationTypes } from '../../src/registry/notifications.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { mailSamples, type MailSample } from '../support/mail-samples.ts'

/** Every mail, as a mail program shows it that loads nothing: in light and dark, on a phone and on a desk. */

let browser: Browser
let page: Page
const requested: string[] = []
beforeAll(async () => {
  browser = await sharedBrowser()
  page = await browser.newPage()
  await page.route('**/*', (route) => {
    requested.push(route.request().url())
    return route.abort()
  })
})
afterAll(async () => {
  await closePages(browser)
})

interface Measured {
  /** The lowest contrast of a text to what is behind it, by WCAG 2. */
  readonly contrast: number
  /** How far the page is wider than the screen, in pixels. */
  readonly tooWide: number
  readonly language: string
  readonly text: string
  readonly links: readonly { readonly href: string; readonly text: string; readonly height: number }[]
  readonly pictures: number
}

const MEASURE = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const isClear = (color) => color === 'transparent' || channels(color)[3] === 0
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((value) => {
      const part = value / 255
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor
    if (!isClear(color)) return color
    return element.parentElement ? behind(element.parentElement) : 'rgb(255, 255, 255)'
  }
  const written = [...document.body.querySelectorAll('*')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== ''),
  )
  const contrasts = written.map((element) => {
    const [low, high] = [getComputedStyle(element).color, behind(element)].map(luminance).sort((x, y) => x - y)
    return (high + 0.05) / (low + 0.05)
  })
  const { clientWidth, lang, scrollWidth } = document.documentElement
  return {
    contrast: Math.min(...contrasts),
    tooWide: scrollWidth - clientWidth,
    language: lang,
    text: document.title + '\\n' + document.body.innerText,
    links: [...document.links].map((a) => ({ href: a.href, text: a.innerText.trim(), height: a.offsetHeight })),
    pictures: document.querySelectorAll('img, picture, svg, object, [background]').length,
  }
})()`

/** The mean brightness of a screenshot, from 0 to 255. */
async function brightness(): Promise<number> {
  const screenshot = await page.screenshot({ fullPage: true })
  return page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${screenshot.toString('base64')}'
    await image.decode()
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
    context.drawImage(image, 0, 0)
    const { data } = context.getImageData(0, 0, image.width, image.height)
    let sum = 0
    for (let index = 0; index < data.length; index += 4) sum += data[index] + data[index + 1] + data[index + 2]
    return sum / (data.length / 4) / 3
  })()`)
}

/** Words of the other language, which no mail in this one has. */
const FOREIGN = {
  en: /\b(?:der|das|und|dein|deine|du|nicht|ist|wurde|ein|eine|mit|wenn|von)\b|[äöüß„]/i,
  de: /\b(?:the|and|your|you|not|this|with|is|of|to|for|has|it|if)\b|(?:^|\s)“/i,
} as const

/** What is wrong with a mail on a screen. */
function faultsOf({ html, text }: MailSample['mail'], language: 'de' | 'en', shown: Measured): string[] {
  const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
  const hidden = shown.links.filter((link) => link.text === '' || link.height === 0)
  return [
    // 4.5 is the least of WCAG 2, AA, for text.
    ...(shown.contrast >= 4.5 ? [] : [`a contrast of ${shown.contrast}`]),
    ...(shown.tooWide === 0 ? [] : [`${shown.tooWide} pixels too wide`]),
    ...(shown.language === language ? [] : [`the language ${shown.language}`]),
    ...(shown.pictures === 0 ? [] : ['pictures']),
    ...hidden.map(({ href }) => `no text to click for ${href}`),
    ...links.filter((href) => !text.includes(href)).map((href) => `${href} is not in the text part`),
    ...[shown.text, text].flatMap((all) => /[{}]|\b(?:undefined|null|NaN)\b|\[object|&\w+;/.exec(all)?.[0] ?? []),
    ...[shown.text, text].flatMap((all) => FOREIGN[language].exec(all)?.[0] ?? []),
  ]
}

const LAYOUTS = [
  ['light', 1_000],
  ['light', 360],
  ['dark', 360],
] as const

describe.each(['en', 'de'] as const)('every mail in %s', (language) => {
  const samples = mailSamples(language)

  test.each(LAYOUTS)('can be read in %s on a screen of %i pixels, without pictures', async (colorScheme, width) => {
    await page.setViewportSize({ width, height: 700 })
    await page.emulateMedia({ colorScheme })
    const faults: Record<string, readonly string[]> = {}
    const folder = process.env['SCREENSHOTS']
    for (const { mail, name } of samples) {
      await page.setContent(mail.html, { waitUntil: 'commit' })
      const found = faultsOf(mail, language, await page.evaluate<Measured>(MEASURE))
      if (found.length > 0) faults[name] = found
      if (folder !== undefined) {
        const path = `${folder}/${name.replaceAll(' ', '-')}-${language}-${colorScheme}-${width}.png`
        await page.screenshot({ path, fullPage: true })
      }
    }
    expect(faults).toEqual({})
    // The last mail, as it is painted.
    const mean = await brightness()
    expect(colorScheme === 'dark' ? 255 - mean : mean).toBeGreaterThan(180)
    expect(requested.filter((url) => !url.startsWith('data:'))).toEqual([])
  })
})

test('no text of a mail is left out', () => {
  const texts = textsFor('de')
  const spies = [vi.spyOn(texts, 'say'), vi.spyOn(texts, 'find')]
  mailSamples('de')
  const used = new Set<string>(spies.flatMap((spy) => spy.mock.calls.map(([key]) => key)))
  for (const spy of spies) spy.mockRestore()
  const mailed = [...notificationTypes.values()].filter(({ ownMail }) => ownMail !== true)
  const isOfMail = (key: string) => key.startsWith('mail.') || mailed.some(({ name }) => key.startsWith(`${name}.`))
  const [de, en] = [rawTexts('de'), rawTexts('en')]
  expect(Object.keys(en).filter((key) => isOfMail(key) && !used.has(key))).toEqual([])
  // Of these, only the ones without a word in them are the same in both languages.
  const same = [...used].filter(
    (key) => de[key] === en[key] && /\p{L}/u.test((en[key] ?? '').replaceAll(/\{\w+\}/g, '')),
  )
  expect(same).toEqual(['mail.support.ticket', 'mail.support.subject'])
})
