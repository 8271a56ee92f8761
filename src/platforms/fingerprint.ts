import { withoutTags } from '../tools/html.ts'

/**
 * Whether a text that a platform returned can be the text that was sent. Platforms shorten links, trim and normalize
 * white space, so only letters, digits and emoji outside of links count.
 */
export function isSameText(sent: string, returned: string): boolean {
  return fingerprint(sent) === fingerprint(returned)
}

/** The text of HTML that a platform made of a plain text. */
export function textOfHtml(html: string): string {
  return withoutTags(html.replaceAll(/<br\s*\/?>|<\/p>/gi, '\n'))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#0?39;|&apos;/g, "'")
    .replaceAll('&amp;', '&')
}

function fingerprint(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/(?:https?:\/\/|(?<![\w.-]))[\w.-]+\.[a-z]{2,}\/?\S*/gi, '')
    .replaceAll(/[^\p{L}\p{N}\p{Extended_Pictographic}]/gu, '')
    .toLowerCase()
}
