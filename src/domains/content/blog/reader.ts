import type { Edition } from '../../../coordination/public-content.ts'
import { NotFound } from '../../../core/errors.ts'
import { pageOfAll } from '../../../core/page-of-all.ts'
import { list, ok, reply, serialized, type RawBody } from '../../../core/reply.ts'
import { feedOf, type FeedFormat } from './feeds.ts'
import { articlePage, openGraphOf, PAGE_HEADERS } from './pages.ts'
import type { BlogArticleData, BlogListQueryData, BlogPostData } from './schemas.ts'
import type { BlogShelf, Shelf } from './shelf.ts'
import { sitemapOf } from './sitemap.ts'

/** Posts in a feed. */
const FEED_POSTS = 30

/** The blog as the public reads it. Replies are serialized once and kept in memory. */
export class BlogReader {
  readonly #shelf: BlogShelf
  readonly #site: { readonly title: string; readonly publicUrl: string }

  constructor(shelf: BlogShelf, site: { readonly title: string; readonly publicUrl: string }) {
    this.#shelf = shelf
    this.#site = site
  }

  categories() {
    return this.#cached('categories', (edition) => ok('Categories of the blog', [...edition.value.categories]).body)
  }

  posts(query: BlogListQueryData) {
    const { category = '', cursor = '', limit = 30, page = 1 } = query
    return this.#cached(`posts ${limit} ${page} ${cursor} ${category}`, ({ value }) => this.#page(value, query))
  }

  /** @throws AppError not_found, also for drafts and posts that are not public yet */
  article(slug: string) {
    return this.#article(`post ${slug}`, slug, articleBody, serialized<ReturnType<typeof articleBody>>)
  }

  /** The page of a post. @throws AppError not_found */
  page(slug: string) {
    const page = (article: BlogArticleData) => articlePage(article, this.#site)
    return this.#article(`page ${slug}`, slug, page, (body) => reply(200, body, PAGE_HEADERS))
  }

  /** The newest posts for feed readers. */
  async feed(format: FeedFormat) {
    const edition = await this.#shelf.content.read()
    const kept = edition.kept(format)
    if (kept) return reply(200, kept)
    const posts: BlogArticleData[] = []
    for (const post of edition.value.posts.slice(0, FEED_POSTS)) {
      const html = await this.#shelf.htmlOf(edition, post)
      if (html !== undefined) posts.push({ ...post, html, openGraph: {} })
    }
    const { content, contentType } = feedOf(format, posts, this.#site)
    return reply(200, edition.keep(format, content, contentType))
  }

  async sitemap() {
    const edition = await this.#shelf.content.read()
    const kept = edition.kept('sitemap')
    if (kept) return reply(200, kept)
    return reply(200, edition.keep('sitemap', await sitemapOf(edition.value.posts), 'application/xml'))
  }

  #page({ posts }: Shelf, query: BlogListQueryData) {
    const { category } = query
    const wanted = category?.toLowerCase()
    const found = wanted === undefined ? posts : posts.filter((post) => isIn(post, wanted))
    return list(
      'Posts of the blog',
      pageOfAll(found, query, ({ _id: id, publishedAt }) => ({ createdAt: publishedAt, id })),
    ).body
  }

  /** Returns at once if the reply is in memory. */
  #cached<B extends object>(key: string, make: (edition: Edition<Shelf>) => B) {
    const answer = (edition: Edition<Shelf>) => serialized<B>(edition.kept(key) ?? edition.keep(key, make(edition)))
    const edition = this.#shelf.content.read()
    return edition instanceof Promise ? edition.then(answer) : answer(edition)
  }

  #article<R>(
    key: string,
    slug: string,
    make: (article: BlogArticleData) => object | string,
    send: (body: RawBody) => R,
  ) {
    const edition = this.#shelf.content.read()
    const kept = edition instanceof Promise ? undefined : edition.kept(key)
    return kept ? send(kept) : this.#made(edition, key, slug, make).then(send)
  }

  async #made(
    reading: Edition<Shelf> | Promise<Edition<Shelf>>,
    key: string,
    slug: string,
    make: (article: BlogArticleData) => object | string,
  ): Promise<RawBody> {
    const edition = await reading
    const kept = edition.kept(key)
    if (kept) return kept
    const post = edition.value.bySlug.get(slug)
    const html = post && (await this.#shelf.htmlOf(edition, post))
    if (post === undefined || html === undefined) throw NotFound()
    const made = make({ ...post, html, openGraph: openGraphOf(post, this.#site.title) })
    return edition.keep(key, made, typeof made === 'string' ? 'text/html; charset=utf-8' : undefined)
  }
}

function articleBody(article: BlogArticleData) {
  return ok('Post', article).body
}

function isIn({ categories }: BlogPostData, slug: string): boolean {
  return categories.some((category) => category.slug === slug)
}
