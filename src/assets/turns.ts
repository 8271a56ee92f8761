import { systemTurn } from '../core/system-turn.ts'
import type { Examined, NewAsset } from './library.ts'
import type { Made } from './renditions.ts'
import type { AssetData } from './schemas.ts'

/** Turns that the service asks for by itself, when a file has come or was looked at. */

export const addAsset = systemTurn<NewAsset, { asset: AssetData; fileId: string }>({
  name: 'assets.add',
  run: async ({ turn, input, assets }) => assets.add(turn, input),
})

/** @throws AppError not_found when the upload was dropped meanwhile, conflict */
export const confirmUpload = systemTurn<{ readonly uploadId: string }, AssetData>({
  name: 'assets.confirm',
  run: async ({ turn, input, assetUploads }) => assetUploads.confirm(turn, input.uploadId),
})

export const noteExamined = systemTurn<Examined>({
  name: 'assets.examined',
  run: async ({ turn, input, assets }) => assets.noteExamined(turn, input),
})

/** @returns false when nobody wants the rendition any more */
export const noteRendition = systemTurn<Made, boolean>({
  name: 'assets.rendered',
  run: async ({ turn, input, renditions }) => renditions.note(turn, input),
})

export const assetTurns = [addAsset, confirmUpload, noteExamined, noteRendition]
