import { systemTurn } from '../../../core/system-turn.ts'

/** Tells live clients that a reading that a user asked for has ended. */
export const announceReading = systemTurn<{ readonly accountId: string }>({
  name: 'analytics.announce',
  run: ({ analytics, input, turn }) => analytics.actions.announce(turn, input.accountId),
})
