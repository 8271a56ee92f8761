import { setImmediate } from 'node:timers/promises'
import { element, xmlDocument, xmlOf } from '../../../tools/xml.ts'
import type { BlogPostData } from './schemas.ts'

/** A sitemap has at most this many addresses (sitemaps.org). */
const MAX_URLS = 50_000
/** Addresses that are written in one go: the whole takes a third of a second. */
const SLICE = 500

/** The addresses of posts for search engines. */
export async function sitemapOf(posts: readonly BlogPostData[]): Promise<string> {
  const [start = '', end = ''] = xmlDocument(
    element('urlset', { xmlns: 'http://www.sitemaps.org/schemas/sitemap/0.9' }, '|'),
  ).split('|')
  let text = start
  for (let from = 0; from < Math.min(posts.length, MAX_URLS); from += SLICE) {
    if (from > 0) await setImmediate()
    text += xmlOf(
      ...posts
        .slice(from, Math.min(from + SLICE, MAX_URLS))
        .map(({ updatedAt, url }) => element('url', {}, element('loc', {}, url), element('lastmod', {}, updatedAt))),
    )
  }
  return text + end
}
