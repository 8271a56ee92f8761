import { PDFiumLibrary } from '@hyzyla/pdfium'
import { expect, test } from 'vitest'
import { accentColors } from '../branding/contrast.ts'
import { chartSvg, COLORS } from './charts.ts'
import { reportHtml } from './html.ts'
import type { ReportModel } from './model.ts'
import { reportPdf } from './thread.ts'

const labels = Array.from({ length: 30 }, (_, day) => new Date(Date.UTC(2026, 9, 24 + day)).toISOString().slice(0, 10))
/** Four days without a report, and one report between two gaps. */
const values = labels.map((_, day) => ((day > 8 && day < 13) || day === 20 || day === 22 ? null : 1_000 + day * 7))

const model: ReportModel = {
  language: 'en',
  title: 'Social media report',
  workspace: 'Engines & Sons <GmbH>',
  from: '2026-10-24',
  to: '2026-11-22',
  span: '2026-10-24 to 2026-11-22',
  previousSpan: '2026-09-24 to 2026-10-23',
  timezone: 'Europe/Berlin',
  createdAt: '2026-11-23T07:00:00.000Z',
  sentences: ['There are 1,203 followers at one account: 203 more (20.3 %) than before.'],
  charts: [
    { title: 'Followers', kind: 'line', alt: 'A line of the followers', labels, series: [{ name: 'Ada (x)', values }] },
  ],
  tables: [{ title: 'Accounts', columns: ['Account', 'Followers'], rows: [['Ada (x)', '1,203']] }],
  posts: [
    {
      text: '*Live* #now $5 <b>',
      where: 'Ada (x)',
      published: '2026-11-02',
      url: 'javascript:alert(1)',
      figures: 'Likes: 120',
      picture: null,
    },
  ],
  gaps: ['Ada (x): no report of followers for 6 of 30 points. X does not answer.'],
  method: [['Gaps', 'A time without a report is a gap.']],
  brand: { accentColor: null, companyName: null, website: null, footerText: null, logo: null },
}

test('a gap interrupts the line', () => {
  /** In how many pieces the line is drawn. */
  const pieces = (series: readonly (number | null)[]) => {
    const svg = chartSvg({ ...model.charts[0]!, series: [{ name: 'Ada', values: series }] }, 'en')
    const [, path = ''] = /<path d="(M[^"]*)" fill="none"[^>]*stroke="#0b5cad" stroke-width="2"/.exec(svg) ?? []
    return path.split('M').filter((piece) => piece.includes('L')).length
  }
  expect(pieces(labels.map((_, day) => day))).toBe(1)
  // Days 0 to 8, 13 to 19, and 23 to 29. Day 21 is a point.
  expect(pieces(values)).toBe(3)
})

