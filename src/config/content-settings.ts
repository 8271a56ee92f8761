import { fail, optional, text, withDefault } from './setting-readers.ts'

const postUrl = (value: string): string =>
  /^https?:\/\/[^/\s]+\/\S*\{slug\}\S*$/.test(value) ? value : fail('must be a URL with {slug} in its path')

/** Settings of public content. */
export const contentSettings = {
  BLOG_TITLE: {
    summary: 'Title of the blog in feeds and on its pages',
    fallback: 'Crier',
    parse: withDefault(text, 'Crier'),
  },
  BLOG_DIR: {
    summary: 'Folder of Markdown files (*.md with front matter) that are published in the blog',
    fallback: 'none',
    parse: optional(text),
  },
  BLOG_POST_URL: {
    summary: 'Address at which your site shows a post, with {slug}: https://example.com/blog/{slug}',
    fallback: 'a page of this server',
    parse: optional(postUrl),
  },
}
