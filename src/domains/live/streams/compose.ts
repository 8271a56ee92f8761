import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { StreamLifecycle } from './lifecycle.ts'
import { PlatformChooser } from './platforms.ts'
import { StreamService } from './service.ts'
import { StreamSessions } from './sessions.ts'
import { assetsInSlates } from './slate.ts'
import { followDestination, liveStreamWith, takeOffStreams } from './take-off.ts'
import { StreamingUsage } from './usage.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly streams: Streams
  }
}

type Streams = ReturnType<typeof composeStreams>['services']['streams']

/** Builds the services of streams. */
export function composeStreams(
  foundation: Foundation,
  {
    assets,
    destinations,
    mediaNodes,
    plans,
    workspaces: { service: workspaces },
  }: Pick<Services, 'assets' | 'destinations' | 'mediaNodes' | 'plans' | 'workspaces'>,
) {
  const { clock, config, database, secret } = foundation
  const { directory: media, notices, placement } = mediaNodes
  const lifecycle = new StreamLifecycle({
    clock,
    plans,
    media,
    notices,
    placement,
    workspacesOwnedBy: async (tx, userId) =>
      (await workspaces.ofUser(userId, tx)).flatMap(({ id, ownerId }) => (ownerId === userId ? [id] : [])),
  })
  const catalog = new StreamService({
    ...foundation,
    keys: new SealedBox(secret, 'ingest keys'),
    chooser: new PlatformChooser(clock, plans),
    plans,
    lifecycle,
    notices,
    placement,
    publicUrl: config.PUBLIC_URL,
  })
  workspaces.onDelete((turn) => catalog.endAll(turn))
  destinations.rtmp.onDelete((turn, id) => takeOffStreams(turn, id, new Date(clock.now())))
  destinations.rtmp.onChange((turn, changed) =>
    followDestination(turn, changed, { notices, now: new Date(clock.now()) }),
  )
  destinations.tests.liveStream.provide(liveStreamWith)
  assets.uses.register(assetsInSlates)
  const streams = {
    catalog,
    lifecycle,
    sessions: new StreamSessions(database, clock),
    usage: new StreamingUsage(database, clock, plans, (userId) => workspaces.ofUser(userId)),
  }
  return { services: { streams } }
}
