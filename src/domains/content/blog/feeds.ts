import { cleanText } from '../../../tools/clean-text.ts'
import { escapeHtml } from '../../../tools/html.ts'
import { element, xmlDocument, type XmlElement } from '../../../tools/xml.ts'
import type { BlogArticleData } from './schemas.ts'

export type FeedFormat = 'rss' | 'atom' | 'json'

/** The path of a feed. */
export const FEED_PATHS: Readonly<Record<FeedFormat, string>> = {
  rss: '/api/blog/feed.rss',
  atom: '/api/blog/feed.atom',
  json: '/api/blog/feed.json',
}

interface Site {
  readonly title: string
  readonly publicUrl: string
}

const GENERATOR = 'Crier'

/** RSS 2.0, Atom (RFC 4287) or JSON Feed 1.1 of posts, newest first. */
export function feedOf(
  format: FeedFormat,
  posts: readonly BlogArticleData[],
  site: Site,
): { readonly content: string; readonly contentType: string } {
  if (format === 'rss') {
    return { content: xmlDocument(rssOf(posts, site)), contentType: 'application/rss+xml; charset=utf-8' }
  }
  if (format === 'atom') {
    return { content: xmlDocument(atomOf(posts, site)), contentType: 'application/atom+xml; charset=utf-8' }
  }
  return { content: jsonOf(posts, site), contentType: 'application/feed+json' }
}

/**
 * RSS 2.0 with the modules `atom`, `content` and `dc`, as the RSS Advisory Board's profile recommends. A title is plain
 * text, and a description is HTML.
 */
function rssOf(posts: readonly BlogArticleData[], site: Site): XmlElement {
  const items = posts.map((post) =>
    element(
      'item',
      {},
      text('title', post.title),
      text('link', post.url),
      element('guid', { isPermaLink: 'false' }, idOf(post)),
      text('pubDate', rfc822(post.publishedAt)),
      ...(post.author === '' ? [] : [text('dc:creator', post.author)]),
      ...post.categories.map(({ name }) => text('category', name)),
      text('description', escapeHtml(post.summary)),
      text('content:encoded', post.html),
      ...pictureOf(post).map(({ type, url }) => element('enclosure', { url, length: '0', type })),
    ),
  )
  return element(
    'rss',
    {
      version: '2.0',
      'xmlns:atom': 'http://www.w3.org/2005/Atom',
      'xmlns:content': 'http://purl.org/rss/1.0/modules/content/',
      'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
    },
    element(
      'channel',
      {},
      text('title', site.title),
      text('link', site.publicUrl),
      element('atom:link', { rel: 'self', href: addressOf('rss', site), type: 'application/rss+xml' }),
      text('description', escapeHtml(site.title)),
      text('lastBuildDate', rfc822(lastChange(posts))),
      text('docs', 'https://www.rssboard.org/rss-specification'),
      text('generator', GENERATOR),
      ...items,
    ),
  )
}

/** Atom. Titles and summaries are plain text, which readers show as it is. */
function atomOf(posts: readonly BlogArticleData[], site: Site): XmlElement {
  const entries = posts.map((post) =>
    element(
      'entry',
      {},
      element('title', { type: 'text' }, post.title),
      text('id', idOf(post)),
      element('link', { href: post.url }),
      text('updated', post.updatedAt > post.publishedAt ? post.updatedAt : post.publishedAt),
      text('published', post.publishedAt),
      ...(post.author === '' ? [] : [element('author', {}, text('name', post.author))]),
      ...post.categories.map(({ name, slug }) => element('category', { term: slug, label: name })),
      element('summary', { type: 'text' }, post.summary),
      element('content', { type: 'html' }, post.html),
      ...pictureOf(post).map(({ type, url }) => element('link', { rel: 'enclosure', href: url, type })),
    ),
  )
  return element(
    'feed',
    { xmlns: 'http://www.w3.org/2005/Atom' },
    element('title', { type: 'text' }, site.title),
    text('id', addressOf('atom', site)),
    element('link', { href: site.publicUrl }),
    element('link', { rel: 'self', href: addressOf('atom', site), type: 'application/atom+xml' }),
    text('updated', lastChange(posts)),
    // A feed names an author if one of its entries does not (RFC 4287, 4.1.1).
    element('author', {}, text('name', site.title)),
    text('generator', GENERATOR),
    ...entries,
  )
}

/** JSON Feed 1.1 (jsonfeed.org/version/1.1). */
function jsonOf(posts: readonly BlogArticleData[], site: Site): string {
  const items = posts.map((post) => ({
    id: idOf(post),
    url: post.url,
    title: post.title,
    summary: post.summary,
    content_html: post.html,
    ...(post.imageUrl !== null && { image: post.imageUrl }),
    date_published: post.publishedAt,
    date_modified: post.updatedAt > post.publishedAt ? post.updatedAt : post.publishedAt,
    ...(post.author !== '' && { authors: [{ name: post.author }] }),
    tags: post.categories.map(({ name }) => name),
  }))
  const feed = {
    version: 'https://jsonfeed.org/version/1.1',
    title: site.title,
    home_page_url: site.publicUrl,
    feed_url: addressOf('json', site),
    items,
  }
  return JSON.stringify(feed, (_, value: unknown) => (typeof value === 'string' ? cleanText(value) : value), 2)
}

function text(name: string, content: string): XmlElement {
  return element(name, {}, content)
}

function idOf({ _id }: BlogArticleData): string {
  return `urn:uuid:${_id}`
}

function addressOf(format: FeedFormat, { publicUrl }: Site): string {
  return publicUrl + FEED_PATHS[format]
}

function lastChange(posts: readonly BlogArticleData[]): string {
  const last = posts
    .map(({ updatedAt }) => updatedAt)
    .toSorted()
    .at(-1)
  return last ?? new Date(0).toISOString()
}

/** A time as RFC 822 writes it, with a year of four digits. */
function rfc822(time: string): string {
  return new Date(time).toUTCString()
}

const PICTURE_TYPES: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
}

/** The picture of a post, if its address says of which type it is: an enclosure needs one. */
function pictureOf({ imageUrl }: BlogArticleData): { url: string; type: string }[] {
  if (imageUrl === null) return []
  const type = PICTURE_TYPES[/\.(\w+)(?:[?#]|$)/.exec(imageUrl)?.[1]?.toLowerCase() ?? '']
  return type === undefined ? [] : [{ url: imageUrl, type }]
}
