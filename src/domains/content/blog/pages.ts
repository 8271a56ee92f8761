import { escapeHtml } from '../../../tools/html.ts'
import { FEED_PATHS } from './feeds.ts'
import type { BlogArticleData, BlogPostData } from './schemas.ts'

/** Headers of a page of the blog. It loads pictures, and nothing else. */
export const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src https: http:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'strict-origin-when-cross-origin',
}

const STYLE = `
  :root { color-scheme: light dark; }
  body { font: 17px/1.6 system-ui, sans-serif; max-width: 42rem; margin: 0 auto; padding: 2rem 1rem; overflow-wrap: anywhere; }
  img { max-width: 100%; height: auto; }
  pre { overflow-x: auto; }
  table { display: block; overflow-x: auto; border-collapse: collapse; }
  th, td { border: 1px solid; padding: 0.25rem 0.5rem; }
`

/** The Open Graph values of a post (ogp.me). */
export function openGraphOf(post: BlogPostData, siteName: string): BlogArticleData['openGraph'] {
  const { author, categories, imageAlt, imageUrl, publishedAt, summary, title, updatedAt, url } = post
  return {
    'og:type': 'article',
    'og:title': title,
    'og:description': summary,
    'og:url': url,
    'og:site_name': siteName,
    ...(imageUrl !== null && { 'og:image': imageUrl, ...(imageAlt !== '' && { 'og:image:alt': imageAlt }) }),
    'article:published_time': publishedAt,
    'article:modified_time': updatedAt,
    ...(author !== '' && { 'article:author': author }),
    ...(categories.length > 0 && { 'article:tag': categories.map(({ name }) => name) }),
  }
}

/** A post as a page for readers and for the previews of other sites. */
export function articlePage(
  post: BlogArticleData,
  { publicUrl, title }: { readonly title: string; readonly publicUrl: string },
): string {
  const { author, html, imageAlt, imageUrl, openGraph, publishedAt, summary, url } = post
  const metas = Object.entries(openGraph).flatMap(([property, values]) =>
    [values].flat().map((value) => `<meta property="${property}" content="${escapeHtml(value)}">`),
  )
  const card = imageUrl === null ? 'summary' : 'summary_large_image'
  const image = imageUrl === null ? '' : `<p><img src="${escapeHtml(imageUrl)}" alt="${escapeHtml(imageAlt)}"></p>`
  const byline = `<p><time datetime="${publishedAt}">${publishedAt.slice(0, 10)}</time>${author === '' ? '' : ` · ${escapeHtml(author)}`}</p>`
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(post.title)} – ${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(summary)}">
<link rel="canonical" href="${escapeHtml(url)}">
<link rel="alternate" type="application/rss+xml" href="${publicUrl}${FEED_PATHS.rss}">
<link rel="alternate" type="application/atom+xml" href="${publicUrl}${FEED_PATHS.atom}">
<link rel="alternate" type="application/feed+json" href="${publicUrl}${FEED_PATHS.json}">
<link rel="icon" href="data:,">
${metas.join('\n')}
<meta name="twitter:card" content="${card}">
<style>${STYLE}</style>
</head>
<body>
<main>
<article>
<h1>${escapeHtml(post.title)}</h1>
${byline}
${image}
${html}
</article>
</main>
</body>
</html>
`
}
