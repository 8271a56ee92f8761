import type { StudioLayerData } from '../schemas.ts'
import { box, text, type Place } from './template.ts'
import { lineCount, lineHeightOf } from './text-size.ts'

/** Something that a column shows, below the ones before it. */
export interface Item {
  /** Pixels above it, unless it is the first one. */
  readonly gap: number
  /** Its height in pixels at a scale: the share of their size that texts have, up to 1. */
  heightOf(width: number, scale: number): number
  layerAt(at: Place, scale: number): StudioLayerData
}

type TextRest = Partial<StudioLayerData> & { readonly fontSize: number; readonly color: string }

/** The vertical padding of a text with a box, in multiples of its size. The horizontal one is 0.8. */
const BOX_HEIGHT = 0.24
const BOX_WIDTH = 0.8

/**
 * A text, in a place as high as it is expected to need.
 * @param firmness how much less than the others it shrinks, from 0 to 1, so that small texts can still be read
 */
export function textItem(content: string, gap: number, rest: TextRest, firmness = 0): Item {
  const lineHeight = lineHeightOf(content, rest.lineHeight ?? 1.2)
  const sizeAt = (scale: number) => Math.max(4, Math.round(rest.fontSize * scale ** (1 - firmness)))
  const boxed = rest.boxColor === undefined ? 0 : 1
  return {
    gap,
    heightOf: (width, scale) => {
      const fontSize = sizeAt(scale)
      const style = { fontSize, bold: rest.fontWeight === 'bold' }
      const lines = lineCount(content, style, width - boxed * BOX_WIDTH * fontSize)
      return Math.ceil(lines * lineHeight * fontSize + boxed * BOX_HEIGHT * fontSize) + 2
    },
    layerAt: (at, scale) => text(content, at, { ...rest, fontSize: sizeAt(scale) }),
  }
}

/** A box of a fixed size, at the start of the column. */
export function boxItem(gap: number, size: readonly [width: number, height: number], color: string, radius = 0): Item {
  return {
    gap,
    heightOf: () => size[1],
    layerAt: ([left, top]) => box([left, top, ...size], color, { radius }),
  }
}

const STEPS = 60
const MIN_SCALE = 0.1

/** The height of items, in pixels. */
export function heightOf(items: readonly Item[], width: number, scale: number): number {
  return items.reduce((sum, item, index) => sum + (index === 0 ? 0 : item.gap) + item.heightOf(width, scale), 0)
}

/** The largest share of their size, at most 1, in which the texts of a column fit a height. */
export function scaleOf(items: readonly Item[], width: number, height: number): number {
  for (let step = 0; step < STEPS; step += 1) {
    const scale = MIN_SCALE ** (step / STEPS)
    if (heightOf(items, width, scale) <= height) return scale
  }
  return MIN_SCALE
}

export interface Column {
  readonly layers: readonly StudioLayerData[]
  readonly top: number
  readonly bottom: number
}

/** Items below each other. Their texts get smaller together, so that a title stays larger than the text below it. */
export function column(
  items: readonly Item[],
  [left, top, width, height]: Place,
  verticalAlign: 'top' | 'middle' | 'bottom' = 'top',
  scale = scaleOf(items, width, height),
): Column {
  const needed = heightOf(items, width, scale)
  const free = Math.max(0, height - needed)
  const start = top + (verticalAlign === 'top' ? 0 : verticalAlign === 'middle' ? free / 2 : free)
  let y = start
  const layers = items.map((item, index) => {
    y += index === 0 ? 0 : item.gap
    const own = item.heightOf(width, scale)
    const layer = item.layerAt([left, y, width, own], scale)
    y += own
    return layer
  })
  return { layers, top: start, bottom: start + needed }
}
