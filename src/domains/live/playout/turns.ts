import { systemTurn } from '../../../core/system-turn.ts'
import type { PlayoutEvent } from './service.ts'

/** System turns that jobs and media nodes ask for. Each can run more than once. */

export const startBroadcast = systemTurn<{ readonly broadcastId: string }>({
  name: 'streams.start_broadcast',
  run: async ({ turn, input, playout }) => playout.beginDue(turn, input.broadcastId),
})

export interface BroadcastReport {
  readonly broadcastId: string
  readonly nodeId: string
  readonly event: PlayoutEvent
}

export const noteBroadcast = systemTurn<BroadcastReport>({
  name: 'streams.note_broadcast',
  run: async ({ turn, input, playout }) => playout.note(turn, input.broadcastId, input.nodeId, input.event),
})

export const broadcastTurns = [startBroadcast, noteBroadcast]
