import { Renderer, type Node } from '@takumi-rs/core'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { imageError } from '../thumbnails/image.ts'
import { Clip, clipSize } from './clip.ts'
import { blockOf, textOf, TextFitter, type TextBlock } from './fitting.ts'
import { charactersWithoutFont, FontShelf } from './fonts.ts'
import { barsAt, levelsOf, type Bars } from './levels.ts'
import { isShown, spanOf } from './motion.ts'
import {
  canvasNode,
  measurableNode,
  wholeOf,
  type Canvas,
  type Content,
  type FittedText,
  type Pixels,
} from './nodes.ts'
import { openPictures } from './pictures.ts'
import type { Scene, SceneLayer, ScenePage, ShownLayer, TextLayer, VideoLayer, WaveformLayer } from './scene.ts'
import { cropped, type Bitmap, type Sprite } from './sprite.ts'

const CACHE_BYTES = 32 * 2 ** 20
const MAX_LISTED = 5
/** Pixels of a layer that is drawn by itself. */
const MAX_SPRITE_PIXELS = 40_000_000

let renderer: Renderer | undefined
let shelf: FontShelf | undefined

/** A page with everything that its pixels need: fonts, decoded pictures, levels of sound, and how its texts fit. */
export class PagePainter {
  readonly page: ScenePage
  readonly #pointer: string
  readonly #renderer: Renderer
  readonly #context: WorkContext
  readonly #media = new Map<ShownLayer, Pixels>()
  readonly #texts = new Map<ShownLayer, FittedText>()
  readonly #levels = new Map<ShownLayer, readonly number[]>()

  private constructor(page: ScenePage, pointer: string, shared: Renderer, context: WorkContext) {
    this.page = page
    this.#pointer = pointer
    this.#renderer = shared
    this.#context = context
  }

  /** @throws MediaWorkError that begins with the pointer of the layer that causes it */
  static async open(scene: Scene, index: number, context: WorkContext): Promise<PagePainter> {
    // One for the process: it has the decoded fonts. Only texts are cached, because pictures have no addresses.
    renderer ??= new Renderer({ cacheMaxBytes: CACHE_BYTES })
    shelf ??= new FontShelf(renderer)
    const painter = new PagePainter(pageOf(scene, index), `/pages/${index}`, renderer, context)
    await painter.#prepare(shelf)
    return painter
  }

