import type { MeasuredNode, Node } from '@takumi-rs/core'
import { BOX_PADDING_EM, BOX_PADDING_TOP_EM, LINE_HEIGHT, measurableNode, type FittedText } from './nodes.ts'
import type { TextLayer } from './scene.ts'
import { hyphenated, SOFT_HYPHEN, withThaiBreaks } from './words.ts'

/** The size to which a text shrinks at most. */
const MIN_FONT_SIZE = 4
/** Steps of the search for the size of a shrunk text: the result is at most 1/64 of its range too small. */
const SIZE_STEPS = 6
/** Words are hyphenated if this makes a text larger by this factor, and divided anywhere by the other one. */
const WORTH_HYPHENS = 1.15
const WORTH_DIVIDING = 2
/** The width of a hyphen and of a space in Noto Sans, in multiples of the font size, rounded up. */
const HYPHEN_EM = 0.34
const SPACE_EM = 0.26
/** A last line is balanced with the others if it is shorter than this share of the longest one, or one word shorter than that. */
const SHORT_LINE = 0.33
const SHORT_WORD = 0.55
/** Widths that are tried to balance lines, as multiples of the mean width of a line. */
const BALANCED = [1.05, 1.14, 1.25, 1.4]

export interface TextLine {
  readonly text: string
  readonly left: number
  readonly right: number
}

interface Tried {
  readonly lines: readonly TextLine[]
  readonly fits: boolean
}

interface Way {
  readonly text: string
  readonly overflowWrap: 'normal' | 'anywhere'
}

/** Finds how texts of a page are drawn within their layers: sizes of shrunk texts, hyphens and line breaks. */
export class TextFitter {
  readonly #measure: (node: Node) => Promise<MeasuredNode>
  readonly #context: string

  /** @param context all texts of the page */
  constructor(measure: (node: Node) => Promise<MeasuredNode>, context: string) {
    this.#measure = measure
    this.#context = context
  }

  /** A text that does not shrink keeps its size. A shrunk one has the largest size, up to its own, that fits its layer. */
  async fit(layer: TextLayer): Promise<FittedText> {
    const whole: Way = { text: withThaiBreaks(layer.text), overflowWrap: 'normal' }
    const first = await this.#try(layer, whole, layer.fontSize)
    if (first.fits) return this.#finished(layer, whole, layer.fontSize, first)
    return layer.shrink === true ? this.#shrunk(layer, whole) : this.#kept(layer, whole, first)
  }

