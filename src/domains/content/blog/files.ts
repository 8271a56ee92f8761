import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Logger } from '../../../core/log.ts'
import { validator } from '../../../core/validate.ts'
import { NewBlogEntry, type NewBlogEntryData } from './schemas.ts'
import { slugOf } from './slug.ts'
import type { BlogPostRow } from './tables.ts'

/** Larger files are reported and left out. */
const MAX_BYTES = 500_000
const MAX_FILES = 10_000

/**
 * Posts in the Markdown files of a folder. Each begins with front matter (YAML between two lines of `---`), which has the
 * fields of a post: title, publishedAt, slug, summary, author, categories, imageUrl, imageAlt. A file without
 * `publishedAt` is a draft. A file with an error is reported in the log and left out.
 */
export class PostFiles {
  readonly #folder: string
  readonly #log: Logger
  readonly #read = validator(NewBlogEntry, '')
  /** What was read, by file, so that only changed files are read again. */
  readonly #known = new Map<string, { readonly stamp: string; readonly post: BlogPostRow | undefined }>()

  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  async posts(): Promise<BlogPostRow[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      this.#log.warn({ error, folder: this.#folder }, 'the folder of the blog could not be read')
      return [...this.#known.keys()]
    })
    const files = names.filter((name) => name.endsWith('.md')).toSorted()
    if (files.length > MAX_FILES)
      this.#log.warn({ count: files.length, most: MAX_FILES }, 'the blog has too many files')
    const posts: BlogPostRow[] = []
    for (const name of files.slice(0, MAX_FILES)) {
      const post = await this.#post(name)
      if (post) posts.push(post)
    }
    return posts
  }

  async #post(name: string): Promise<BlogPostRow | undefined> {
    const path = join(this.#folder, name)
    const known = this.#known.get(name)
    try {
      const { birthtime, mtime, mtimeMs, size } = await stat(path)
      const stamp = `${mtimeMs} ${size}`
      if (known?.stamp === stamp) return known.post
      const post =
        size > MAX_BYTES
          ? this.#tooLarge(name)
          : await this.#parse(name, await readFile(path, 'utf8'), { birthtime, mtime })
      this.#known.set(name, { stamp, post })
      return post
    } catch (error) {
      this.#log.warn({ error, file: name }, 'a post of the blog could not be read')
      return known?.post
    }
  }

  #tooLarge(file: string): undefined {
    this.#log.warn({ file, most: MAX_BYTES }, 'a post of the blog is too large')
  }

  async #parse(file: string, text: string, times: { birthtime: Date; mtime: Date }): Promise<BlogPostRow | undefined> {
    const { parse } = await import('yaml')
    const [, head = '', body = ''] = /^﻿?---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text) ?? []
    const fields: unknown = parse(head, { maxAliasCount: 0 }) ?? {}
    const slug = slugOf(basename(file, '.md').replace(/^\d{4}-\d\d-\d\d-/, ''))
    const { categories, ...others } = fields as { categories?: unknown }
    const named = categories === undefined ? {} : { categoryNames: categories }
    const checked = this.#read({ slug, ...others, ...named, body: body.trim() })
    if (!checked.ok) {
      this.#log.warn({ file, errors: checked.errors }, 'a post of the blog has an error in its front matter')
      return undefined
    }
    return rowOf(file, checked.value as NewBlogEntryData & { slug: string }, times)
  }
}

function rowOf(
  file: string,
  data: NewBlogEntryData & { slug: string },
  times: { birthtime: Date; mtime: Date },
): BlogPostRow {
  const {
    author = '',
    body,
    categoryNames = [],
    imageAlt = '',
    imageUrl = null,
    publishedAt,
    slug,
    summary = '',
    title,
  } = data
  return {
    id: idOf(file),
    slug,
    title,
    summary,
    body,
    author,
    categoryNames,
    imageUrl,
    imageAlt,
    publishedAt: publishedAt === undefined || publishedAt === null ? null : new Date(publishedAt).toISOString(),
    version: 1,
    createdAt: times.birthtime.toISOString(),
    updatedAt: times.mtime.toISOString(),
  }
}

/** A UUID of version 8 that follows from the name of a file, so that all nodes give a post the same id. */
function idOf(file: string): string {
  const bytes = createHash('sha256').update(`blog ${file}`).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
