import type { Turn } from '../../../core/turn.ts'
import { ownerIds } from '../../workspace/workspaces/index.ts'
import { notify } from '../notifications/index.ts'
import { webhookDisabledNotification } from './notifications.ts'
import type { DisabledReason } from './states.ts'
import type { WebhookRow } from './tables.ts'

/** Tells the owners of the workspace, and who created the webhook, that it was disabled. */
export async function notifyDisabled(
  turn: Turn,
  { createdBy, id, url }: WebhookRow,
  cause: Exclude<DisabledReason, 'by_member'>,
): Promise<void> {
  notify(turn, webhookDisabledNotification, {
    to: [...(await ownerIds(turn.sql, turn.workspaceId)), createdBy],
    data: { webhookId: id, host: new URL(url).host, cause },
  })
}
