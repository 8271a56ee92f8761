/** HTML without its tags. */
export function withoutTags(html: string): string {
  // There are no tags after the last `>`. A search there would scan the rest of the text again for each `<`.
  const end = html.lastIndexOf('>') + 1
  return html.slice(0, end).replaceAll(/<[^>]*>/g, '') + html.slice(end)
}

/** Escapes text for HTML, including attributes. For XML, see xml.ts. */
export function escapeHtml(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;')
}

/** Escapes text between tags only, for readers that know few entities, such as players of WebVTT. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
