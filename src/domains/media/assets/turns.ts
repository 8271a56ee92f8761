import { systemTurn } from '../../../core/system-turn.ts'
import { requireStillMember } from '../../workspace/workspaces/index.ts'
import type { Examined, NewAsset } from './library.ts'
import type { Made } from './rendition-orders.ts'
import type { AssetData } from './schemas.ts'

/** Turns that the service asks for by itself, when a file has come or was looked at. */

/** @throws AppError not_found, forbidden when the uploader has left or lost the scope while the file came, plan_limit_reached (the tags) */
export const addAsset = systemTurn<NewAsset, { asset: AssetData; fileId: string }>({
  name: 'assets.add',
  run: async ({ turn, input, assets }) => {
    await requireStillMember(turn, input.userId, 'media:write')
    await assets.library.requireTags(turn.sql, turn.workspaceId, input.tags)
    return assets.library.add(turn, input)
  },
})

/** @throws AppError not_found when the upload or the member is gone meanwhile, forbidden, conflict */
export const confirmUpload = systemTurn<{ readonly uploadId: string; readonly userId: string }, AssetData>({
  name: 'assets.confirm',
  run: async ({ turn, input, assets }) => {
    await requireStillMember(turn, input.userId, 'media:write')
    return assets.newAssets.confirm(turn, input.uploadId)
  },
})

export const noteExamined = systemTurn<Examined>({
  name: 'assets.examined',
  run: async ({ turn, input, assets }) => assets.library.noteExamined(turn, input),
})

/** @returns false when nobody wants the rendition any more */
export const noteRendition = systemTurn<Made, boolean>({
  name: 'assets.rendered',
  run: async ({ turn, input, assets }) => assets.renditions.note(turn, input),
})

export const assetTurns = [addAsset, confirmUpload, noteExamined, noteRendition]