  async #prepare(fonts: FontShelf): Promise<void> {
    const { layers } = this.page
    const texts = layers.filter((layer) => layer.kind === 'text')
    for (const layer of texts) checkFonts(layer, `${this.pointerOf(layer)}/text`)
    await fonts.require(texts.map(({ text }) => text))
    const measure = (node: Node) => this.#renderer.measure(node, { signal: this.#context.signal })
    const fitter = new TextFitter(measure, texts.map(({ text }) => text).join('\n'))
    await Promise.all(texts.map(async (layer) => this.#texts.set(layer, await fitter.fit(layer))))
    for (const [layer, pixels] of await openPictures(this.page, this.#pointer, this.#context)) {
      this.#media.set(layer, pixels)
    }
    for (const layer of layers) {
      if (layer.kind !== 'waveform') continue
      this.#levels.set(layer, await this.at(layer, () => levelsOf(layer, this.page, this.#context)))
    }
  }

  pointerOf(layer: SceneLayer): string {
    return `${this.#pointer}/layers/${this.page.layers.indexOf(layer)}`
  }

  /** Runs work for a layer. @throws MediaWorkError that begins with the pointer of the layer */
  async at<Result>(layer: SceneLayer, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      this.#context.signal.throwIfAborted()
      const { code, message } = imageError(error)
      throw new MediaWorkError(code, `${this.pointerOf(layer)}: ${message}`, { cause: error })
    }
  }

  /** The page at its start, without animations, as RGBA with straight alpha. @throws MediaWorkError */
  async picture(): Promise<Buffer> {
    const shown = this.page.layers.filter((layer) => layer.kind !== 'sound').filter((layer) => isShown(layer, 0))
    for (const layer of shown) {
      if (layer.kind !== 'video') continue
      this.#media.set(layer, await this.at(layer, () => stillOf(layer, this.#context)))
    }
    const waveforms = shown.filter((layer) => layer.kind === 'waveform')
    const bars = new Map(waveforms.map((layer) => [layer, this.barsOf(layer, 0)]))
    return this.#paint(wholeOf(this.page), shown, bars)
  }

  /** The bars of a waveform. @param seconds from the start of the page */
  barsOf(layer: WaveformLayer, seconds: number): Bars {
    const { end, start } = spanOf(layer, this.page)
    return barsAt(layer, this.#levels.get(layer) ?? [], seconds - start, end - start)
  }

  /** Layers on top of each other, where they are on the page. @param ground with the background of the page */
  async group(layers: readonly ShownLayer[], ground: boolean): Promise<Bitmap> {
    const whole = wholeOf(this.page)
    const data = await this.#paint(ground ? whole : { ...whole, background: undefined }, layers)
    return { ...this.page, data }
  }

  /** Where the renderer draws the lines of the texts of the page, also those that a video shows later. */
  async textBlocks(): Promise<TextBlock[]> {
    const layers = this.page.layers.filter((layer) => layer.kind === 'text')
    const content = { media: this.#media, texts: this.#texts, bars: new Map() }
    const { height, width } = this.page
    const node = canvasNode(wholeOf(this.page), layers, content)
    const measured = await this.#renderer.measure(node, { width, height, signal: this.#context.signal })
    return layers.flatMap((layer, index) => {
      const node = measured.children[index]
      return node === undefined ? [] : [blockOf(layer, this.#texts.get(layer) ?? layer, node)]
    })
  }

  /** A layer that moves, also the parts that are outside of the page. Undefined if it is fully transparent. */
  async solo(layer: ShownLayer, bars?: Bars): Promise<Sprite | undefined> {
    const canvas = await this.#canvasOf(layer)
    if (canvas.width * canvas.height > MAX_SPRITE_PIXELS) {
      const message = `${this.pointerOf(layer)}: The layer is too large to be animated.`
      throw new MediaWorkError('too_large', message)
    }
    const data = await this.#paint(canvas, [layer], bars === undefined ? new Map() : new Map([[layer, bars]]))
    return cropped({ ...canvas, data }, canvas.left, canvas.top)
  }

  /** A mask for the rounded corners of a layer. */
  async cornersOf({ radius }: VideoLayer, size: { width: number; height: number }): Promise<Sprite> {
    const canvas = { left: 0, top: 0, ...size }
    const data = await this.#paint(canvas, [{ kind: 'box', color: '#ffffff', radius, ...canvas }])
    return { ...canvas, data, opaque: false }
  }

  #paint(canvas: Canvas, layers: readonly ShownLayer[], bars: Content['bars'] = new Map()): Promise<Buffer> {
    const { height, width } = canvas
    const node = canvasNode(canvas, layers, { media: this.#media, texts: this.#texts, bars })
    return this.#renderer.render(node, { width, height, format: 'raw', signal: this.#context.signal })
  }

  /** The area that a rotated layer covers. A text can be larger than its layer. */
  async #canvasOf(layer: ShownLayer): Promise<Canvas> {
    const { rotation = 0 } = layer
    const size = layer.kind === 'text' ? await this.#measure(layer) : layer
    const width = layer.width + 2 * Math.max(0, size.width - layer.width)
    const height = layer.height + 2 * Math.max(0, size.height - layer.height)
    const angle = (rotation * Math.PI) / 180
    const [cos, sin] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))]
    const [halfX, halfY] = [(cos * width + sin * height) / 2, (sin * width + cos * height) / 2]
    const [centerX, centerY] = [layer.left + layer.width / 2, layer.top + layer.height / 2]
    const [left, top] = [Math.floor(centerX - halfX) - 1, Math.floor(centerY - halfY) - 1]
    return { left, top, width: Math.ceil(centerX + halfX) + 1 - left, height: Math.ceil(centerY + halfY) + 1 - top }
  }

  async #measure(layer: TextLayer): Promise<{ width: number; height: number }> {
    const node = measurableNode(layer, this.#texts.get(layer) ?? layer)
    const { height, runs, width } = textOf(await this.#renderer.measure(node, { signal: this.#context.signal }))
    return { height, width: Math.max(width, ...runs.map((run) => run.width)) }
  }
}

/** @throws MediaWorkError */
export function pageOf({ pages }: Scene, index: number): ScenePage {
  const page = pages[index]
  if (page === undefined) throw new MediaWorkError('invalid_settings', `There is no page ${index + 1}.`)
  return page
}

/** The first frame of a video layer. */
async function stillOf(layer: VideoLayer, context: WorkContext): Promise<Pixels> {
  const clip = await Clip.open(layer, 1, context)
  try {
    return { ...clipSize(layer), data: Buffer.from(await clip.frame(0)) }
  } finally {
    await clip.close()
  }
}

function checkFonts({ text }: TextLayer, pointer: string): void {
  const without = charactersWithoutFont(text)
  if (without.length === 0) return
  const listed = without.slice(0, MAX_LISTED).join(' ')
  throw new MediaWorkError('invalid_settings', `${pointer}: No font of this server has these characters: ${listed}`)
}
