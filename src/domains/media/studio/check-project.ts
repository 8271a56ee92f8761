import { MAX_FIELD_ERRORS, type FieldError } from '../../../core/error.ts'
import { DEFAULT_PAGE_SECONDS, type LayerKind, type ProjectData, type StudioLayerData } from './schemas.ts'

const PLACE = ['left', 'top', 'width', 'height'] as const
const SHOWN = ['opacity', 'rotation'] as const
const COMMON = ['kind', 'startSeconds', 'endSeconds', 'enter', 'exit'] as const
type Field = keyof StudioLayerData

/** Fields that a layer must have and can have, beyond those of every layer. */
const FIELDS: Readonly<
  Record<LayerKind, { readonly required: readonly Field[]; readonly optional: readonly Field[] }>
> = {
  text: {
    required: [...PLACE, 'text', 'fontSize', 'color'],
    optional: [...SHOWN, 'fontWeight', 'align', 'verticalAlign', 'lineHeight', 'shrink', 'boxColor'],
  },
  picture: { required: [...PLACE, 'assetId'], optional: [...SHOWN, 'fit', 'radius'] },
  box: { required: [...PLACE, 'color'], optional: [...SHOWN, 'radius', 'endColor'] },
  video: { required: [...PLACE, 'assetId'], optional: [...SHOWN, 'fit', 'radius', 'fromSeconds', 'volume'] },
  waveform: {
    required: [...PLACE, 'assetId', 'color', 'restColor'],
    optional: [...SHOWN, 'barCount', 'barRange', 'fromSeconds'],
  },
  sound: { required: ['assetId'], optional: ['fromSeconds', 'volume'] },
}

/** How many videos a page can have. A separate process decodes each. */
const MAX_VIDEOS = 4
/** Sounds and videos of a project, which are mixed at once. */
const MAX_SOUNDS = 40
/** Pixels of the different pictures and videos of a page, which are in memory at once. Media work has the same limit. */
const MAX_MEDIA_PIXELS = 40_000_000

type Page = ProjectData['pages'][number]
interface PlacedLayer {
  readonly layer: StudioLayerData
  readonly page: Page
  readonly pageIndex: number
  readonly at: string
}

/**
 * What is wrong with the pages and layers of a project, each with the JSON pointer of the field. The search ends when
 * as many errors are found as a reply shows.
 */
export function checkProject(data: ProjectData, pointer: string): FieldError[] {
  return faultsOf(data, pointer).take(MAX_FIELD_ERRORS).toArray()
}

function* faultsOf(data: ProjectData, pointer: string): Generator<FieldError> {
  for (const [index, page] of data.pages.entries()) yield* checkSize(page, `${pointer}/pages/${index}`)
  const layers = layersOf(data, pointer)
  for (const placed of layers) yield* [...checkFields(placed), ...checkTimes(placed), ...checkAnimations(placed)]
  const pages = Map.groupBy(layers, ({ pageIndex }) => pageIndex)
  for (const onPage of pages.values()) yield* checkMedia(onPage)
  const heard = layers.filter(({ layer: { kind } }) => kind === 'sound' || kind === 'video')
  yield* tooMany(heard, MAX_SOUNDS, `makes more than ${MAX_SOUNDS} sounds and videos in the project`)
}

export type AssetKind = 'image' | 'video' | 'audio'

/** A use of an asset in a project, with the JSON pointer of what uses it. */
export interface ProjectAsset {
  readonly at: string
  readonly assetId: string
  readonly kinds: readonly AssetKind[]
  /** Undefined for the sound of the whole project. */
  readonly pageIndex: number | undefined
  /** Whether the asset is only heard, so that pictures do not need it. */
  readonly isOnlyHeard: boolean
  readonly fromSeconds: number
}

const ASSET_KINDS: Readonly<Record<LayerKind, readonly AssetKind[]>> = {
  text: [],
  box: [],
  picture: ['image'],
  video: ['video'],
  waveform: ['audio', 'video'],
  sound: ['audio', 'video'],
}

/** The layers that show or play an asset, and the sound. */
export function assetsOf(data: ProjectData, pointer = ''): ProjectAsset[] {
  const used = layersOf(data, pointer).flatMap(({ at, layer, pageIndex }): ProjectAsset[] => {
    const { assetId, fromSeconds = 0, kind } = layer
    if (assetId === undefined) return []
    return [{ at, assetId, pageIndex, fromSeconds, kinds: ASSET_KINDS[kind], isOnlyHeard: kind === 'sound' }]
  })
  if (data.sound === undefined) return used
  const { assetId } = data.sound
  const sound = { pageIndex: undefined, fromSeconds: 0, isOnlyHeard: true }
  return [...used, { at: `${pointer}/sound`, assetId, kinds: ['audio', 'video'], ...sound }]
}

