import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { useMediaWork } from '../../../../../media/testing/work-fixture.ts'
import type { TextBlock } from '../../../../../media/work/studio/fitting.ts'
import { textBlocksOf } from '../../../../../media/work/studio/testing/layout.ts'
import { pixelsOf } from '../../../../../media/work/studio/testing/pictures.ts'
import { longestValues, SCRIPTS } from '../../../../../test/support/studio-scripts.ts'
import { PAGE_FORMAT_NAMES, sizeOf, type PageFormat } from '../page-formats.ts'
import { sceneOf } from '../renders/scene-files.ts'
import type { ProjectData, StudioLayerData, TemplateValues } from '../schemas.ts'
import { contrastOf, READABLE } from './contrast.ts'
import { buildProject } from './from-template.ts'
import { TEMPLATES, type TemplateKey } from './index.ts'

/** Where templates draw texts, by the layout of the renderer: no overlap, no overflow, and readable on any picture. */

const KEYS = Object.keys(TEMPLATES) as TemplateKey[]
/** Pixels by which sizes are rounded. */
const ROUNDING = 2

interface Area {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}
type Page = ProjectData['pages'][number]

function project(key: TemplateKey, values: TemplateValues): ProjectData {
  const text = values.title ?? values.text ?? ''
  const segments = [{ text, startSeconds: 0, endSeconds: 2, speaker: null }]
  return buildProject(TEMPLATES[key], { values, seconds: 2, segments })
}

type Placed = { readonly [side in 'left' | 'top' | 'width' | 'height']?: number | undefined }
const areaOf = ({ height = 0, left = 0, top = 0, width = 0 }: Placed): Area => ({
  left,
  top,
  right: left + width,
  bottom: top + height,
})
const overlap = (one: Area, other: Area): boolean =>
  Math.min(one.right, other.right) - Math.max(one.left, other.left) > ROUNDING &&
  Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > ROUNDING
const isWithin = (inner: Area, outer: Area): boolean =>
  inner.left >= outer.left - ROUNDING &&
  inner.right <= outer.right + ROUNDING &&
  inner.top >= outer.top - ROUNDING &&
  inner.bottom <= outer.bottom + ROUNDING
const round = ({ bottom, left, right, top }: Area) => [left, top, right, bottom].map(Math.round).join(' ')

/** What letters cover: the lines, or the box of the text. */
function inkOf({ area, layer, lines }: TextBlock): Area {
  if (layer.boxColor !== undefined) return area
  return {
    left: Math.min(...lines.map(({ left }) => left)),
    right: Math.max(...lines.map(({ right }) => right)),
    top: Math.min(...lines.map(({ top }) => top)),
    bottom: Math.max(...lines.map(({ bottom }) => bottom)),
  }
}

/** A decoration beside texts, such as a bar. Shades and what lies behind a whole text are not. */
const isSolid = ({ color = '', kind }: StudioLayerData) =>
  kind === 'picture' || kind === 'waveform' || (kind === 'box' && (color.length === 7 || color.endsWith('ff')))

/** What is wrong with the texts of a page, as text. */
function faultsOf(page: Page, blocks: readonly TextBlock[]): string[] {
  const { height, width } = sizeOf(page)
  const unit = Math.min(width, height) / 1000
  const faults: string[] = []
  const shown = blocks.filter(({ layer }) => /[\p{L}\p{N}]/u.test(layer.text))
  for (const [index, block] of shown.entries()) {
    const { fontSize, layer, lines } = block
    const name = `“${layer.text.slice(0, 12)}”`
    const ink = inkOf(block)
    if (!isWithin(ink, areaOf(layer))) faults.push(`${name} at ${round(ink)} leaves ${round(areaOf(layer))}`)
    const inside = { left: 60 * unit, top: 60 * unit, right: width - 60 * unit, bottom: height - 60 * unit }
    if (!isWithin(ink, inside)) faults.push(`${name} at ${round(ink)} is near the edge`)
    if (fontSize < MIN_SIZE * unit)
      faults.push(`${name} has ${(fontSize / unit).toFixed(1)} of ${(layer.fontSize / unit).toFixed(1)} units`)
    const count = lines.reduce((sum, { text }) => sum + text.replaceAll(/[\s\u200B-]/g, '').length, 0)
    if (count < layer.text.replaceAll(/[\s-]/g, '').length * 0.98) faults.push(`${name} lacks characters`)
    for (const other of shown.slice(index + 1)) {
      // Subtitles and other texts at different times do not meet.
      if (overlap(ink, inkOf(other))) faults.push(`${name} overlaps “${other.layer.text.slice(0, 12)}”`)
    }
    if (layer.boxColor !== undefined) continue
    for (const solid of page.layers.filter(isSolid)) {
      const area = areaOf(solid)
      if (overlap(ink, area) && !isWithin(ink, area)) faults.push(`${name} overlaps a ${solid.kind} at ${round(area)}`)
    }
  }
  return faults
}

