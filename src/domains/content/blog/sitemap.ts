import { escapeHtml } from '../../../core/html.ts'
import type { BlogPostData } from './schemas.ts'

/** A sitemap has at most this many addresses (sitemaps.org). */
const MOST_URLS = 50_000

/** The addresses of posts for search engines. */
export function sitemapOf(posts: readonly BlogPostData[]): string {
  const urls = posts
    .slice(0, MOST_URLS)
    .map(({ updatedAt, url }) => `<url><loc>${escapeHtml(url)}</loc><lastmod>${updatedAt}</lastmod></url>`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('\n')}
</urlset>
`
}
