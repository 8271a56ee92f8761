import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import {
  examineAsset,
  fileKey,
  playableAssets,
  playableRenditions,
  type PlayableAsset,
  type PlayableRendition,
  type StreamingFacts,
} from '../../media/assets/index.ts'
import { UnfitFile } from './errors.ts'
import type { ItemInputData, NewBroadcastData } from './schemas.ts'
import type { BroadcastItem } from './tables.ts'

/** The files that a request names. @throws AppError validation_failed unless it has exactly one of `assetId` and `items` */
export function namedItems({ assetId, items, renditionId }: NewBroadcastData): readonly ItemInputData[] {
  if ((assetId === undefined) === (items === undefined)) {
    const message = 'Send either `assetId` or `items`.'
    throw ValidationFailed({ message, errors: [{ path: '/body/assetId', code: 'required', message }] })
  }
  if (items !== undefined) return items
  return [{ assetId: assetId ?? '', ...(renditionId !== undefined && { renditionId }) }]
}

/** Finds or orders the rendition of an asset that all platforms can play. */
export type Prepare = (assetId: string) => Promise<{ readonly id: string; readonly isNew: boolean }>

/**
 * Finds the files. Refuses files that not all platforms can play, according to their examination.
 * @param at JSON pointer to the list in the request, for errors
 * @param prepare converts such a file instead of refusing it
 * @throws AppError not_found, conflict while a file is being examined, unfit_file, and what `prepare` throws
 */
export async function chooseItems(
  turn: Turn,
  wanted: readonly ItemInputData[],
  at: string,
  prepare?: Prepare,
): Promise<BroadcastItem[]> {
  const { sql, workspaceId } = turn
  const assets = await playableAssets(
    sql,
    workspaceId,
    wanted.map(({ assetId }) => assetId),
  )
  const renditions = await playableRenditions(
    sql,
    workspaceId,
    wanted.flatMap(({ renditionId }) => renditionId ?? []),
  )
  const items: BroadcastItem[] = []
  for (const [index, { assetId, renditionId }] of wanted.entries()) {
    const asset = assets.get(assetId)
    if (asset === undefined) throw NotFound({ message: `There is no asset ${assetId} (${at}/${index}).` })
    if (renditionId !== undefined) items.push(renditionItem(turn, asset, renditions.get(renditionId)))
    else items.push(await assetItem(turn, asset, prepare))
  }
  return items
}

async function assetItem(turn: Turn, asset: PlayableAsset, prepare: Prepare | undefined): Promise<BroadcastItem> {
  const { faults, seconds } = suitabilityOf(turn, asset)
  const item = { assetId: asset.id, name: asset.name }
  if (faults.length === 0) {
    return { ...item, renditionId: null, seconds, key: fileKey(turn.workspaceId, asset.fileId) }
  }
  if (prepare === undefined) {
    throw UnfitFile({
      message: `“${asset.name}” cannot be broadcast as it is. ${faults.join(' ')} Make a rendition with the preset \`live\` and broadcast that.`,
    })
  }
  const { id, isNew } = await prepare(asset.id)
  const key = fileKey(turn.workspaceId, id)
  return { ...item, renditionId: id, seconds: asset.seconds, key, prepared: isNew ? 'ordered' : 'found' }
}

/** Whether a file can be streamed, according to its examination. @throws AppError unfit_file, conflict */
function suitabilityOf(turn: Turn, asset: PlayableAsset): StreamingFacts {
  if (asset.kind !== 'video') throw UnfitFile({ message: `“${asset.name}” is not a video.` })
  if (asset.streaming === null) {
    if (asset.state === 'failed') throw UnfitFile({ message: `“${asset.name}” cannot be read: ${asset.error}` })
    // An older version examined the file and did not check this.
    if (asset.examined) turn.job(examineAsset, { fileId: asset.fileId }, { key: asset.fileId })
    throw Conflict({ message: `“${asset.name}” is still being examined. Try again in a moment.` })
  }
  return asset.streaming
}

function renditionItem(turn: Turn, asset: PlayableAsset, rendition: PlayableRendition | undefined): BroadcastItem {
  if (rendition?.assetId !== asset.id) throw NotFound({ message: `“${asset.name}” has no such rendition.` })
  if (rendition.state !== 'ready') {
    throw Conflict({ message: `The rendition ${rendition.name} of “${asset.name}” is ${rendition.state}.` })
  }
  if (rendition.type !== 'video/mp4') {
    throw UnfitFile({ message: `The rendition ${rendition.name} of “${asset.name}” is not an MP4 video.` })
  }
  const { id: renditionId, name, seconds } = rendition
  const key = fileKey(turn.workspaceId, renditionId)
  return { assetId: asset.id, renditionId, name: `${asset.name} (${name})`, seconds, key }
}
