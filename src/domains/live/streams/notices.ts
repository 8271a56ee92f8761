import type { Static } from '../../../core/schema.ts'
import type { NotificationType } from '../../../core/notification.ts'
import type { TObject } from 'typebox'
import type { Turn } from '../../../core/turn.ts'
import { notify } from '../../talk/notifications/index.ts'
import { memberIds } from '../../workspace/workspaces/index.ts'
import { streamEnded, streamInterrupted, streamStarted } from './notifications.ts'
import type { StreamStatus } from './state.ts'
import type { StreamRow } from './store.ts'

/** Tells all members who may see it. */
export async function notifyMembers<S extends TObject>(
  turn: Turn,
  type: NotificationType<S>,
  data: Static<S>,
): Promise<void> {
  notify(turn, type, { to: await memberIds(turn.sql, turn.workspaceId), data })
}

const BY_ITSELF: readonly string[] = ['source_lost', 'minutes_used_up', 'failed']

/** Tells members that a stream is live, was interrupted, or has ended by itself. @param row as before the change */
export async function notifyStatus(
  turn: Turn,
  { id: streamId, sessionId, status: before, statusReason: cause, title: stream }: StreamRow,
  status: StreamStatus,
): Promise<void> {
  if (status === before) return
  const data = { streamId, stream }
  if (status === 'live' && sessionId === null) await notifyMembers(turn, streamStarted, data)
  if (status === 'interrupted') await notifyMembers(turn, streamInterrupted, data)
  if (status === 'ended' && cause !== null && BY_ITSELF.includes(cause)) {
    await notifyMembers(turn, streamEnded, { ...data, cause })
  }
}
