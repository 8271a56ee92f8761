import type { Fixtures, Stage } from '../../../../test/support/stage.ts'
import { stream } from '../streams/fixtures.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  whipPublish: async (stage) => {
    const { as, path } = await whipCredential(stage, 'application/sdp')
    return { as, path, error: 'media_unavailable' }
  },
  whipTrickle: async (stage) => {
    const { as, path } = await whipCredential(stage, 'application/trickle-ice-sdpfrag')
    return { as, path, error: 'not_found' }
  },
  whipDelete: async (stage) => ({ ...(await whipCredential(stage)), error: 'not_found' }),
}

/** A credential that publishes an armed stream by WHIP. No media node uses it here; other tests cover media. */
async function whipCredential(stage: Stage, contentType?: string) {
  const id = await stream(stage)
  const armed = await stage.app.send('POST /api/streams/{id}/arm', { apiKey: stage.owner.apiKey, path: { id } })
  const { whipToken, whipUrl } = armed.body.data as { whipToken: string; whipUrl: string }
  const authorization = { Authorization: `Bearer ${whipToken}` }
  const headers = contentType === undefined ? authorization : { ...authorization, 'Content-Type': contentType }
  return { path: { path: whipUrl.split('/').at(-1) ?? '' }, as: { headers } }
}
