import type { Fixtures, Stage } from '../../../../test/support/stage.ts'
import { asset, examined } from '../../media/assets/fixtures.ts'
import { assetFiles, assets } from '../../media/assets/tables.ts'
import { announceMedia } from '../media-nodes/fixtures.ts'
import { stream } from '../streams/fixtures.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  broadcastFile: async (stage) => {
    announceMedia(stage)
    return { body: { assetId: await playableAsset(stage) } }
  },
  getBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) } }),
  updateBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) }, body: { loop: true } }),
  cancelBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) }, once: true }),
}

/** Creates an asset that looks like a video that platforms accept. */
async function playableAsset(stage: Stage): Promise<string> {
  const id = await asset(stage)
  // Otherwise the result of the examination could replace the one below.
  await examined(stage)
  const probe = { streaming: { faults: [], seconds: 120, keyframeIntervalSeconds: 2 } }
  const { database } = stage.app
  const file = await assets.first(database, { id }, { columns: ['fileId'] })
  await assetFiles.update(database, { id: file!.fileId }, { kind: 'video', probe: probe as never })
  await assets.update(database, { id }, { kind: 'video' })
  return id
}

async function scheduledBroadcast(stage: Stage): Promise<string> {
  const id = await stream(stage)
  const reply = await stage.app.send('POST /api/streams/{id}/broadcast', {
    apiKey: stage.owner.apiKey,
    path: { id },
    body: { assetId: await playableAsset(stage), scheduledFor: '2099-01-01T00:00:00Z' },
  })
  if (reply.status !== 201) throw new Error(`a broadcast for a fixture: ${reply.text}`)
  return id
}
