import type { WorkContext } from '../process/context.ts'
import { Clip, clipSize, FRAMES_PER_SECOND } from './clip.ts'
import type { Bars } from './levels.ts'
import { motionOf, spanOf, type Motion } from './motion.ts'
import { PagePainter } from './painter.ts'
import type { Scene, ShownLayer, VideoLayer } from './scene.ts'
import { cropped, draw, flatten, type Bitmap, type Sprite } from './sprite.ts'

/** A layer as a frame shows it. */
interface Shown {
  readonly layer: ShownLayer
  readonly motion: Motion
  /** The number of a video's frame, or of a waveform's state. It differs whenever the pixels differ. */
  readonly content: number
  readonly bars: Bars | undefined
}

const AT_REST = { aroundX: 0, aroundY: 0, dx: 0, dy: 0, scale: 1, rotation: 0, opacity: 1 }

/**
 * Draws the frames of a page. Still layers are painted together, once. Each other layer is painted once and then moved,
 * because painting a page takes much longer than copying pixels.
 */
export class PageFrames {
  readonly #painter: PagePainter
  readonly #context: WorkContext
  readonly #clips = new Map<VideoLayer, Clip>()
  #ground: { readonly key: string; readonly bitmap: Bitmap } | undefined
  /** The sprites of the last frame. Null for invisible ones. */
  #sprites = new Map<string, Sprite | null>()

  private constructor(painter: PagePainter, context: WorkContext) {
    this.#painter = painter
    this.#context = context
  }

  /** @throws MediaWorkError that begins with the pointer of the layer that causes it */
  static async open(scene: Scene, index: number, context: WorkContext): Promise<PageFrames> {
    return new PageFrames(await PagePainter.open(scene, index, context), context)
  }

  /** A text that is the same for frames with the same pixels. @param index of the frame, from the start of the page */
  keyOf(index: number): string {
    return JSON.stringify(
      this.#shownAt(index).map(({ content, layer, motion }) => [this.#number(layer), motion, content]),
    )
  }

  /** Draws a frame. @throws MediaWorkError */
  async draw(index: number, frame: Bitmap): Promise<void> {
    const shown = this.#shownAt(index)
    const used = new Map<string, Sprite | null>()
    const first = shown.findIndex(isApart)
    const still = shown.slice(0, first === -1 ? undefined : first).map(({ layer }) => layer)
    frame.data.set((await this.#groundOf(still)).data)
    let group: ShownLayer[] = []
    const flush = async () => {
      if (group.length > 0) await this.#drawGroup(group, frame, used)
      group = []
    }
    for (const one of shown.slice(still.length)) {
      if (!isApart(one)) {
        group.push(one.layer)
        continue
      }
      await flush()
      await this.#drawApart(one, frame, used)
    }
    await flush()
    this.#sprites = used
    await this.#closeEnded(index)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clips.values()].map((clip) => clip.close()))
    this.#clips.clear()
  }

  #shownAt(index: number): Shown[] {
    const seconds = index / FRAMES_PER_SECOND
    const { page } = this.#painter
    return page.layers.flatMap((layer): Shown[] => {
      if (layer.kind === 'sound') return []
      const motion = motionOf(layer, page, seconds)
      if (motion === undefined) return []
      const bars = layer.kind === 'waveform' ? this.#painter.barsOf(layer, seconds) : undefined
      const content = layer.kind === 'video' ? index - this.#firstFrame(layer) : (bars?.step ?? 0)
      return [{ layer, motion, content, bars }]
    })
  }

  #firstFrame(layer: ShownLayer): number {
    return Math.ceil(spanOf(layer, this.#painter.page).start * FRAMES_PER_SECOND - 1e-6)
  }

  #number(layer: ShownLayer): number {
    return this.#painter.page.layers.indexOf(layer)
  }

  /** The background with the lowest layers that stand still. It is opaque: video has no transparency. */
  async #groundOf(layers: readonly ShownLayer[]): Promise<Bitmap> {
    const key = layers.map((layer) => this.#number(layer)).join(' ')
    if (this.#ground?.key === key) return this.#ground.bitmap
    const bitmap = await this.#painter.group(layers, true)
    flatten(bitmap)
    this.#ground = { key, bitmap }
    return bitmap
  }

  async #drawGroup(layers: readonly ShownLayer[], frame: Bitmap, used: Map<string, Sprite | null>): Promise<void> {
    const key = `group ${layers.map((layer) => this.#number(layer)).join(' ')}`
    const sprite = await this.#kept(key, used, async () => cropped(await this.#painter.group(layers, false), 0, 0))
    if (sprite !== null) draw(frame, sprite, AT_REST)
  }

  async #drawApart(shown: Shown, frame: Bitmap, used: Map<string, Sprite | null>): Promise<void> {
    const { bars, content, layer, motion } = shown
    const { dx, dy, scale } = motion
    const around = { aroundX: layer.left + layer.width / 2, aroundY: layer.top + layer.height / 2 }
    const moved = { ...around, dx: Math.round(dx), dy: Math.round(dy), scale }
    if (layer.kind === 'video') {
      const sprite = await this.#painter.at(layer, () => this.#videoSprite(layer, content, used))
      const opacity = motion.opacity * (layer.opacity ?? 1)
      draw(frame, sprite, { ...moved, opacity, rotation: layer.rotation ?? 0 })
      return
    }
    const key = `solo ${this.#number(layer)} ${content}`
    const sprite = await this.#kept(key, used, () => this.#painter.solo(layer, bars))
    if (sprite !== null) draw(frame, sprite, { ...moved, opacity: motion.opacity, rotation: 0 })
  }

  async #videoSprite(layer: VideoLayer, index: number, used: Map<string, Sprite | null>): Promise<Sprite> {
    const { end, start } = spanOf(layer, this.#painter.page)
    const clip = this.#clips.get(layer) ?? (await Clip.open(layer, end - start, this.#context))
    this.#clips.set(layer, clip)
    const size = clipSize(layer)
    const data = await clip.frame(index)
    const { fit = 'cover', left, radius = 0, top } = layer
    const place = { ...size, left: Math.round(left), top: Math.round(top) }
    if (radius === 0) return { ...place, data, opaque: fit === 'cover' }
    const mask = await this.#kept(`mask ${this.#number(layer)}`, used, () => this.#painter.cornersOf(layer, size))
    return { ...place, data: mask === null ? data : masked(data, mask), opaque: false }
  }

  /** A sprite of the last frame, or a new one. */
  async #kept(
    key: string,
    used: Map<string, Sprite | null>,
    make: () => Promise<Sprite | undefined>,
  ): Promise<Sprite | null> {
    const known = this.#sprites.get(key)
    const sprite = known === undefined ? ((await make()) ?? null) : known
    used.set(key, sprite)
    return sprite
  }

  /** Ends decoders of layers that are not shown any more. */
  async #closeEnded(index: number): Promise<void> {
    for (const [layer, clip] of this.#clips) {
      if (spanOf(layer, this.#painter.page).end * FRAMES_PER_SECOND > index) continue
      this.#clips.delete(layer)
      await clip.close()
    }
  }
}

function isApart({ layer, motion }: Shown): boolean {
  return motion.moving || layer.kind === 'video' || layer.kind === 'waveform'
}

/** Pixels with the opacity of a mask of the same size. */
function masked(data: Uint8Array, { data: mask }: Bitmap): Uint8Array {
  const copy = Uint8Array.from(data)
  for (let at = 3; at < copy.length; at += 4) copy[at] = ((copy[at] ?? 0) * (mask[at] ?? 0)) / 255
  return copy
}
