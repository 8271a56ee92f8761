import { Feed } from 'feed'
import type { BlogArticleData } from './schemas.ts'

export type FeedFormat = 'rss' | 'atom' | 'json'

/** The path of a feed. */
export const FEED_PATHS: Readonly<Record<FeedFormat, string>> = {
  rss: '/api/blog/feed.rss',
  atom: '/api/blog/feed.atom',
  json: '/api/blog/feed.json',
}

/** RSS 2.0, Atom (RFC 4287) or JSON Feed 1 of posts, newest first. */
export function feedOf(
  format: FeedFormat,
  posts: readonly BlogArticleData[],
  { publicUrl, title }: { readonly title: string; readonly publicUrl: string },
): { readonly content: string; readonly contentType: string } {
  const addressOf = (one: FeedFormat) => `${publicUrl}${FEED_PATHS[one]}`
  const updated = posts
    .map((post) => post.updatedAt)
    .toSorted()
    .at(-1)
  const feed = new Feed({
    id: addressOf('atom'),
    title,
    description: title,
    link: publicUrl,
    generator: 'Crier',
    updated: new Date(updated ?? 0),
    feedLinks: { rss: addressOf('rss'), atom: addressOf('atom'), json: addressOf('json') },
  })
  for (const post of posts) {
    const { author, categories, html, imageUrl, publishedAt, summary, updatedAt, url } = post
    feed.addItem({
      id: `urn:uuid:${post._id}`,
      guid: `urn:uuid:${post._id}`,
      title: post.title,
      link: url,
      description: summary,
      content: html,
      date: new Date(updatedAt > publishedAt ? updatedAt : publishedAt),
      published: new Date(publishedAt),
      category: categories.map(({ name, slug }) => ({ name, term: slug })),
      ...(author !== '' && { author: [{ name: author }] }),
      ...(imageUrl !== null && { image: imageUrl }),
    })
  }
  if (format === 'rss') return { content: feed.rss2(), contentType: 'application/rss+xml; charset=utf-8' }
  if (format === 'atom') return { content: feed.atom1(), contentType: 'application/atom+xml; charset=utf-8' }
  return { content: feed.json1(), contentType: 'application/feed+json' }
}