test('the page needs nothing else, and shows texts as texts', () => {
  const html = reportHtml(model)
  expect(html.length).toBeLessThan(2_000_000)
  expect(html).not.toMatch(/<script|javascript:|<link|<img|@import|url\((?!#)/i)
  expect(html).not.toMatch(/(?:src|href)="https?:/)
  expect(html).toContain('Engines &amp; Sons &lt;GmbH&gt;')
  expect(html).toContain('*Live* #now $5 &lt;b&gt;')
  expect(html).toContain('aria-label="A line of the followers"')
  expect(html.match(/<td>no report<\/td>/g)).toHaveLength(6)
})

test('the PDF has the same text, bookmarks and a language', async () => {
  const pdf = await reportPdf(model)
  expect(pdf.length).toBeLessThan(2_000_000)
  expect(pdf.toString('latin1')).toMatch(/\/Lang\s*\(en\)/)
  expect(pdf.toString('latin1')).toContain('/Outlines')
  const { text } = await textOf(pdf)
  for (const part of [
    model.workspace,
    'There are 1,203 followers at one account',
    '*Live* #now $5 <b>',
    'no report of followers for 6 of 30 points',
    'no report',
    'Numbers of the charts',
  ]) {
    expect(text).toContain(part)
  }
})

/** A WebP of one pixel. */
const PIXEL = 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'

test('a report has the look of its workspace, in both forms', async () => {
  const brand = {
    accentColor: '#7e22ce',
    companyName: 'Agency & Co',
    website: 'agency.example',
    footerText: 'For <Acme> only',
    logo: PIXEL,
  }
  const branded: ReportModel = { ...model, brand, posts: model.posts.map((post) => ({ ...post, picture: PIXEL })) }
  const html = reportHtml(branded)
  expect(html).toContain('<h1>Agency &amp; Co</h1>')
  expect(html).toContain(
    `--accent:#7e22ce;--accent-text:#7e22ce;--accent-on-dark:${accentColors('#7e22ce').onDark};--upon-accent:#ffffff`,
  )
  expect(html).toContain('For &lt;Acme&gt; only')
  expect(html.match(/<img [^>]*src="data:image\/webp;base64,/g)).toHaveLength(2)
  expect(html).not.toContain('Engines')
  const { pages, text } = await textOf(await reportPdf(branded))
  for (const part of ['Agency & Co', 'agency.example', '*Live* #now $5 <b>']) expect(text).toContain(part)
  expect(text.split('For <Acme> only')).toHaveLength(pages + 1)
  expect(text).not.toContain('Engines')
})

async function textOf(pdf: Buffer): Promise<{ pages: number; text: string }> {
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(pdf)
  const pages = [...document.pages()].map((page) => page.getText())
  document.destroy()
  library.destroy()
  return { pages: pages.length, text: pages.join('\n').replaceAll(/\s+/g, ' ') }
}

/** The highest point of the plot, and the lowest of the legend, in pixels from the top. */
function edgesOf(svg: string) {
  const texts = [
    ...svg.matchAll(/<text [^>]*?(?:translate\(([\d.]+) ([\d.]+)\)|x="([\d.]+)" y="([\d.]+)")[^>]*>([^<]*)</g),
  ]
  const placed = texts.map(([, x, y, left, top, text]) => ({ x: Number(x ?? left), y: Number(y ?? top), text }))
  const legend = placed.filter(({ text = '' }) => /^(?:Account|Likes)/.test(text))
  const axis = placed.filter(({ text = '' }) => /^[\d,.]+$/.test(text))
  return {
    legend: Math.max(...legend.map(({ y }) => y)),
    axis: Math.min(...axis.map(({ y }) => y)),
    numbers: axis.map(({ text }) => text),
  }
}

test.each([1, 2, 4, 8])('the legend of %i accounts ends above the axis', (count) => {
  const names = Array.from({ length: count }, (_, index) => `Account ${index} with a long name 🎉 (mastodon)`)
  const series = names.map((name, index) => ({ name, values: labels.map(() => index + 1) }))
  const { axis, legend } = edgesOf(chartSvg({ title: 'Followers', kind: 'line', alt: '', labels, series }, 'en'))
  if (count === 1) expect(legend).toBe(-Infinity)
  else expect(legend + 10).toBeLessThan(axis)
})

test('an axis of counts has no fractions', () => {
  const series = [{ name: 'Likes', values: labels.map((_, day) => day % 2) }]
  for (const kind of ['bar', 'line'] as const) {
    const { numbers } = edgesOf(chartSvg({ title: 'Likes', kind, alt: '', labels, series }, 'en'))
    expect(numbers.length).toBeGreaterThan(1)
    expect(numbers.filter((text) => text?.includes('.'))).toEqual([])
  }
})

test('the page follows dark mode, with its charts', () => {
  const html = reportHtml(model)
  expect(html).toContain('prefers-color-scheme:dark')
  const [style = '', ...rest] = html.split('</style>')
  expect(style).toContain(`--chart-0:${COLORS[0]}`)
  expect(COLORS.filter((color) => rest.join('').includes(color))).toEqual([])
})

test('the columns of a table of many accounts are numbered, and the names are listed', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `Account ${index} with a long name (mastodon)`)
  const series = names.map((name) => ({ name, values: labels.map(() => 1_234) }))
  const wide = { ...model, charts: [{ ...model.charts[0]!, series }] }
  const { text } = await textOf(await reportPdf(wide))
  expect(text).toContain('8. Account 7 with a long name (mastodon)')
  expect(text).toContain('From 1 2 3 4 5 6 7 8')
})

test('emoji and other scripts are printed', async () => {
  const { text } = await textOf(await reportPdf({ ...model, sentences: ['🎉 日本語 שלום ไทย 한국어'] }))
  for (const part of ['🎉', '日本語', 'ไทย', '한국어']) expect(text).toContain(part)
})
