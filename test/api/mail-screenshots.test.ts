import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { textsFor } from '../../src/language/texts.ts'
import { renderMail, type Block } from '../../src/mail/layout.ts'
import { launchBrowser } from '../support/browser.ts'

/** Mails as a mail program shows them that loads nothing: in light and dark, on a phone and on a desk. */

const LONG = 'https://crier.example.com/invitations?token='.padEnd(400, 'x')
const BLOCKS: readonly Block[] = [
  'Ada invites you to the workspace “acme”. Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung.',
  { heading: 'Your code' },
  { code: '123 456' },
  { label: 'Accept the invitation', link: LONG },
]

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
})

/** The lowest contrast of a text to what is behind it, by WCAG 2, and how far the page is wider than the screen. */
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
  const { clientWidth, scrollWidth } = document.documentElement
  return { contrast: Math.min(...contrasts), tooWide: scrollWidth - clientWidth }
})()`

/** The mean brightness of a screenshot, from 0 to 255. */
async function brightness(page: Page): Promise<number> {
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

test.each([
  ['light', 320],
  ['light', 1_000],
  ['dark', 320],
  ['dark', 1_000],
] as const)('a mail in %s is readable on a screen of %i pixels, and loads nothing', async (colorScheme, width) => {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 700 } })
  const page = await context.newPage()
  const requested: string[] = []
  page.on('request', (request) => void requested.push(request.url()))
  for (const language of ['en', 'de'] as const) {
    const unsubscribe = { url: 'https://crier.example.com/unsubscribe', label: 'No more mails of this kind' }
    const { html } = renderMail('ada@example.com', 'An invitation', BLOCKS, {
      texts: textsFor(language),
      unsubscribe,
    })
    await page.setContent(html)
    const { contrast, tooWide } = await page.evaluate<{ contrast: number; tooWide: number }>(MEASURE)
    // 4.5 is the least of WCAG 2, AA, for text.
    expect({ isReadable: contrast >= 4.5, contrast, tooWide }).toMatchObject({ isReadable: true, tooWide: 0 })
    const mean = await brightness(page)
    expect(colorScheme === 'dark' ? 255 - mean : mean).toBeGreaterThan(180)
  }
  expect(requested.filter((url) => !url.startsWith('data:'))).toEqual([])
  await context.close()
})
