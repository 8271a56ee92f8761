import { systemTurn } from '../../../../core/system-turn.ts'
import type { MoveInput } from './mover.ts'

/** Moves the times of a post, because the rules of its zone have changed. */
export const moveTimes = systemTurn<MoveInput>({
  name: 'posts.move_times',
  run: ({ input, planning, turn }) => planning.timeMover.move(turn, input),
})
