import { systemTurn } from '../../../core/system-turn.ts'
import type { DisabledReason } from './states.ts'

/** Disables a webhook whose endpoint cannot get events, and tells the owners of the workspace. */
export const disableTurn = systemTurn<{ readonly webhookId: string; readonly reason: DisabledReason }>({
  name: 'webhooks.disable',
  run: ({ input, turn, webhooks }) => webhooks.service.disable(turn, input.webhookId, input.reason),
})
