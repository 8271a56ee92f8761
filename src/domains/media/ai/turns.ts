import { systemTurn } from '../../../core/system-turn.ts'
import type { AiOutcome } from './outcome.ts'

/** Ends a job. It has no effect if the job has ended. */
export const recordAiJob = systemTurn<{ readonly aiJobId: string; readonly outcome: AiOutcome }>({
  name: 'ai.record',
  run: async ({ turn, input, ai }) => ai.requests.record(turn, input.aiJobId, input.outcome),
})
