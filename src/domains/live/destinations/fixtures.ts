import {
  make,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const rows: Rows = {
  rtmp_destinations: rtmpDestination,
}

export const lists: Lists<typeof operations> = {
  listRtmpDestinations: times(rtmpDestination),
}

export function rtmpDestination(stage: Stage): Promise<string> {
  const body = {
    workspaceId: stage.workspaceId,
    name: newName('server'),
    url: 'rtmp://93.184.216.34/live',
    streamKey: 'secret-key',
  }
  return make(stage, 'POST /api/streams/rtmp-destinations', body)
}

export const fixtures: Fixtures<typeof operations> = {
  // A server that cannot be reached, so that the example shows what to do.
  testRtmpDestination: async (stage) => {
    const { workspaceId } = stage
    const body = {
      workspaceId,
      name: newName('server'),
      url: 'rtmp://live.example.invalid/app',
      streamKey: 'secret-key',
    }
    return { path: { id: await make(stage, 'POST /api/streams/rtmp-destinations', body) } }
  },
}
