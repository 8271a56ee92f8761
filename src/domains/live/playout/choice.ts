import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { examineAsset, fileKey } from '../../media/assets/index.ts'
import { UnfitFile } from './errors.ts'
import type { ItemInputData, NewBroadcastData } from './schemas.ts'
import type { BroadcastItem } from './store.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly file_id: string
  readonly kind: string
  readonly seconds: number | null
  readonly state: string
  readonly error: string | null
  readonly streaming: { readonly faults: readonly string[]; readonly seconds: number } | null
  readonly examined: boolean
}

interface RenditionRow {
  readonly id: string
  readonly asset_id: string
  readonly name: string
  readonly state: string
  readonly type: string | null
  readonly seconds: number | null
}

/** The files that a request names. @throws AppError validation_failed unless it names one, or a list */
export function namedItems({ assetId, items, renditionId }: NewBroadcastData): readonly ItemInputData[] {
  if ((assetId === undefined) === (items === undefined)) {
    const message = 'Name one file with `assetId`, or several with `items`.'
    throw ValidationFailed({ message, errors: [{ path: '/body/assetId', code: 'required', message }] })
  }
  if (items !== undefined) return items
  return [{ assetId: assetId ?? '', ...(renditionId !== undefined && { renditionId }) }]
}

/** Has a rendition made that platforms take, or finds it. */
export type Prepare = (assetId: string) => Promise<{ readonly id: string; readonly isNew: boolean }>

/**
 * Finds the files and refuses those that no platform would take, by what looking at them has brought.
 * @param at where the list stands in the request, for the error
 * @param prepare what is done with such a file instead of refusing it
 * @throws AppError not_found, conflict while a file is still being looked at, unfit_file, and what `prepare` throws
 */
export async function chooseItems(
  turn: Turn,
  wanted: readonly ItemInputData[],
  at: string,
  prepare?: Prepare,
): Promise<BroadcastItem[]> {
  const assets = await assetsOf(turn, wanted)
  const renditions = await renditionsOf(turn, wanted)
  const items: BroadcastItem[] = []
  for (const [index, { assetId, renditionId }] of wanted.entries()) {
    const asset = assets.get(assetId)
    if (asset === undefined) throw NotFound({ message: `There is no asset ${assetId} (${at}/${index}).` })
    if (renditionId !== undefined) items.push(renditionItem(turn, asset, renditions.get(renditionId)))
    else items.push(await assetItem(turn, asset, prepare))
  }
  return items
}

async function assetItem(turn: Turn, asset: Row, prepare: Prepare | undefined): Promise<BroadcastItem> {
  const { faults, seconds } = suitabilityOf(turn, asset)
  const item = { assetId: asset.id, name: asset.name }
  if (faults.length === 0) {
    return { ...item, renditionId: null, seconds, key: fileKey(turn.workspaceId, asset.file_id) }
  }
  if (prepare === undefined) {
    throw UnfitFile({
      message: `“${asset.name}” cannot be broadcast as it is. ${faults.join(' ')} Make a rendition of it and broadcast that.`,
    })
  }
  const { id, isNew } = await prepare(asset.id)
  const key = fileKey(turn.workspaceId, id)
  return { ...item, renditionId: id, seconds: asset.seconds, key, prepared: isNew ? 'ordered' : 'found' }
}

/** What looking at a file said of streaming it. @throws AppError unfit_file, conflict */
function suitabilityOf(turn: Turn, asset: Row): NonNullable<Row['streaming']> {
  if (asset.kind !== 'video') throw UnfitFile({ message: `“${asset.name}” is no video.` })
  if (asset.streaming === null) {
    if (asset.state === 'failed') throw UnfitFile({ message: `“${asset.name}” cannot be read: ${asset.error}` })
    // Looked at before there was anything to say of streaming.
    if (asset.examined) turn.job(examineAsset, { fileId: asset.file_id }, { key: asset.file_id })
    throw Conflict({ message: `“${asset.name}” is still being looked at: try again in a moment.` })
  }
  return asset.streaming
}

function renditionItem(turn: Turn, asset: Row, rendition: RenditionRow | undefined): BroadcastItem {
  if (rendition?.asset_id !== asset.id) throw NotFound({ message: `“${asset.name}” has no such rendition.` })
  if (rendition.state !== 'ready') {
    throw Conflict({ message: `The rendition ${rendition.name} of “${asset.name}” is ${rendition.state}.` })
  }
  if (rendition.type !== 'video/mp4') {
    throw UnfitFile({ message: `The rendition ${rendition.name} of “${asset.name}” is no MP4 video.` })
  }
  const { id: renditionId, name, seconds } = rendition
  const key = fileKey(turn.workspaceId, renditionId)
  return { assetId: asset.id, renditionId, name: `${asset.name} (${name})`, seconds, key }
}

async function assetsOf(turn: Turn, wanted: readonly ItemInputData[]): Promise<ReadonlyMap<string, Row>> {
  const rows = await turn.sql.rows<Row>(
    `select a.id, a.name, a.file_id, f.kind, f.seconds, f.thumbnail_state as state, f.thumbnail_error as error,
       nullif(f.probe->'streaming', 'null') as streaming, f.probe is not null as examined
     from assets a join asset_files f on f.id = a.file_id
     where a.workspace_id = $1 and a.id = any($2) and a.deleted_at is null`,
    [turn.workspaceId, wanted.map(({ assetId }) => assetId)],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

async function renditionsOf(turn: Turn, wanted: readonly ItemInputData[]): Promise<ReadonlyMap<string, RenditionRow>> {
  const ids = wanted.flatMap(({ renditionId }) => renditionId ?? [])
  if (ids.length === 0) return new Map()
  const rows = await turn.sql.rows<RenditionRow>(
    'select id, asset_id, name, state, type, seconds from asset_renditions where workspace_id = $1 and id = any($2)',
    [turn.workspaceId, ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}
