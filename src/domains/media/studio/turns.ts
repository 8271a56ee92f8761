import { systemTurn } from '../../../core/system-turn.ts'
import type { RenderOutcome } from './renders/outcome.ts'

/** Ends a rendering. @returns the ids of files that no asset uses */
export const recordStudioRender = systemTurn<
  { readonly studioRenderId: string; readonly outcome: RenderOutcome },
  readonly string[]
>({
  name: 'studio.record',
  run: async ({ turn, input, studio }) => studio.renders.record(turn, input.studioRenderId, input.outcome),
})
