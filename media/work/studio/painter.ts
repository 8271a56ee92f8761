import { Renderer } from '@takumi-rs/core'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { charactersWithoutFont, FontShelf } from './fonts.ts'
import { pageNode, textNode, type Media } from './nodes.ts'
import { openPictures } from './pictures.ts'
import type { Scene, SceneLayer, ScenePage, TextLayer } from './scene.ts'
import { isShown } from './times.ts'

/** The size to which a text shrinks at most. */
const LEAST_FONT_SIZE = 4
/** Steps of the search for the size of a shrunk text: the result is at most 1/64 of its range too small. */
const SIZE_STEPS = 6
const CACHE_BYTES = 32 * 2 ** 20
const MOST_LISTED = 5

let renderer: Renderer | undefined
let shelf: FontShelf | undefined

/** A page with everything that its pixels need: fonts, decoded pictures and the sizes of shrunk texts. */
export class PagePainter {
  readonly #page: ScenePage
  readonly #renderer: Renderer
  readonly #media: Media
  readonly #sizes: ReadonlyMap<SceneLayer, number>

  private constructor(page: ScenePage, with_: { renderer: Renderer; media: Media; sizes: Map<SceneLayer, number> }) {
    this.#page = page
    this.#renderer = with_.renderer
    this.#media = with_.media
    this.#sizes = with_.sizes
  }

  /** @throws MediaWorkError that begins with the pointer of the layer that causes it */
  static async open(scene: Scene, index: number, context: WorkContext): Promise<PagePainter> {
    const page = pageOf(scene, index)
    // One for the process: it has the decoded fonts. Only texts are cached, because pictures have no addresses.
    renderer ??= new Renderer({ cacheMaxBytes: CACHE_BYTES })
    shelf ??= new FontShelf(renderer)
    const texts = page.layers.filter((layer) => layer.kind === 'text')
    page.layers.forEach((layer, at) => checkFonts(layer, `/pages/${index}/layers/${at}/text`))
    await shelf.require(texts.map(({ text }) => text))
    const sizes = new Map<SceneLayer, number>()
    for (const layer of texts) if (layer.shrink === true) sizes.set(layer, await fittingSize(layer, renderer, context))
    const media = await openPictures(page, `/pages/${index}`, context)
    return new PagePainter(page, { renderer, media, sizes })
  }

  /** The pixels of the page at a time, as RGBA with straight alpha. @throws MediaWorkError */
  async paint(signal: AbortSignal, seconds = 0): Promise<Buffer> {
    const { height, layers, width } = this.#page
    const shown = layers.filter((layer) => isShown(layer, seconds))
    const node = pageNode(this.#page, shown, { media: this.#media, sizes: this.#sizes })
    return this.#renderer.render(node, { width, height, format: 'raw', signal })
  }
}

/** @throws MediaWorkError */
export function pageOf({ pages }: Scene, index: number): ScenePage {
  const page = pages[index]
  if (page === undefined) throw new MediaWorkError('invalid_settings', `There is no page ${index + 1}.`)
  return page
}

function checkFonts(layer: SceneLayer, pointer: string): void {
  if (layer.kind !== 'text') return
  const without = charactersWithoutFont(layer.text)
  if (without.length === 0) return
  const listed = without.slice(0, MOST_LISTED).join(' ')
  throw new MediaWorkError('invalid_settings', `${pointer}: No font of this server has these characters: ${listed}`)
}

/** The largest size, up to its own, in which a text fits the height and width of its layer. */
async function fittingSize(layer: TextLayer, renderer: Renderer, { signal }: WorkContext): Promise<number> {
  const fits = async (fontSize: number) => {
    const { height, runs, width } = await renderer.measure(textNode(layer, layer.width, fontSize), { signal })
    return height <= layer.height && width <= layer.width && runs.every((run) => run.width <= layer.width)
  }
  if (await fits(layer.fontSize)) return layer.fontSize
  let [least, most] = [Math.min(LEAST_FONT_SIZE, layer.fontSize), layer.fontSize]
  for (let step = 0; step < SIZE_STEPS; step += 1) {
    const middle = (least + most) / 2
    if (await fits(middle)) least = middle
    else most = middle
  }
  return least
}
