import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { Envelope, Input, ListOf, Text, Type } from '../../../core/schema.ts'
import { BlogArticle, BlogCategory, BlogListQuery, BlogPostView } from './schemas.ts'

const PostPath = Input({ slug: Text(1, 100) })
const example = { path: { slug: 'how-to-go-live-everywhere' } }

export const listBlogCategories = operation({
  route: 'GET /api/blog/categories',
  summary: 'List the categories of the blog',
  description: 'Only published posts count.',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  returns: { 200: Envelope(Type.Array(BlogCategory)) },
  example: {},
  handle: ({ blog }) => blog.reader.categories(),
})

export const listBlogPosts = operation({
  route: 'GET /api/blog/posts',
  summary: 'List the posts of the blog',
  description: 'Published posts, newest first. Takes either `page` or `cursor`.',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  query: BlogListQuery,
  returns: { 200: ListOf(BlogPostView) },
  example: { query: { page: 1, limit: 10 } },
  handle: ({ blog, query }) => blog.reader.posts(query),
})

export const getBlogPost = operation({
  route: 'GET /api/blog/posts/{slug}',
  summary: 'Get a post of the blog',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  path: PostPath,
  returns: { 200: Envelope(BlogArticle) },
  errors: [NotFound],
  example,
  handle: ({ blog, path }) => blog.reader.article(path.slug),
})

export const getBlogPage = operation({
  route: 'GET /api/blog/posts/{slug}/page',
  summary: 'Get a post of the blog as an HTML page',
  description: 'With Open Graph values, for readers and for the previews of other sites.',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  path: PostPath,
  returns: { 200: { contentType: 'text/html' } },
  errors: [NotFound],
  example,
  handle: ({ blog, path }) => blog.reader.page(path.slug),
})

export const getBlogRss = operation({
  route: 'GET /api/blog/feed.rss',
  summary: 'Get the newest posts of the blog as RSS',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  returns: { 200: { contentType: 'application/rss+xml' } },
  example: {},
  handle: ({ blog }) => blog.reader.feed('rss'),
})

export const getBlogAtom = operation({
  route: 'GET /api/blog/feed.atom',
  summary: 'Get the newest posts of the blog as Atom',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  returns: { 200: { contentType: 'application/atom+xml' } },
  example: {},
  handle: ({ blog }) => blog.reader.feed('atom'),
})

export const getBlogJsonFeed = operation({
  route: 'GET /api/blog/feed.json',
  summary: 'Get the newest posts of the blog as JSON Feed',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  returns: { 200: { contentType: 'application/feed+json' } },
  example: {},
  handle: ({ blog }) => blog.reader.feed('json'),
})

export const getBlogSitemap = operation({
  route: 'GET /api/blog/sitemap.xml',
  summary: 'Get the addresses of all posts of the blog for search engines',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  returns: { 200: { contentType: 'application/xml' } },
  example: {},
  handle: ({ blog }) => blog.reader.sitemap(),
})
