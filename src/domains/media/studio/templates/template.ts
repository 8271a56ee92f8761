import type { Segment } from '../../ai/index.ts'
import { sizeOf, type PageFormat, type PageSize } from '../page-formats.ts'
import type { ProjectData, StudioLayerData, TemplateValues } from '../schemas.ts'
import { directionOfValues, type Direction } from './mirror.ts'
import { lineHeightOf } from './text-size.ts'

/** The input of a template: the values of the caller, and facts about the files that they name. */
export interface TemplateInput {
  readonly values: TemplateValues
  /** Of the sound or video. */
  readonly seconds: number
  /** Of the transcript. */
  readonly segments: readonly Segment[]
}

export type TemplateField = keyof TemplateValues

/** A template of projects. `templates/index.ts` lists them. */
export interface Template {
  readonly name: string
  readonly description: string
  /** What its projects are made for. */
  readonly format: 'png' | 'mp4'
  /** The format of its pages, unless the values have another one. */
  readonly pageFormat: PageFormat
  readonly required: readonly TemplateField[]
  /** Fields that it uses, besides those that are required, and the format and colors that all use. */
  readonly optional: readonly TemplateField[]
  readonly colors: Colors
  /** Whether the sound is played during the whole video. */
  readonly hasSound?: boolean
  build(input: TemplateInput, style: Style): ProjectData['pages']
}

export interface Colors {
  readonly backgroundColor: string
  readonly textColor: string
  readonly accentColor: string
}

/** How a template looks with the caller's values. */
export interface Style extends Colors, PageSize {
  readonly page: { readonly pageFormat: PageFormat; readonly background: string }
  /** A thousandth of the shorter side of the page. Sizes of texts and distances are multiples of it. */
  readonly unit: number
  /** The distance of texts from the edges. */
  readonly margin: number
  /** Whether pictures are better beside texts than above them. */
  readonly isWide: boolean
  /** Pages from right to left are mirrored after they are built. */
  readonly direction: Direction
}

const WIDE = 1.2

export function styleOf(template: Template, values: TemplateValues): Style {
  const { pageFormat = template.pageFormat } = values
  const size = sizeOf({ pageFormat })
  const colors = {
    backgroundColor: values.backgroundColor ?? template.colors.backgroundColor,
    textColor: values.textColor ?? template.colors.textColor,
    accentColor: values.accentColor ?? template.colors.accentColor,
  }
  const unit = Math.min(size.width, size.height) / 1000
  return {
    ...size,
    ...colors,
    page: { pageFormat, background: colors.backgroundColor },
    unit,
    margin: 80 * unit,
    isWide: size.width > WIDE * size.height,
    direction: directionOfValues(values),
  }
}

/** Pixels of the page. */
export type Place = readonly [left: number, top: number, width: number, height: number]

/** Lengths in whole pixels. */
export function place([left, top, width, height]: Place) {
  const [x, y] = [Math.round(left), Math.round(top)]
  return { left: x, top: y, width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) }
}

/** A text that becomes smaller until it fits its place. */
export function text(
  content: string,
  at: Place,
  rest: Partial<StudioLayerData> & { readonly fontSize: number; readonly color: string },
): StudioLayerData {
  const lineHeight = lineHeightOf(content, rest.lineHeight ?? 1.2)
  const fontSize = Math.round(rest.fontSize)
  return { kind: 'text', text: content, shrink: true, ...place(at), ...rest, fontSize, lineHeight }
}

export function box(at: Place, color: string, rest: Partial<StudioLayerData> = {}): StudioLayerData {
  return { kind: 'box', color, ...place(at), ...rest }
}

/** A picture that fills its place. No layer without an asset. */
export function picture(
  assetId: string | undefined,
  at: Place,
  rest: Partial<StudioLayerData> = {},
): StudioLayerData[] {
  return assetId === undefined ? [] : [{ kind: 'picture', assetId, fit: 'cover', ...place(at), ...rest }]
}

/** A layer if there is a value for it. */
export function given<Value>(value: Value | undefined, make: (value: Value) => StudioLayerData): StudioLayerData[] {
  return value === undefined ? [] : [make(value)]
}
