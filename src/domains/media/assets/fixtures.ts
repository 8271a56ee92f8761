import { PIXEL } from '../../../../test/support/pixel.ts'
import {
  inWorkspace,
  make,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { NEW_UPLOAD } from './uploads/fixtures.ts'
import type * as operations from './operations.ts'

export const rows: Rows = {
  assets: asset,
  asset_folders: (stage) => make(stage, 'POST /api/assets/folders', { ...inWorkspace(stage), name: newName('folder') }),
}

export const fixtures: Fixtures<typeof operations> = {
  createFolder: async (stage) => ({ body: { ...inWorkspace(stage), name: newName('folder') } }),
  createSignedUpload: async (stage) => ({ body: { ...inWorkspace(stage), ...NEW_UPLOAD } }),
}

export const lists: Lists<typeof operations> = {
  listAssets: times(asset),
}

export async function asset(stage: Stage): Promise<string> {
  const reply = await stage.app.send('POST /api/assets/upload', {
    apiKey: stage.owner.apiKey,
    body: inWorkspace(stage),
    file: { name: `${newName('picture')}.png`, content: PIXEL },
  })
  if (reply.status !== 201) throw new Error(`an asset for a fixture: ${reply.text}`)
  return reply.body.data._id
}
