import { SealedBox } from '../../../core/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { MediaNodes } from '../media-nodes/index.ts'
import { StreamLifecycle } from './lifecycle.ts'
import { PlatformChooser } from './platforms.ts'
import { StreamService } from './service.ts'
import { StreamSessions, type RecordingsOf } from './sessions.ts'
import { StreamingUsage } from './usage.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly streams: Streams
  }
}

export type Streams = ReturnType<typeof composeStreams>['services']

/** What streams need of workspaces. */
interface Workspaces {
  ofUser(userId: string, sql?: Sql): Promise<readonly { readonly id: string; readonly ownerId: string }[]>
  onDelete(hook: (turn: Turn) => Promise<void>): void
}

interface Others {
  readonly plans: PlanService
  readonly workspaces: Workspaces
  readonly mediaNodes: MediaNodes
  /** Stops the playout of a stream that ends. */
  readonly stopBroadcast: (sql: Sql, streamId: string, now: Date) => Promise<void>
  readonly recordingsOf: RecordingsOf
}

/** Builds the services of streams. */
export function composeStreams(
  { clock, config, database: sql, secret }: Foundation,
  { mediaNodes, plans, recordingsOf, stopBroadcast, workspaces }: Others,
) {
  const { directory: media, notices, placement } = mediaNodes
  const lifecycle = new StreamLifecycle({
    clock,
    plans,
    media,
    notices,
    placement,
    workspacesOwnedBy: async (tx, userId) =>
      (await workspaces.ofUser(userId, tx)).flatMap(({ id, ownerId }) => (ownerId === userId ? [id] : [])),
    onEnd: (turn, streamId) => stopBroadcast(turn.sql, streamId, new Date(clock.now())),
  })
  const catalog = new StreamService({
    sql,
    clock,
    keys: new SealedBox(secret, 'ingest keys'),
    chooser: new PlatformChooser(clock, plans),
    plans,
    lifecycle,
    notices,
    placement,
    publicUrl: config.PUBLIC_URL,
  })
  workspaces.onDelete((turn) => catalog.endAll(turn))
  return {
    services: {
      catalog,
      lifecycle,
      sessions: new StreamSessions(sql, clock, recordingsOf),
      usage: new StreamingUsage(sql, clock, plans, (userId) => workspaces.ofUser(userId)),
    },
  }
}
