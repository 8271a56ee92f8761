import { PIXEL } from '../../../../test/support/pixel.ts'
import {
  inWorkspace,
  make,
  newName,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import { NEW_UPLOAD } from './uploads/fixtures.ts'
import type * as operations from './operations.ts'
import { assetFiles } from './tables.ts'

export const rows: Rows = {
  assets: asset,
  asset_folders: (stage) => make(stage, 'POST /api/assets/folders', { ...inWorkspace(stage), name: newName('folder') }),
}

export const fixtures: Fixtures<typeof operations> = {
  createFolder: async (stage) => ({ body: { ...inWorkspace(stage), name: newName('folder') } }),
  importAsset: async (stage) => ({
    body: { ...inWorkspace(stage), url: 'http://127.0.0.1/photo.jpg' },
    error: 'url_refused',
  }),
  createSignedUpload: async (stage) => ({ body: { ...inWorkspace(stage), ...NEW_UPLOAD } }),
}

export const lists: Lists<typeof operations> = {
  listAssets: async (stage, count) => {
    for (let made = 0; made < count; made += 1) await asset(stage)
    await examined(stage)
    return {}
  },
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

/** Waits until the files of a workspace have been examined, so that nothing about them changes later. */
export async function examined({ app, workspaceId }: Stage): Promise<void> {
  // Not by requests, because each one advances the clock of recorded examples.
  const isOver = async () => {
    const open = await assetFiles.find(app.database, { workspaceId, thumbnailState: 'pending' })
    return open.length === 0
  }
  await waitFor(isOver, { what: 'the thumbnails of the files' })
}