/** Of texts, in thousandths of the shorter side: 15 pixels of 1080. Of 1,000 Japanese characters, no larger ones fit. */
const MIN_SIZE = 14

/** The largest share of the height that is empty beside or between texts that were made smaller. */
const MAX_EMPTY = 0.2

function emptyShare(page: Page, blocks: readonly TextBlock[]): number {
  const { height, width } = sizeOf(page)
  const isUpright = height > 1.5 * width
  const margin = 0.08 * Math.min(width, height)
  // Apps cover the upper and lower parts of upright pages.
  const [from, to] = isUpright ? [0.14 * height, 0.82 * height] : [margin, height - margin]
  const areas = [
    ...blocks.map(inkOf),
    ...page.layers.filter((layer) => isSolid(layer) && !(layer.width === width && layer.height === height)).map(areaOf),
  ]
  const sorted = areas.toSorted((a, b) => a.top - b.top)
  let [reached, widest] = [from, 0]
  for (const { bottom, top } of sorted) {
    widest = Math.max(widest, top - reached)
    reached = Math.max(reached, bottom)
  }
  return Math.max(widest, to - reached) / height
}

const cases = KEYS.flatMap((key) => PAGE_FORMAT_NAMES.map((format) => [key, format] as const))

describe.each(cases)('%s as %s', (key, pageFormat) => {
  test.each(SCRIPTS)('keeps the longest texts in %s apart and inside', async (script) => {
    for (const hasPicture of [true, false]) {
      const { pages } = project(key, longestValues(TEMPLATES[key], script, { hasPicture, pageFormat }))
      const scene = sceneOf({ schemaVersion: 1, pages }, new Map(), false)
      for (const [index, page] of pages.entries()) {
        const blocks = await textBlocksOf(scene, index)
        expect(faultsOf(page, blocks).join('; ')).toBe('')
        const isShrunk = blocks.some(({ fontSize, layer }) => fontSize < layer.fontSize * 0.9)
        // The others keep most of their picture free.
        if (isShrunk && !['slideshow', 'subtitles'].includes(key))
          expect(emptyShare(page, blocks)).toBeLessThan(MAX_EMPTY)
      }
    }
  })
})

describe('long texts', () => {
  const sizes = async (key: TemplateKey, pageFormat: PageFormat, values: TemplateValues) => {
    const data = project(key, { ...values, pageFormat })
    const blocks = await textBlocksOf(sceneOf(data, new Map(), false), 0)
    return blocks.map(({ fontSize, layer, lines }) => ({ fontSize, lines: lines.length, asked: layer.fontSize }))
  }

  test.each(['landscape', 'thumbnail', 'wide', 'square', 'portrait'] as const)(
    'of an event keep their size while there is room, as %s',
    async (pageFormat) => {
      const values = { title: 'Night of the small bands', when: 'Saturday, 28 November 2026, doors open at 19:00' }
      for (const { asked, fontSize } of await sizes('event', pageFormat, values)) expect(fontSize).toBe(asked)
    },
  )

  test('become smaller together, and the title stays the largest', async () => {
    const { title = '', text = '' } = longestValues(TEMPLATES.event, 'German', {})
    const [, first, second] = await sizes('event', 'landscape', { title, text, when: 'Fri' })
    expect(first?.fontSize).toBeGreaterThan(1.2 * (second?.fontSize ?? 0))
  })
})

