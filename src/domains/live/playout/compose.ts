import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { PlayoutService } from './service.ts'
import { assetsInBroadcasts, stopBroadcast } from './store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly playout: PlayoutService
  }
}

/** Builds the service of the domain. */
export function composePlayout(
  { clock, database }: Foundation,
  { assets, mediaNodes, streams }: Pick<Services, 'assets' | 'mediaNodes' | 'streams'>,
) {
  const { lifecycle } = streams
  const { directory, notices } = mediaNodes
  const { renditions } = assets
  lifecycle.onEnd((turn, streamId) => stopBroadcast(turn.sql, streamId, new Date(clock.now())))
  assets.uses.register(assetsInBroadcasts)
  const playout = new PlayoutService(database, clock, { lifecycle, mediaNodes: directory, notices, renditions })
  return { services: { playout } }
}
