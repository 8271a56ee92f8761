import { systemTurn } from '../../../core/system-turn.ts'
import type { BroadcastNews } from './service.ts'

/** Turns that time and the media nodes bring about. Each may come twice. */

export const startBroadcast = systemTurn<{ readonly broadcastId: string }>({
  name: 'streams.start_broadcast',
  run: async ({ turn, input, playout }) => playout.beginDue(turn, input.broadcastId),
})

export interface BroadcastReport {
  readonly broadcastId: string
  readonly nodeId: string
  readonly news: BroadcastNews
}

export const noteBroadcast = systemTurn<BroadcastReport>({
  name: 'streams.note_broadcast',
  run: async ({ turn, input, playout }) => playout.note(turn, input.broadcastId, input.nodeId, input.news),
})

export const broadcastTurns = [startBroadcast, noteBroadcast]
