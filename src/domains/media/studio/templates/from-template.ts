import { ValidationFailed } from '../../../../core/errors.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Turn } from '../../../../core/turn.ts'
import { findTranscript } from '../../ai/index.ts'
import { findAssets } from '../../assets/index.ts'
import type { FieldError } from '../../../../core/error.ts'
import {
  MAX_PAGES,
  MAX_VIDEO_SECONDS,
  type NewFromTemplate,
  type ProjectData,
  type TemplateValues,
} from '../schemas.ts'
import { fieldsOf } from './catalog.ts'
import { TEMPLATES, type TemplateKey } from './index.ts'
import { inDirection } from './mirror.ts'
import { styleOf, type Template, type TemplateInput } from './template.ts'

const VALUES = '/body/values'
type Found = Awaited<ReturnType<typeof findAssets>>[number]

/** Makes the content of a project from a template and values. @throws AppError validation_failed */
export async function projectOf(
  turn: Turn,
  key: TemplateKey,
  { values }: Static<typeof NewFromTemplate>,
): Promise<ProjectData> {
  const template: Template = TEMPLATES[key]
  refuse(checkFields(template, values))
  const { pictureAssetIds = [], soundAssetId, transcriptId, videoAssetId } = values
  const ids = [...pictureAssetIds, ...[soundAssetId, videoAssetId].filter((id) => id !== undefined)]
  const assets = new Map((await findAssets(turn.sql, turn.workspaceId, ids)).map((asset) => [asset.id, asset]))
  refuse(checkAssets(template, values, assets))
  const transcript =
    transcriptId === undefined ? undefined : await findTranscript(turn.sql, turn.workspaceId, transcriptId)
  if (transcriptId !== undefined && transcript === undefined) {
    refuse([{ path: `${VALUES}/transcriptId`, code: 'transcript', message: 'is not a transcript of the workspace' }])
  }
  const timed = assets.get(videoAssetId ?? soundAssetId ?? '')
  const data = buildProject(template, { values, seconds: timed?.seconds ?? 0, segments: transcript?.segments ?? [] })
  if (data.pages.length > MAX_PAGES) {
    const message = `has more subtitles than fit a project of ${MAX_PAGES} pages`
    refuse([{ path: `${VALUES}/transcriptId`, code: 'count', message }])
  }
  return data
}

/** The content of a project. @param input checked values */
export function buildProject(template: Template, input: TemplateInput): ProjectData {
  const { soundAssetId } = input.values
  const isPlayed = template.hasSound === true && soundAssetId !== undefined
  const style = styleOf(template, input.values)
  const pages = inDirection(template.build(input, style), style.direction)
  return { schemaVersion: 1, pages, ...(isPlayed && { sound: { assetId: soundAssetId } }) }
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw ValidationFailed({ errors: [...errors] })
}

function checkFields(template: Template, values: TemplateValues): FieldError[] {
  const used = new Set<string>(fieldsOf(template))
  const missing = template.required.filter((field) => values[field] === undefined)
  const unknown = Object.keys(values).filter((field) => !used.has(field))
  return [
    ...missing.map((field) => ({
      path: `${VALUES}/${field}`,
      code: 'required',
      message: 'is required for this template',
    })),
    ...unknown.map((field) => ({
      path: `${VALUES}/${field}`,
      code: 'unknown',
      message: 'is not used by this template',
    })),
  ]
}

function checkAssets(template: Template, values: TemplateValues, assets: ReadonlyMap<string, Found>): FieldError[] {
  const { pictureAssetIds = [], soundAssetId, videoAssetId } = values
  const pictures = pictureAssetIds.map((id, index) => {
    const message = assets.get(id)?.kind === 'image' ? undefined : 'is not a picture of the media library'
    return { field: `pictureAssetIds/${index}`, message }
  })
  const sound = { field: 'soundAssetId', message: timedError(soundAssetId, ['audio', 'video'], assets) }
  const video = { field: 'videoAssetId', message: timedError(videoAssetId, ['video'], assets) }
  // A sound that is repeated to the end of the pictures can have any length.
  const length = {
    field: sound.field,
    message: template.hasSound === true ? undefined : lengthError(soundAssetId, assets),
  }
  return [
    ...pictures,
    sound,
    video,
    length,
    { field: video.field, message: lengthError(videoAssetId, assets) },
  ].flatMap(({ field, message }) =>
    message === undefined ? [] : [{ path: `${VALUES}/${field}`, code: 'asset', message }],
  )
}

function timedError(
  id: string | undefined,
  kinds: readonly string[],
  assets: ReadonlyMap<string, Found>,
): string | undefined {
  if (id === undefined) return undefined
  const asset = assets.get(id)
  if (asset === undefined || !kinds.includes(asset.kind))
    return `is not a ${kinds.at(0) === 'video' ? 'video' : 'sound'} of the media library`
  return asset.seconds === null ? 'was not examined yet. Try again in a moment' : undefined
}

function lengthError(id: string | undefined, assets: ReadonlyMap<string, Found>): string | undefined {
  const { seconds = 0 } = assets.get(id ?? '') ?? {}
  return (seconds ?? 0) > MAX_VIDEO_SECONDS ? `must have at most ${MAX_VIDEO_SECONDS} seconds` : undefined
}
