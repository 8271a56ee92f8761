import { newName, times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as entryOperations from './entry-operations.ts'
import type * as operations from './operations.ts'

type Operations = typeof operations & typeof entryOperations

export const fixtures: Fixtures<Operations> = {
  listBlogCategories: async (stage) => {
    await post(stage)
    return {}
  },
  getBlogPost: async (stage) => ({ path: { slug: (await post(stage)).slug } }),
  getBlogPage: async (stage) => ({ path: { slug: (await post(stage)).slug } }),
  createBlogEntry: async () => ({
    body: { title: 'How to go live', slug: newName('article'), body: '## One encoder\n\nSend **one** stream.' },
  }),
  getBlogEntry: async (stage) => ({ path: { id: (await post(stage))._id } }),
  updateBlogEntry: async (stage) => ({ path: { id: (await post(stage))._id } }),
  deleteBlogEntry: async (stage) => ({ path: { id: (await post(stage))._id } }),
}

export const lists: Lists<Operations> = {
  listBlogPosts: times(post),
  listBlogEntries: times(post),
}

function post({ app }: Stage) {
  return app.composition.services.blog.entries.create({
    title: 'How to go live everywhere',
    slug: newName('article'),
    body: '## One encoder\n\nSend **one** stream. Crier sends it on.',
    categoryNames: ['Guides'],
    author: 'Ada Lovelace',
    publishedAt: new Date(app.clock.now()).toISOString(),
  })
}
