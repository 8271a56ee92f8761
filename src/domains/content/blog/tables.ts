import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'

/** A post of the blog. */
export const BlogPost = defineEntity({
  name: 'BlogPost',
  tableName: 'blog_posts',
  indexes: [{ name: 'blog_posts_by_publication', properties: ['publishedAt'] }],
  properties: {
    id: p.uuid().primary(),
    slug: p.text().unique('blog_posts_slug_key'),
    title: p.text(),
    summary: p.text(),
    /** Markdown. */
    body: p.text(),
    author: p.text(),
    categoryNames: p.array().columnType('text[]').defaultRaw(`'{}'`),
    imageUrl: p.text().nullable(),
    imageAlt: p.text().default(''),
    /** When it becomes public. Null for a draft. */
    publishedAt: timestamp().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const blogPosts = table(BlogPost)
export type BlogPostRow = Row<typeof BlogPost>
