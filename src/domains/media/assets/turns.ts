import { systemTurn } from '../../../core/system-turn.ts'
import { requireStillMember } from '../../workspace/workspaces/index.ts'
import type { Examination, NewAsset } from './library.ts'
import type { RenditionResult } from './rendition-requests.ts'
import type { AssetData } from './schemas.ts'

/** System turns: they follow an upload, an examination or a transcode. */

/** @throws AppError not_found or forbidden if the uploader left or lost the scope during the upload, plan_limit_reached (the tags) */
export const addAsset = systemTurn<NewAsset, { asset: AssetData; fileId: string }>({
  name: 'assets.add',
  run: async ({ turn, input, assets }) => {
    await requireStillMember(turn, input.userId, 'media:write')
    await assets.library.requireTags(turn.sql, turn.workspaceId, input.tags)
    return assets.library.add(turn, input)
  },
})

/** @throws AppError not_found if the upload was deleted or the member has left, forbidden, conflict */
export const confirmUpload = systemTurn<{ readonly uploadId: string; readonly userId: string }, AssetData>({
  name: 'assets.confirm',
  run: async ({ turn, input, assets }) => {
    await requireStillMember(turn, input.userId, 'media:write')
    return assets.assetUploads.confirm(turn, input.uploadId)
  },
})

export const recordExamination = systemTurn<Examination>({
  name: 'assets.examined',
  run: async ({ turn, input, assets }) => assets.library.recordExamination(turn, input),
})

/** @returns false if the rendition has been deleted */
export const recordRendition = systemTurn<RenditionResult, boolean>({
  name: 'assets.rendered',
  run: async ({ turn, input, assets }) => assets.renditions.record(turn, input),
})

export const assetTurns = [addAsset, confirmUpload, recordExamination, recordRendition]