function layersOf(data: ProjectData, pointer: string): PlacedLayer[] {
  return data.pages.flatMap((page, pageIndex) =>
    page.layers.map((layer, index) => ({
      layer,
      page,
      pageIndex,
      at: `${pointer}/pages/${pageIndex}/layers/${index}`,
    })),
  )
}

/** A page has either a format, or a width and a height. */
function checkSize({ height, pageFormat, width }: Page, at: string): FieldError[] {
  if (pageFormat !== undefined) {
    const given = Object.entries({ height, width }).filter(([, value]) => value !== undefined)
    const message = 'must be left out, because `pageFormat` sets it'
    return given.map(([field]) => ({ path: `${at}/${field}`, code: 'unknown', message }))
  }
  const missing = Object.entries({ height, width }).filter(([, value]) => value === undefined)
  const message = 'is required for a page without `pageFormat`'
  return missing.map(([field]) => ({ path: `${at}/${field}`, code: 'required', message }))
}

function checkFields({ at, layer }: PlacedLayer): FieldError[] {
  const { optional, required } = FIELDS[layer.kind]
  const allowed = new Set<string>([...COMMON, ...required, ...optional])
  const missing = required.filter((field) => layer[field] === undefined)
  const unknown = Object.keys(layer).filter((field) => !allowed.has(field))
  return [
    ...missing.map((field) => ({
      path: `${at}/${field}`,
      code: 'required',
      message: `is required for a layer of the kind ${layer.kind}`,
    })),
    ...unknown.map((field) => ({
      path: `${at}/${field}`,
      code: 'unknown',
      message: `is not a field of a layer of the kind ${layer.kind}`,
    })),
  ]
}

/** The times of a layer are within its page. */
function checkTimes({ at, layer: { endSeconds, startSeconds = 0 }, page }: PlacedLayer): FieldError[] {
  const { seconds = DEFAULT_PAGE_SECONDS } = page
  const error = (field: string, code: string, message: string) => [{ path: `${at}/${field}`, code, message }]
  if (startSeconds >= seconds) return error('startSeconds', 'range', `must be before the end of the page, ${seconds}`)
  if (endSeconds === undefined) return []
  if (endSeconds <= startSeconds) return error('endSeconds', 'order', 'must be after startSeconds')
  if (endSeconds > seconds) return error('endSeconds', 'range', `must be at most ${seconds}, when the page ends`)
  return []
}

/** Animations are within the times of their layer, and a sound can only fade. */
function checkAnimations({ at, layer, page: { seconds = DEFAULT_PAGE_SECONDS } }: PlacedLayer): FieldError[] {
  const { endSeconds = seconds, enter, exit, kind, startSeconds = 0 } = layer
  const shown = endSeconds - startSeconds
  const given = { enter, exit }
  const errors: FieldError[] = []
  for (const [name, animation] of Object.entries(given)) {
    if (animation === undefined) continue
    const { effect, side } = animation
    const path = `${at}/${name}`
    if (kind === 'sound' && effect !== 'fade') {
      errors.push({ path: `${path}/effect`, code: 'unknown', message: 'must be fade for a sound' })
    }
    if (side !== undefined && effect !== 'slide') {
      errors.push({ path: `${path}/side`, code: 'unknown', message: 'is only a field of the effect slide' })
    }
  }
  if (shown > 0 && (enter?.seconds ?? 0) + (exit?.seconds ?? 0) > shown + 1e-6) {
    const name = enter === undefined ? 'exit' : 'enter'
    const message = `takes longer than the layer is shown, which is ${shown} s`
    errors.push({ path: `${at}/${name}/seconds`, code: 'range', message })
  }
  return errors
}

/** The pictures and videos of a page are not too many and not too large. */
function checkMedia(layers: readonly PlacedLayer[]): FieldError[] {
  const videos = layers.filter(({ layer: { kind } }) => kind === 'video')
  const sizes = new Set<string>()
  let pixels = 0
  for (const { at, layer } of layers) {
    const { assetId, fit, height = 0, kind, width = 0 } = layer
    if (kind !== 'picture' && kind !== 'video') continue
    const key = [assetId, width, height, fit, kind].join(' ')
    if (!sizes.has(key)) pixels += width * height
    sizes.add(key)
    if (pixels <= MAX_MEDIA_PIXELS) continue
    const message = `makes more than ${MAX_MEDIA_PIXELS / 1e6} million pixels of pictures and videos on the page`
    return [{ path: `${at}/width`, code: 'range', message }]
  }
  return tooMany(videos, MAX_VIDEOS, `makes more than ${MAX_VIDEOS} videos on the page`)
}

function tooMany(layers: readonly PlacedLayer[], most: number, message: string): FieldError[] {
  const [first] = layers.slice(most)
  return first === undefined ? [] : [{ path: first.at, code: 'count', message }]
}
