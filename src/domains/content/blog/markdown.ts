import { marked } from 'marked'
import sanitizeHtml from 'sanitize-html'

const TAGS =
  'h1 h2 h3 h4 h5 h6 p br hr blockquote pre code kbd samp q cite ul ol li dl dt dd a strong b em i u s ' +
  'del ins mark small sub sup abbr time img figure figcaption details summary table caption thead tbody ' +
  'tfoot tr th td'

/** Elements and attributes that a post may have. Everything else is removed, and scripts and styles with their content. */
const RULES: sanitizeHtml.IOptions = {
  allowedTags: TAGS.split(' '),
  allowedAttributes: {
    a: ['href', 'title', 'rel'],
    img: ['src', 'alt', 'title', 'width', 'height', 'loading'],
    ol: ['start', 'reversed'],
    th: ['align', 'colspan', 'rowspan', 'scope'],
    td: ['align', 'colspan', 'rowspan'],
    abbr: ['title'],
    time: ['datetime'],
  },
  allowedClasses: { code: ['language-*'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['http', 'https'] },
  allowProtocolRelative: false,
}

/**
 * Renders Markdown (GFM) as HTML that can be shown on any page.
 * @param base what relative addresses refer to, because feeds need absolute ones
 */
export function renderMarkdown(markdown: string, base: string): string {
  const html = marked.parse(markdown, { async: false, gfm: true })
  const absolute = (name: 'href' | 'src') => (tagName: string, attribs: sanitizeHtml.Attributes) => {
    const address = attribs[name]
    if (address === undefined || !URL.canParse(address, base)) return { tagName, attribs }
    return { tagName, attribs: { ...attribs, [name]: new URL(address, base).href } }
  }
  const link = absolute('href')
  const image = absolute('src')
  return sanitizeHtml(html, {
    ...RULES,
    transformTags: {
      a: (tagName, attribs) => {
        const made = link(tagName, attribs)
        return { ...made, attribs: { ...made.attribs, rel: 'noopener' } }
      },
      img: (tagName, attribs) => {
        const made = image(tagName, attribs)
        return { ...made, attribs: { ...made.attribs, loading: 'lazy' } }
      },
    },
  })
}

/** The beginning of the text of sanitized HTML, cut between words. */
export function beginningOf(html: string, most: number): string {
  const text = textOf(html)
  if (text.length <= most) return text
  const cut = text.slice(0, most)
  const end = cut.lastIndexOf(' ')
  return `${(end > most / 2 ? cut.slice(0, end) : cut).trimEnd()}…`
}

/** At 220 words per minute, at least one minute. */
export function readingMinutes(html: string): number {
  return Math.max(1, Math.round(textOf(html).split(' ').length / 220))
}

function textOf(html: string): string {
  const spaced = html.replaceAll(/<\/(?:p|h\d|li|td|th|pre|blockquote|figcaption)>|<br \/>/g, ' ')
  const text = sanitizeHtml(spaced, { allowedTags: [], allowedAttributes: {} })
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
