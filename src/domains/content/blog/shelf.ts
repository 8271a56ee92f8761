import type { Clock } from '../../../core/clock.ts'
import { PublicContent, type Edition, type LoadedContent } from '../../../coordination/public-content.ts'
import type { Logger } from '../../../core/log.ts'
import { anyOf, not } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { PostFiles } from './files.ts'
import type { BlogCategoryData, BlogPostData } from './schemas.ts'
import { categorySlug } from './slug.ts'
import { blogPosts, type BlogPostRow } from './tables.ts'

/** The published posts, newest first, and what is derived from them. */
export interface Shelf {
  readonly posts: readonly BlogPostData[]
  readonly bySlug: ReadonlyMap<string, BlogPostData>
  readonly categories: readonly BlogCategoryData[]
  /** The Markdown of posts from files, by id. Others are in the database. */
  readonly bodies: ReadonlyMap<string, string>
}

const COLUMNS = [
  ...(['id', 'slug', 'title', 'summary', 'author', 'categoryNames', 'imageUrl', 'imageAlt'] as const),
  ...(['publishedAt', 'version', 'createdAt', 'updatedAt'] as const),
] as const

type Row = Pick<BlogPostRow, (typeof COLUMNS)[number]>

/** What follows from the text of a post. */
interface Facts {
  readonly version: string
  readonly beginning: string
  readonly minutes: number
}

/** Characters of a summary that was made from the text. */
const SUMMARY_LENGTH = 240

/** The public posts of the database and of the folder of files, in memory. */
export class BlogShelf {
  readonly #database: Foundation['database']
  readonly #clock: Clock
  readonly #log: Logger
  readonly #files: PostFiles | undefined
  readonly #urlOf: (slug: string) => string
  readonly #facts = new Map<string, Facts>()
  readonly content: PublicContent<Shelf>

  constructor(
    foundation: Pick<Foundation, 'clock' | 'config' | 'coordination' | 'database' | 'log'>,
    urlOf: (slug: string) => string,
  ) {
    const { clock, config, coordination, database, log } = foundation
    this.#database = database
    this.#clock = clock
    this.#log = log
    this.#urlOf = urlOf
    this.#files = config.BLOG_DIR === undefined ? undefined : new PostFiles(config.BLOG_DIR, log)
    this.content = new PublicContent({ name: 'blog', coordination, clock, load: () => this.#load() })
  }

  /** The HTML of a published post. Undefined if it was deleted meanwhile. */
  async htmlOf({ value }: Edition<Shelf>, post: BlogPostData): Promise<string | undefined> {
    const body = value.bodies.get(post._id) ?? (await this.#body(post._id))
    if (body === undefined) return undefined
    const { renderMarkdown } = await import('./markdown.ts')
    return renderMarkdown(body, post.url)
  }

  async #body(id: string): Promise<string | undefined> {
    return (await blogPosts.first(this.#database, { id }, { columns: ['body'] }))?.body
  }

  async #load(): Promise<LoadedContent<Shelf>> {
    const now = this.#clock.now()
    const stored: Row[] = await blogPosts.find(this.#database, { publishedAt: not(null) }, { columns: COLUMNS })
    const files = (await this.#files?.posts()) ?? []
    const slugs = new Set(stored.map(({ slug }) => slug))
    for (const { slug } of files) {
      if (slugs.has(slug))
        this.#log.warn({ slug }, 'two posts of the blog have the same slug. The one in the database is shown')
    }
    const fromFiles = files.filter(({ publishedAt, slug }) => publishedAt !== null && !slugs.has(slug))
    const bodies = new Map(fromFiles.map(({ body, id }) => [id, body]))
    const dated = [...stored, ...fromFiles]
    const due = dated.filter(({ publishedAt }) => Date.parse(publishedAt ?? '') <= now)
    await this.#learn(due, bodies)
    const posts = due.map((row) => this.#view(row)).toSorted(newestFirst)
    const later = dated.map(({ publishedAt }) => Date.parse(publishedAt ?? '')).filter((at) => at > now)
    const value = {
      posts,
      bySlug: new Map(posts.map((post) => [post.slug, post])),
      categories: categoriesOf(posts),
      bodies,
    }
    return { value, until: later.length === 0 ? undefined : later.reduce((first, at) => Math.min(first, at)) }
  }

  /** Reads the texts of posts that are new or have changed. */
  async #learn(rows: readonly Row[], bodies: ReadonlyMap<string, string>): Promise<void> {
    const current = new Set(rows.map(({ id }) => id))
    for (const id of this.#facts.keys()) if (!current.has(id)) this.#facts.delete(id)
    const unknown = rows.filter((row) => this.#facts.get(row.id)?.version !== versionOf(row))
    if (unknown.length === 0) return
    const { beginningOf, readingMinutes, renderMarkdown } = await import('./markdown.ts')
    for (let start = 0; start < unknown.length; start += 100) {
      const batch = unknown.slice(start, start + 100)
      const ids = batch.map(({ id }) => id).filter((id) => !bodies.has(id))
      const found =
        ids.length === 0 ? [] : await blogPosts.find(this.#database, { id: anyOf(ids) }, { columns: ['id', 'body'] })
      const texts = new Map([...bodies, ...found.map(({ body, id }) => [id, body] as const)])
      for (const row of batch) {
        const html = renderMarkdown(texts.get(row.id) ?? '', this.#urlOf(row.slug))
        const facts = { beginning: beginningOf(html, SUMMARY_LENGTH), minutes: readingMinutes(html) }
        this.#facts.set(row.id, { version: versionOf(row), ...facts })
      }
    }
  }

  #view({ id, categoryNames, summary, ...row }: Row): BlogPostData {
    const facts = this.#facts.get(id)
    const { author, createdAt, imageAlt, imageUrl, publishedAt, slug, title, updatedAt } = row
    return {
      _id: id,
      slug,
      title,
      summary: summary === '' ? (facts?.beginning ?? '') : summary,
      author,
      categories: categoryNames.map((name) => ({ slug: categorySlug(name), name })),
      imageUrl,
      imageAlt,
      url: this.#urlOf(slug),
      readingMinutes: facts?.minutes ?? 1,
      publishedAt: publishedAt ?? createdAt,
      createdAt,
      updatedAt,
    }
  }
}

function versionOf({ updatedAt, version }: Row): string {
  return `${version} ${updatedAt}`
}

function newestFirst(one: BlogPostData, other: BlogPostData): number {
  if (one.publishedAt !== other.publishedAt) return one.publishedAt < other.publishedAt ? 1 : -1
  return one._id < other._id ? 1 : -1
}

/** Categories by name. Names with the same slug are one category, under the name of its newest post. */
function categoriesOf(posts: readonly BlogPostData[]): BlogCategoryData[] {
  const found = new Map<string, { slug: string; name: string; postsCount: number }>()
  for (const { categories } of posts) {
    for (const [slug, name] of new Map(categories.map((category) => [category.slug, category.name]))) {
      const category = found.get(slug) ?? { slug, name, postsCount: 0 }
      category.postsCount += 1
      found.set(slug, category)
    }
  }
  return [...found.values()].toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
}
