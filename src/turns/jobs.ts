import { schedule } from '../core/job.ts'
import type { TurnOutcomes } from './turn-outcomes.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly turnOutcomes: TurnOutcomes
  }
}

export const forgetOutcomes = schedule({
  name: 'turns.forget-outcomes',
  summary: 'Delete what was kept of turns for those who ask again because a node has died',
  cron: '* * * * *',
  run: async ({ turnOutcomes }) => void (await turnOutcomes.sweep()),
})
