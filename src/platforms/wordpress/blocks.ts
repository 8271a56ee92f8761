import type { PostMedia } from '../content.ts'
import { escapeHtml } from '../../tools/html.ts'
import { textOfHtml } from '../fingerprint.ts'

/** A file in the media library of a site. */
export interface Uploaded {
  readonly id: number
  readonly url: string
}

const MAX_TITLE = 60
const URLS = /https?:\/\/[^\s<>"]*[^\s<>".,;:!?'’)\]}…]/gi
/** The beginnings of the blocks that show files. A gallery contains image blocks. */
const MEDIA_BLOCK = /<!-- wp:(gallery|image|video|file)\b/g

/**
 * Text for HTML. Brackets are escaped as well, because WordPress runs `[gallery]` as a shortcode. With three digits, as
 * WordPress writes them (wp_kses_normalize_entities).
 */
export function escapeText(text: string): string {
  return escapeHtml(text).replaceAll('[', '&#091;').replaceAll(']', '&#093;')
}

/** The blocks of a plain text: a paragraph where empty lines are, with its URLs as links. */
export function textBlocks(text: string, link = ''): string {
  const paragraphs = text.replaceAll(/\r\n?/g, '\n').split(/\n{2,}/)
  if (link !== '' && !text.includes(link)) paragraphs.push(link)
  return paragraphs
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => `<!-- wp:paragraph -->\n<p>${linked(one).replaceAll('\n', '<br>')}</p>\n<!-- /wp:paragraph -->`)
    .join('\n\n')
}

function linked(text: string): string {
  let html = ''
  let at = 0
  for (const { 0: url, index } of text.matchAll(URLS)) {
    const href = escapeText(url)
    html += `${escapeText(text.slice(at, index))}<a href="${href}">${href}</a>`
    at = index + url.length
  }
  return html + escapeText(text.slice(at))
}

/**
 * The blocks of the files of a post: several images are a gallery, then videos and documents, each in the order of the
 * post. They have the form in which the editor of WordPress 6 saves them.
 * @param uploaded the files in the media library, in the same order
 */
export function mediaBlocks(media: readonly PostMedia[], uploaded: readonly Uploaded[]): string {
  const files = media.flatMap((file, index) => {
    const stored = uploaded[index]
    return stored === undefined ? [] : [{ ...file, stored }]
  })
  const images = files.filter(isImage).map(({ altText = '', stored }) => imageBlock(stored, altText))
  const others = files.flatMap(({ kind, name, stored }) => {
    if (kind === 'video') return [videoBlock(stored)]
    return kind === 'document' ? [fileBlock(stored, name)] : []
  })
  return [...(images.length > 1 ? [galleryBlock(images)] : images), ...others].join('\n\n')
}

/** Whether a file is shown as an image. */
export function isImage({ kind }: Pick<PostMedia, 'kind'>): boolean {
  return kind === 'image' || kind === 'gif'
}

/** The blocks of files in the content of a post. */
export function mediaBlocksOf(content: string): string {
  return mediaSpans(content)
    .map(({ end, start }) => content.slice(start, end))
    .join('\n\n')
}

/** Where the blocks of files are. A site can return any content, so its size alone limits the time. */
function mediaSpans(content: string): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = []
  const unclosed = new Set<string>()
  let at = 0
  for (const { 0: opening, 1: kind = '', index } of content.matchAll(MEDIA_BLOCK)) {
    if (index < at || unclosed.has(kind)) continue
    const closing = `<!-- /wp:${kind} -->`
    const found = content.indexOf(closing, index + opening.length)
    if (found === -1) unclosed.add(kind)
    else {
      at = found + closing.length
      spans.push({ start: index, end: at })
    }
  }
  return spans
}

function withoutMediaBlocks(content: string): string {
  let text = ''
  let at = 0
  for (const { end, start } of mediaSpans(content)) {
    text += content.slice(at, start)
    at = end
  }
  return text + content.slice(at)
}

function withoutComments(content: string): string {
  // After the last end there are no comments, but each beginning would search the rest of the content for one.
  const last = content.lastIndexOf('-->')
  if (last === -1) return content
  const end = last + '-->\n'.length
  return content.slice(0, end).replaceAll(/<!--[\s\S]*?-->\n?/g, '') + content.slice(end)
}

/** The plain text of the content of a post. */
export function plainText(content: string): string {
  return textOfHtml(decoded(withoutComments(withoutMediaBlocks(content)))).trim()
}

/** HTML with its numeric character references replaced, which WordPress writes for quotes, dashes and brackets. */
export function decoded(html: string): string {
  return html.replaceAll(/&#(\d{1,6}|x[0-9a-f]{1,5});/gi, (_all, code: string) =>
    String.fromCodePoint(Number(/^x/i.test(code) ? `0${code}` : code)),
  )
}

/** The title of a post without one: the beginning of its text. */
export function titleFrom(text: string): string {
  const [line = ''] = text.replaceAll(URLS, '').trim().split('\n')
  const words = line.trim().split(/\s+/)
  let title = ''
  for (const word of words) {
    const longer = title === '' ? word : `${title} ${word}`
    if (Array.from(longer).length > MAX_TITLE) return title === '' ? cut(word) : `${title} …`
    title = longer
  }
  return title
}

function cut(word: string): string {
  return `${Array.from(word).slice(0, MAX_TITLE).join('')}…`
}

function imageBlock({ id, url }: Uploaded, altText: string): string {
  const image = `<img src="${escapeText(url)}" alt="${escapeText(altText)}" class="wp-image-${id}"/>`
  return `<!-- wp:image {"id":${id},"sizeSlug":"full","linkDestination":"none"} -->
<figure class="wp-block-image size-full">${image}</figure>
<!-- /wp:image -->`
}

function galleryBlock(images: readonly string[]): string {
  return `<!-- wp:gallery {"linkTo":"none"} -->
<figure class="wp-block-gallery has-nested-images columns-default is-cropped">${images.join('\n\n')}</figure>
<!-- /wp:gallery -->`
}

function videoBlock({ id, url }: Uploaded): string {
  return `<!-- wp:video {"id":${id}} -->
<figure class="wp-block-video"><video controls src="${escapeText(url)}"></video></figure>
<!-- /wp:video -->`
}

function fileBlock({ id, url }: Uploaded, name: string): string {
  const href = escapeText(url)
  return `<!-- wp:file {"id":${id},"href":${JSON.stringify(url).replaceAll('--', '\\u002d\\u002d')}} -->
<div class="wp-block-file"><a href="${href}">${escapeText(name)}</a><a href="${href}" class="wp-block-file__button wp-element-button" download>Download</a></div>
<!-- /wp:file -->`
}
