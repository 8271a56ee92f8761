import { schedule } from '../core/job.ts'
import type { TurnOutcomes } from './turn-outcomes.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly turnOutcomes: TurnOutcomes
  }
}

export const forgetOutcomes = schedule({
  name: 'turns.forget-outcomes',
  summary: 'Delete outcomes of turns that are too old to be asked for again',
  cron: '* * * * *',
  run: async ({ turnOutcomes }) => void (await turnOutcomes.sweep()),
})
