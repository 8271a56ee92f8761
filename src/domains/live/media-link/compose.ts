import type { Renditions } from '../../media/assets/index.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Switches } from '../../../core/ports.ts'
import { SealedBox } from '../../../core/sealed-box.ts'
import type { Database } from '../../../db/database.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { MemberCache } from '../../workspace/workspaces/memberships.ts'
import type { WorkspaceService } from '../../workspace/workspaces/service.ts'
import {
  PlatformChooser,
  StreamingUsage,
  StreamLifecycle,
  StreamService,
  StreamSessions,
  takeOffStreams,
} from '../streams/index.ts'
import { DesiredStates } from './desired-states.ts'
import { RtmpDestinations } from '../destinations/index.ts'
import { FileBroadcasts, stopBroadcast } from '../playout/index.ts'
import { MediaDirectory, Placement, StreamNotices } from '../media-nodes/index.ts'
import { recordingsOfSessions } from '../recording/index.ts'
import { type OpenPreview, Previews, type WhepLink } from '../previews/index.ts'
import { RelayStatus } from './relay-status.ts'
import { WhipService, type AskWhip } from './whip.ts'

export interface LiveNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly secret: string
  readonly plans: PlanService
  readonly switches: Switches
  readonly memberships: MemberCache
  readonly workspaces: WorkspaceService
  readonly rtmpUrl: string
  readonly publicUrl: string
  readonly openPreview: OpenPreview
  readonly whep: WhepLink
  readonly askWhip: AskWhip
  /** Values of Link that help clients of WHIP and WHEP to connect. */
  readonly whipLinks: readonly string[]
  readonly renditions: Renditions
  readonly allowPrivateAddresses: boolean
  readonly log: Logger
}

/** Builds the services of live streams, and what the media link of a node needs. */
export function composeLive(needs: LiveNeeds) {
  const { clock, coordination, database, memberships, plans, secret, switches, workspaces } = needs
  const ingestKeys = new SealedBox(secret, 'ingest keys')
  const destinationKeys = new SealedBox(secret, 'destination keys')
  const mediaNodes = new MediaDirectory(clock, coordination)
  const placement = new Placement(mediaNodes, clock, needs.rtmpUrl)
  const notices = new StreamNotices(coordination)
  const now = () => new Date(clock.now())
  const lifecycle = new StreamLifecycle({
    clock,
    plans,
    media: mediaNodes,
    notices,
    placement,
    workspacesOwnedBy: async (sql, userId) =>
      (await workspaces.ofUser(userId, sql)).flatMap(({ id, ownerId }) => (ownerId === userId ? [id] : [])),
    onEnd: (turn, streamId) => stopBroadcast(turn.sql, streamId, now()),
  })
  const streams = new StreamService({
    sql: database,
    clock,
    keys: ingestKeys,
    chooser: new PlatformChooser(clock, plans),
    plans,
    lifecycle,
    notices,
    placement,
    publicUrl: needs.publicUrl,
  })
  const desiredStates = new DesiredStates({ sql: database, clock, switches, plans, keys: destinationKeys })
  const previews = new Previews({
    sql: database,
    clock,
    coordination,
    tokens: new SealedBox(secret, 'preview tokens'),
    media: mediaNodes,
    memberships,
    open: needs.openPreview,
    whep: needs.whep,
    links: needs.whipLinks,
    publicUrl: needs.publicUrl,
    log: needs.log,
  })
  workspaces.onDelete((turn) => streams.endAll(turn))
  // Recordings outlive their stream, and have no key to the workspace yet.
  return {
    services: {
      streams,
      lifecycle,
      fileBroadcasts: new FileBroadcasts({
        sql: database,
        clock,
        lifecycle,
        media: mediaNodes,
        notices,
        renditions: needs.renditions,
      }),
      mediaNodes,
      placement,
      previews,
      whip: new WhipService({ desired: desiredStates, media: mediaNodes, ask: needs.askWhip, links: needs.whipLinks }),
      rtmpDestinations: new RtmpDestinations({
        sql: database,
        clock,
        keys: destinationKeys,
        plans,
        allowPrivateAddresses: needs.allowPrivateAddresses,
        takeOffStreams: (turn, id) => takeOffStreams(turn, id, now()),
      }),
      relayStatus: new RelayStatus(database, mediaNodes, memberships),
      streamSessions: new StreamSessions(database, clock, recordingsOfSessions),
      streamingUsage: new StreamingUsage(database, clock, plans, (userId) => workspaces.ofUser(userId)),
    },
    notices,
    desiredStates,
    close: () => {
      previews.close()
      mediaNodes.close()
    },
  }
}
