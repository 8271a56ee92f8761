import { PIXEL } from '../../../../../test/support/pixel.ts'
import {
  inWorkspace,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const rows: Rows = {
  uploads: sentUpload,
}

export const fixtures: Fixtures<typeof operations> = {
  createUpload: async (stage) => ({ body: { ...inWorkspace(stage), ...NEW_UPLOAD } }),
  putUpload: async (stage) => {
    const as = { headers: { 'Content-Type': 'image/png' } }
    const { pathname, searchParams } = new URL((await openUpload(stage)).url)
    return {
      path: { uploadId: pathname.split('/').at(-2) ?? '' },
      query: Object.fromEntries(searchParams),
      body: PIXEL,
      as,
    }
  },
}

export const lists: Lists<typeof operations> = {
  listUploads: times(openUpload),
}

export const NEW_UPLOAD = { name: 'pixel.png', size: PIXEL.length, type: 'image/png' }

async function openUpload(stage: Stage): Promise<{ uploadId: string; url: string }> {
  const { app, owner } = stage
  const body = { ...inWorkspace(stage), ...NEW_UPLOAD }
  const reply = await app.send('POST /api/assets/signed-upload', { apiKey: owner.apiKey, body })
  return reply.body.data
}

/** Creates an upload with all its bytes received. */
async function sentUpload(stage: Stage): Promise<string> {
  const { uploadId, url } = await openUpload(stage)
  const reply = await fetch(url, { method: 'PUT', body: PIXEL, headers: { 'Content-Type': 'image/png' } })
  if (reply.status !== 200) throw new Error(`an upload for a fixture: ${await reply.text()}`)
  return uploadId
}
