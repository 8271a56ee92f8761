import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  downloadBook: async (stage) => ({ path: { id: (await book(stage))._id } }),
  getBookEntry: async (stage) => ({ path: { id: (await book(stage))._id } }),
  updateBook: async (stage) => ({ path: { id: (await book(stage))._id } }),
  deleteBook: async (stage) => ({ path: { id: (await book(stage))._id } }),
}

export const lists: Lists<typeof operations> = {
  listBooks: times(book),
  listBookEntries: times(book),
}

function book({ app }: Stage) {
  return app.composition.services.books.entries.create({
    title: newName('book'),
    author: 'Grace Hopper',
    data: { chapters: [{ title: 'The first stream', text: 'Begin with a test.' }] },
    publishedAt: new Date(app.clock.now()).toISOString(),
  })
}
