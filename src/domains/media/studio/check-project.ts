import type { FieldError } from './field-error.ts'
import type { LayerKind, ProjectData, StudioLayerData } from './schemas.ts'

/** Fields that a layer must have and can have, beyond those of every layer. */
const FIELDS: Readonly<Record<LayerKind, { readonly required: readonly Own[]; readonly optional: readonly Own[] }>> = {
  text: {
    required: ['text', 'fontSize', 'color'],
    optional: ['fontWeight', 'align', 'verticalAlign', 'lineHeight', 'shrink', 'boxColor'],
  },
  picture: { required: ['assetId'], optional: ['fit', 'radius'] },
  box: { required: ['color'], optional: ['radius'] },
}
const COMMON = ['kind', 'left', 'top', 'width', 'height', 'opacity', 'rotation', 'startSeconds', 'endSeconds'] as const
type Own = Exclude<keyof StudioLayerData, (typeof COMMON)[number]>

/** What is wrong with the layers of a project, each with the JSON pointer of the layer's field. */
export function checkProject(data: ProjectData, pointer: string): FieldError[] {
  return layersOf(data, pointer).flatMap(({ at, layer }) => checkLayer(layer, at))
}

/** A use of an asset in a project, with the JSON pointer of what uses it. */
export interface ProjectAsset {
  readonly at: string
  readonly assetId: string
  readonly kind: 'image' | 'audio'
  /** Undefined for the sound of the whole project. */
  readonly pageIndex: number | undefined
}

/** The layers that show an asset, and the sound. */
export function assetsOf(data: ProjectData, pointer = ''): ProjectAsset[] {
  const pictures = layersOf(data, pointer).flatMap(({ at, layer: { assetId }, pageIndex }): ProjectAsset[] =>
    assetId === undefined ? [] : [{ at, assetId, pageIndex, kind: 'image' }],
  )
  if (data.sound === undefined) return pictures
  return [...pictures, { at: `${pointer}/sound`, assetId: data.sound.assetId, pageIndex: undefined, kind: 'audio' }]
}

function layersOf(data: ProjectData, pointer: string) {
  return data.pages.flatMap((page, pageIndex) =>
    page.layers.map((layer, index) => ({ layer, pageIndex, at: `${pointer}/pages/${pageIndex}/layers/${index}` })),
  )
}

function checkLayer(layer: StudioLayerData, at: string): FieldError[] {
  const { optional, required } = FIELDS[layer.kind]
  const allowed = new Set<string>([...COMMON, ...required, ...optional])
  const missing = required.filter((field) => layer[field] === undefined)
  const unknown = Object.keys(layer).filter((field) => !allowed.has(field))
  const { endSeconds, startSeconds = 0 } = layer
  const late = endSeconds !== undefined && endSeconds <= startSeconds
  return [
    ...(late ? [{ path: `${at}/endSeconds`, code: 'order', message: 'must be after startSeconds' }] : []),
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
