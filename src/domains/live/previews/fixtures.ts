import type { Fixtures, Stage } from '../../../../test/support/stage.ts'
import { stream } from '../streams/fixtures.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  previewStream: async () => ({ error: 'conflict' }),
  whepPlay: async (stage) => ({ ...(await whepCredential(stage, 'application/sdp')), error: 'conflict' }),
  whepDelete: async (stage) => ({ ...(await whepCredential(stage)), error: 'conflict' }),
}

/** A credential that plays a stream without a publisher by WHEP. */
async function whepCredential(stage: Stage, contentType?: string) {
  const id = await stream(stage)
  const { apiKey } = stage.owner
  const reply = await stage.app.send('POST /api/streams/{id}/preview-token', { apiKey, path: { id } })
  const { token } = reply.body.data as { token: string }
  const headers = { Authorization: `Bearer ${token}`, ...(contentType && { 'Content-Type': contentType }) }
  return { path: { id }, as: { headers } }
}