describe('from right to left', () => {
  const pageOf = (key: TemplateKey, values: TemplateValues) => project(key, values).pages[0]?.layers ?? []
  const mirror = (layers: readonly StudioLayerData[], pageWidth: number) =>
    layers.map(({ left = 0, width = 0 }) => [pageWidth - left - width, width])

  test('bars and marks are on the other side', () => {
    const [latin, hebrew] = ['We are together', 'אנחנו ביחד'].map((text) => pageOf('quote-card', { text }))
    expect(hebrew?.at(0)).toMatchObject({ text: '”', align: 'end' })
    expect(latin?.at(0)).toMatchObject({ text: '“' })
    const bar = (layers: readonly StudioLayerData[] = []) => layers.filter(({ kind }) => kind === 'box')
    expect(bar(hebrew).map(({ left, width }) => [left, width])).toEqual(mirror(bar(latin), 1080))
  })

  test('layers slide from the other side, and names in Latin letters begin where the others do', () => {
    const slides = pageOf('story', { title: 'مباشر الليلة' }).map(({ enter }) => enter?.side)
    expect(slides.filter((side) => side !== undefined)).toEqual(['right', 'left'])
    const author = pageOf('quote-card', { text: 'أهلا وسهلا', author: 'Ada Nwosu' }).at(-1)
    expect(author).toMatchObject({ text: 'Ada Nwosu', align: 'end' })
    expect(pageOf('quote-card', { text: 'Welcome', author: 'עדה' }).at(-1)).toMatchObject({ align: 'end' })
  })
})

describe('on pictures', () => {
  const { folder, work } = useMediaWork()
  const pictures = ['white', 'black', 'checks'] as const
  const pathOf = (name: string) => join(folder, `${name}.png`)
  beforeAll(async () => {
    for (const background of ['white', 'black']) {
      await sharp({ create: { width: 64, height: 64, channels: 3, background } })
        .png()
        .toFile(pathOf(background))
    }
    const checks = Buffer.from(Array.from({ length: 64 * 64 }, (_, at) => (((at >> 5) ^ (at >> 11)) & 1) * 255))
    await sharp(checks, { raw: { width: 64, height: 64, channels: 1 } })
      .png()
      .toFile(pathOf('checks'))
  })

  /** The page without texts, as pixels. */
  async function ground(data: ProjectData, pictureName: string) {
    const layers = (data.pages[0]?.layers ?? []).filter(({ kind }) => ['box', 'picture'].includes(kind))
    const pages = data.pages.slice(0, 1).map((page) => ({ ...page, layers }))
    const output = join(folder, `ground-${Math.random()}`)
    mkdirSync(output)
    const files = new Map([['picture', pathOf(pictureName)]])
    writeFileSync(`${output}.json`, JSON.stringify(sceneOf({ schemaVersion: 1, pages }, files, false)))
    const { files: made } = await work.render(`${output}.json`, output, { format: 'png', pages: [0] })
    return pixelsOf(made[0]?.path ?? '')
  }
  const hex = (values: readonly number[]) =>
    `#${values.map((one) => Math.round(one).toString(16).padStart(2, '0')).join('')}`

  const colors: Partial<TemplateValues>[] = [{}, { accentColor: '#ffe119' }]
  const keys = ['quote-card', 'event', 'carousel', 'story', 'slideshow'] as const
  const all = keys.flatMap((key) =>
    (['square', 'landscape', 'story'] as const).flatMap((format) =>
      pictures.map((name) => [key, format, name] as const),
    ),
  )
  test.each(all)('texts of %s as %s can be read on a %s one', async (key, pageFormat, pictureName) => {
    for (const color of colors) {
      const values = { ...longestValues(TEMPLATES[key], 'German', { hasPicture: true, pageFormat }), ...color }
      const data = project(key, values)
      const blocks = await textBlocksOf(sceneOf(data, new Map(), false), 0)
      const { data: pixels, info } = await ground(data, pictureName)
      for (const block of blocks.filter(({ layer }) => /[\p{L}\p{N}]/u.test(layer.text))) {
        const { bottom, left, right, top } = inkOf(block)
        const { boxColor } = block.layer
        const opacity = boxColor === undefined ? 0 : Number.parseInt(boxColor.slice(7) || 'ff', 16) / 255
        const box = [1, 3, 5].map((at) => Number.parseInt((boxColor ?? '#000000').slice(at, at + 2), 16))
        let least = 21
        for (let y = Math.round(top); y < bottom; y += 5) {
          for (let x = Math.round(left); x < right; x += 5) {
            const at = (y * info.width + x) * 4
            const behind = box.map((one, channel) => one * opacity + (pixels[at + channel] ?? 0) * (1 - opacity))
            least = Math.min(least, contrastOf(block.layer.color, hex(behind)))
          }
        }
        expect(least, block.layer.text.slice(0, 20)).toBeGreaterThan(READABLE - 0.1)
      }
    }
  })
})
