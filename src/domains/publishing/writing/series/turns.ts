import { systemTurn } from '../../../../core/system-turn.ts'

/** Makes the posts of a series that are due to be made. Does nothing if another turn has made them. */
export const makeOccurrencesTurn = systemTurn<{ readonly seriesId: string }>({
  name: 'posts.make_occurrences',
  run: ({ input, turn, writing }) => writing.seriesRunner.run(turn, input.seriesId),
})

/** Pauses the series whose author has lost access. */
export const checkAuthorsTurn = systemTurn<object>({
  name: 'posts.check_authors',
  run: ({ turn, writing }) => writing.seriesRunner.checkAuthors(turn),
})
