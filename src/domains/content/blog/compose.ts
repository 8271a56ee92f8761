import type { Foundation } from '../../../foundation.ts'
import { BlogEntries } from './entries.ts'
import { BlogReader } from './reader.ts'
import { BlogShelf } from './shelf.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly blog: ReturnType<typeof composeBlog>['services']['blog']
  }
}

/** Builds the services of the blog. */
export function composeBlog(foundation: Foundation) {
  const { clock, config, database } = foundation
  const { BLOG_POST_URL, BLOG_TITLE: title, PUBLIC_URL: publicUrl } = config
  const pattern = BLOG_POST_URL ?? `${publicUrl}/api/blog/posts/{slug}/page`
  const shelf = new BlogShelf(foundation, (slug) => pattern.replaceAll('{slug}', slug))
  const blog = {
    reader: new BlogReader(shelf, { title, publicUrl }),
    entries: new BlogEntries(database, clock, () => shelf.content.changed()),
  }
  return { services: { blog }, close: () => shelf.content.close() }
}