  async #kept(layer: TextLayer, whole: Way, first: Tried): Promise<FittedText> {
    const { fontSize } = layer
    const room = roomOf(layer, whole.text, fontSize)
    const overflows = ({ lines }: Tried) => lines.some((line) => widthOf(line) > room)
    if (!overflows(first)) return this.#finished(layer, whole, fontSize, first)
    const hyphens = await this.#hyphens(whole)
    if (hyphens !== undefined) {
      const tried = await this.#try(layer, hyphens, fontSize)
      if (!overflows(tried)) return this.#finished(layer, hyphens, fontSize, tried)
    }
    return { text: whole.text, fontSize, width: layer.width }
  }

  async #shrunk(layer: TextLayer, whole: Way): Promise<FittedText> {
    let way = whole
    let size = await this.#largest(layer, whole, layer.fontSize)
    const other = async (candidate: Way | undefined, worth: number) => {
      const least = Math.min(layer.fontSize, size * worth)
      if (candidate === undefined || size === layer.fontSize) return
      if (!(await this.#try(layer, candidate, least)).fits) return
      way = candidate
      size = await this.#largest(layer, candidate, layer.fontSize, least)
    }
    await other(await this.#hyphens(whole), WORTH_HYPHENS)
    await other({ ...way, overflowWrap: 'anywhere' }, WORTH_DIVIDING)
    return this.#finished(layer, way, size, await this.#try(layer, way, size))
  }

  async #hyphens({ text }: Way): Promise<Way | undefined> {
    const result = await hyphenated(text, this.#context)
    return result === undefined ? undefined : { text: result, overflowWrap: 'normal' }
  }

  /** The largest size that fits, by bisection. @param least fits, if any size does */
  async #largest(layer: TextLayer, way: Way, most: number, least = Math.min(MIN_FONT_SIZE, most)): Promise<number> {
    if ((await this.#try(layer, way, most)).fits) return most
    let [low, high] = [least, most]
    for (let step = 0; step < SIZE_STEPS; step += 1) {
      const middle = (low + high) / 2
      if ((await this.#try(layer, way, middle)).fits) low = middle
      else high = middle
    }
    return low
  }

  async #try(layer: TextLayer, { overflowWrap, text }: Way, fontSize: number, width = layer.width): Promise<Tried> {
    // A line that ends with a soft hyphen becomes longer by the hyphen.
    const room = text.includes(SOFT_HYPHEN) ? Math.max(1, width - HYPHEN_EM * fontSize) : width
    const measured = textOf(await this.#measure(measurableNode(layer, { text, fontSize, width: room, overflowWrap })))
    const lines = linesOf(measured, layer, fontSize)
    const widest = Math.max(0, ...lines.map(widthOf))
    const fits = measured.height <= layer.height && widest <= roomOf(layer, text, fontSize) && measured.width <= width
    return { lines, fits }
  }

  async #finished(layer: TextLayer, way: Way, fontSize: number, { lines }: Tried): Promise<FittedText> {
    const widths = lines.map(widthOf)
    const padding = layer.boxColor === undefined ? 0 : 2 * BOX_PADDING_EM * fontSize
    // A box is as wide as its longest line, not as the width at which lines break.
    const around = (all: readonly number[]) => Math.ceil(Math.max(...all) + padding) + 1
    const isNarrower = layer.boxColor !== undefined && lines.length > 1 && way.overflowWrap === 'normal'
    const drawn = { text: way.text, fontSize, width: layer.width }
    // The lines of a hyphenated text are fixed.
    if (way.text.includes(SOFT_HYPHEN)) return { ...drawn, text: withHyphens(way.text, lines) }
    if (isNarrower) drawn.width = Math.min(layer.width, around(widths))
    if (!endsShort(lines) || way.text.includes('\n')) return drawn
    const mean = widths.reduce((sum, width) => sum + width, 0) / lines.length
    for (const factor of BALANCED) {
      const width = Math.ceil(mean * factor + padding)
      if (width >= layer.width) break
      const { lines: balanced } = await this.#try(layer, { ...way, overflowWrap: 'normal' }, fontSize, width)
      const room = width - padding
      if (balanced.length !== lines.length || balanced.some((line) => widthOf(line) > room)) continue
      if (endsShort(balanced)) continue
      return { ...drawn, width: around(balanced.map(widthOf)) }
    }
    return drawn
  }
}

/** The measured text of a layer. @throws Error if the renderer has left it out */
export function textOf({ children: [text] }: MeasuredNode): MeasuredNode {
  if (text === undefined) throw new Error('The renderer measured no text.')
  return text
}

/** The width of a layer without the padding of a box. */
function roomOf({ boxColor, width }: TextLayer, text: string, fontSize: number): number {
  const padding = boxColor === undefined ? 0 : 2 * BOX_PADDING_EM * fontSize
  return width - padding - (text.includes(SOFT_HYPHEN) ? HYPHEN_EM * fontSize : 0)
}

function widthOf({ left, right }: TextLine): number {
  return right - left
}

function endsShort(lines: readonly TextLine[]): boolean {
  const last = lines.at(-1)
  if (last === undefined || lines.length < 2) return false
  const widest = Math.max(...lines.map(widthOf))
  return widthOf(last) < (/\s/.test(last.text.trim()) ? SHORT_LINE : SHORT_WORD) * widest
}

/** The lines of a measured text, without spaces at their ends. Fonts of a line differ in height, but hardly in their middles. */
function linesOf({ runs }: MeasuredNode, { lineHeight = LINE_HEIGHT }: TextLayer, fontSize: number): TextLine[] {
  const lines: { text: string; left: number; right: number; y: number }[] = []
  for (const run of runs) {
    const y = run.y + run.height / 2
    const line = lines.at(-1)
    if (line === undefined || Math.abs(line.y - y) > (fontSize * lineHeight) / 2) {
      lines.push({ text: run.text, left: run.x, right: run.x + run.width, y })
      continue
    }
    line.text += run.text
    line.left = Math.min(line.left, run.x)
    line.right = Math.max(line.right, run.x + run.width)
  }
  return lines.map(({ left, right, text }) => {
    // Runs are in the order in which they are seen: a text from right to left ends on the left.
    const [before = '', after = ''] = [/^ */.exec(text)?.[0], / *(?=\n?$)/.exec(text)?.[0]]
    const space = SPACE_EM * fontSize
    return { text, left: left + before.length * space, right: right - after.length * space }
  })
}

/** Makes the line breaks of a text permanent, with hyphens where words are divided. */
function withHyphens(text: string, lines: readonly TextLine[]): string {
  const plain = (part: string) => part.replaceAll(SOFT_HYPHEN, '')
  let [at, result] = [0, '']
  for (const line of lines) {
    // Measured lines can lack soft hyphens, so they are found again in the text.
    const own = plain(line.text)
    const start = at
    for (let left = own.length; left > 0 && at < text.length; at += 1) if (text[at] !== SOFT_HYPHEN) left -= 1
    // Runs are in the order of the text unless some of it is written from right to left.
    if (plain(text.slice(start, at)) !== own) return plain(text)
    const isDivided = text[at] === SOFT_HYPHEN
    if (at >= text.length || own.endsWith('\n')) result += own
    else result += `${own.trimEnd()}${isDivided ? '-' : ''}\n`
  }
  return result
}

interface Area {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** A text as it is laid out. Areas are in pixels of the page. */
export interface TextBlock {
  readonly layer: TextLayer
  readonly fontSize: number
  /** Without spaces at their ends. As high as the line height. */
  readonly lines: readonly (Area & { readonly text: string })[]
  /** With the padding of a box. */
  readonly area: Area
}

/** @param measured the layer, with the text as its only child */
export function blockOf(layer: TextLayer, { fontSize }: FittedText, measured: MeasuredNode): TextBlock {
  const node = textOf(measured)
  const [left, top] = [node.transform[4], node.transform[5]]
  const height = fontSize * (layer.lineHeight ?? LINE_HEIGHT)
  // Lines are measured without the padding of a box.
  const padding = layer.boxColor === undefined ? 0 : fontSize
  const [x, y] = [left + BOX_PADDING_EM * padding, top + BOX_PADDING_TOP_EM * padding]
  const lines = linesOf(node, layer, fontSize).map((line, index) => ({
    text: line.text,
    left: x + line.left,
    right: x + line.right,
    top: y + index * height,
    bottom: y + (index + 1) * height,
  }))
  return { layer, fontSize, lines, area: { left, top, right: left + node.width, bottom: top + node.height } }
}
