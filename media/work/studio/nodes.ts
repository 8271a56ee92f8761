import type { Node } from '@takumi-rs/core'
import { directionOf } from '../../../src/tools/text-direction.ts'
import { familiesFor } from './fonts.ts'
import type { Bars } from './levels.ts'
import type { BoxLayer, ScenePage, ShownLayer, TextLayer, WaveformLayer } from './scene.ts'

/** Decoded pixels of a picture, in the size of its layer. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly data: Buffer
}

/** A text as it is drawn. */
export interface FittedText {
  /** With hyphens and line breaks, if words are divided. */
  readonly text: string
  readonly fontSize: number
  /** At which lines break, in pixels. At most the width of the layer. */
  readonly width: number
  readonly overflowWrap?: 'normal' | 'anywhere'
}

/** What layers show at a moment, besides their own fields. */
export interface Content {
  /** Of layers that show media. */
  readonly media: ReadonlyMap<ShownLayer, Pixels>
  readonly texts: ReadonlyMap<ShownLayer, FittedText>
  readonly bars: ReadonlyMap<ShownLayer, Bars>
}

/** The space between two bars of a waveform, as a share of their distance. */
const BAR_GAP = 0.4

export const LINE_HEIGHT = 1.2
/** At the sides of a text with a box, and above and below it, as multiples of its size. */
export const BOX_PADDING_EM = 0.4
export const BOX_PADDING_TOP_EM = 0.12
const BOX_PADDING = `${BOX_PADDING_TOP_EM}em ${BOX_PADDING_EM}em`
const BOX_RADIUS = '0.2em'

/** The part of a page that is drawn. */
export interface Canvas {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** Transparent when absent. */
  readonly background?: string | undefined
}

/** The whole of a page. */
export function wholeOf({ background, height, width }: ScenePage): Canvas {
  return { left: 0, top: 0, width, height, background }
}

/**
 * Converts layers to nodes of the renderer. Text is always a text node, never markup, and pictures are passed as pixels,
 * so a project cannot make the renderer load anything.
 */
export function canvasNode(canvas: Canvas, layers: readonly ShownLayer[], content: Content): Node {
  const { background, height, width } = canvas
  return {
    type: 'container',
    style: {
      position: 'relative',
      display: 'flex',
      width,
      height,
      overflow: 'hidden',
      ...(background !== undefined && { backgroundColor: background }),
    },
    children: layers.map((layer) => layerNode(layer, canvas, content)),
  }
}

function layerNode(layer: ShownLayer, canvas: Canvas, { bars, media, texts }: Content): Node {
  const { height, left, opacity = 1, rotation = 0, top, width } = layer
  const placed = {
    position: 'absolute',
    display: 'flex',
    left: left - canvas.left,
    top: top - canvas.top,
    width,
    height,
    opacity,
    ...(rotation !== 0 && { transform: `rotate(${rotation}deg)` }),
  } as const
  switch (layer.kind) {
    case 'box':
      return { type: 'container', style: { ...placed, ...filled(layer), ...rounded(layer.radius) } }
    case 'waveform':
      return { type: 'container', style: placed, children: barNodes(layer, bars.get(layer)) }
    case 'picture':
    case 'video': {
      const pixels = media.get(layer)
      if (pixels === undefined) return { type: 'container', style: placed }
      return { type: 'image', src: pixels, style: { ...placed, ...rounded(layer.radius) } }
    }
    default:
      return {
        type: 'container',
        style: { ...placed, flexDirection: 'column', justifyContent: JUSTIFY[layer.verticalAlign ?? 'top'] },
        children: [textNode(layer, texts.get(layer) ?? layer)],
      }
  }
}

/** Bars around the middle of the layer. A silent one is a dot. */
function barNodes({ color, height, restColor, width }: WaveformLayer, bars: Bars | undefined): Node[] {
  const { levels = [], played = 0 } = bars ?? {}
  const step = width / Math.max(1, levels.length)
  const barWidth = step * (1 - BAR_GAP)
  return levels.map((level, index): Node => {
    const barHeight = Math.min(height, Math.max(barWidth, level * height))
    return {
      type: 'container',
      style: {
        position: 'absolute',
        left: index * step + (step - barWidth) / 2,
        top: (height - barHeight) / 2,
        width: barWidth,
        height: barHeight,
        borderRadius: barWidth / 2,
        backgroundColor: index < played ? color : restColor,
      },
    }
  })
}

const JUSTIFY = { top: 'flex-start', middle: 'center', bottom: 'flex-end' } as const

function filled({ color, endColor }: BoxLayer) {
  if (endColor === undefined) return { backgroundColor: color }
  return { backgroundImage: `linear-gradient(to bottom, ${color}, ${endColor})` }
}

function rounded(radius = 0) {
  return radius > 0 ? { borderRadius: radius, overflow: 'hidden' as const } : {}
}

/** A text by itself, to be measured: the only child of its layer, which is as high as it needs. */
export function measurableNode(layer: TextLayer, fitted: FittedText): Node {
  // Without a parent, a text with a box would be measured as one line.
  const style = { display: 'flex', flexDirection: 'column', width: layer.width } as const
  return { type: 'container', style, children: [textNode(layer, fitted)] }
}

/** The text of a layer, without its place. */
function textNode(layer: TextLayer, fitted: FittedText): Node {
  const { align = 'start', boxColor, color, fontWeight = 'normal', lineHeight = LINE_HEIGHT } = layer
  const { fontSize, overflowWrap = 'anywhere', text, width } = fitted
  const direction = directionOf(layer.text)
  // The axis of the column ignores the direction of its text.
  const side = align === 'center' ? 'center' : (align === 'start') === (direction === 'ltr') ? 'flex-start' : 'flex-end'
  return {
    type: 'text',
    text,
    style: {
      fontSize,
      color,
      direction,
      lineHeight,
      fontWeight: fontWeight === 'bold' ? 700 : 400,
      fontFamily: familiesFor(layer.text)
        .map((name) => `"${name}"`)
        .join(', '),
      textAlign: align,
      whiteSpace: 'pre-wrap',
      overflowWrap,
      flexShrink: 0,
      alignSelf: side,
      ...(boxColor === undefined
        ? { width }
        : { maxWidth: width, backgroundColor: boxColor, padding: BOX_PADDING, borderRadius: BOX_RADIUS }),
    },
  }
}
