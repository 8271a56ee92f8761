import type { Node } from '@takumi-rs/core'
import { directionOf } from './characters.ts'
import { familiesFor } from './fonts.ts'
import type { SceneLayer, ScenePage, TextLayer } from './scene.ts'

/** Decoded pixels of a picture, in the size of its layer. */
export interface Pixels {
  readonly width: number
  readonly height: number
  readonly data: Buffer
}

/** The content of layers that show media. */
export type Media = ReadonlyMap<SceneLayer, Pixels>

const LINE_HEIGHT = 1.2
const BOX_PADDING = '0.12em 0.4em'
const BOX_RADIUS = '0.2em'

/**
 * Converts a page to nodes of the renderer. Text is always a text node, never markup, and pictures are passed as pixels,
 * so a project cannot make the renderer load anything.
 * @param layers those to show
 * @param sizes the sizes of shrunk texts
 */
export function pageNode(
  { background, height, width }: Pick<ScenePage, 'background' | 'width' | 'height'>,
  layers: readonly SceneLayer[],
  { media, sizes }: { readonly media: Media; readonly sizes: ReadonlyMap<SceneLayer, number> },
): Node {
  return {
    type: 'container',
    style: { position: 'relative', display: 'flex', width, height, overflow: 'hidden', backgroundColor: background },
    children: layers.map((layer) => layerNode(layer, { pixels: media.get(layer), fontSize: sizes.get(layer) })),
  }
}

function layerNode(
  layer: SceneLayer,
  { fontSize, pixels }: { readonly pixels: Pixels | undefined; readonly fontSize: number | undefined },
): Node {
  const { height, left, opacity = 1, rotation = 0, top, width } = layer
  const placed = {
    position: 'absolute',
    display: 'flex',
    left,
    top,
    width,
    height,
    opacity,
    ...(rotation !== 0 && { transform: `rotate(${rotation}deg)` }),
  } as const
  switch (layer.kind) {
    case 'box':
      return { type: 'container', style: { ...placed, backgroundColor: layer.color, ...rounded(layer.radius) } }
    case 'picture':
      if (pixels === undefined) return { type: 'container', style: placed }
      return { type: 'image', src: pixels, style: { ...placed, ...rounded(layer.radius) } }
    default:
      return {
        type: 'container',
        style: { ...placed, flexDirection: 'column', justifyContent: JUSTIFY[layer.verticalAlign ?? 'top'] },
        children: [textNode(layer, layer.width, fontSize)],
      }
  }
}

const JUSTIFY = { top: 'flex-start', middle: 'center', bottom: 'flex-end' } as const

function rounded(radius = 0) {
  return radius > 0 ? { borderRadius: radius, overflow: 'hidden' as const } : {}
}

/** The text of a layer, without its place. Also measured by itself. */
export function textNode(layer: TextLayer, width: number, fontSize = layer.fontSize): Node {
  const { align = 'start', boxColor, color, fontWeight = 'normal', lineHeight = LINE_HEIGHT, text } = layer
  const direction = directionOf(text)
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
      fontFamily: familiesFor(text)
        .map((name) => `"${name}"`)
        .join(', '),
      textAlign: align,
      whiteSpace: 'pre-wrap',
      overflowWrap: 'anywhere',
      flexShrink: 0,
      ...(boxColor === undefined
        ? { width }
        : {
            alignSelf: side,
            maxWidth: width,
            backgroundColor: boxColor,
            padding: BOX_PADDING,
            borderRadius: BOX_RADIUS,
          }),
    },
  }
}
